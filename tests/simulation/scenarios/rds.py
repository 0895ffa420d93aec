"""Scenarios of the RDS operator: what its users do, what happens in AWS, and what has to come of it."""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Sequence
from typing import Final

from openclaw.api.rdsinstance import Phase, RDSInstance
from openclaw.controllers.rds import RDSInstanceReconciler
from openclaw.controllers.rds.settings import RDSSettings
from openclaw.runtime.reconciler import Reconciler
from openclaw.testing.rds import WallClock
from openclaw.testing.rds.external import SimulatedRDS
from openclaw.testing.simulation.contracts import Invariant, Setting, World
from openclaw.testing.simulation.invariants.external import SecretsStayInSecrets, external_invariants
from openclaw.testing.simulation.loop import current_process
from tests.simulation.invariants.rds import (
    AvailableIsSeen,
    CallsAreFew,
    PhasesAreLegal,
    SnapshotFirst,
    TakenWhenAsked,
)
from tests.simulation.scenarios import rds_expected as expected
from tests.simulation.scenarios.rds_users import PASSWORDS, Deed, Users

_PACE: Final = 0.1
"""RDS takes that much of its usual time, so that the first minutes, in which faults come, see much happen."""
_POLLS: Final = {phase: 20.0 if phase in (Phase.AVAILABLE, Phase.DEGRADED) else 10.0 for phase in Phase}
_SLOW: Final = 100.0


async def digest_of(password: str, uid: str) -> str:
    """Tells passwords apart, without taking as long as it is meant to."""
    return f"sha256:{hashlib.sha256(f'{uid} {password}'.encode()).hexdigest()}"


class RDSScenario:
    """What the scenarios have in common. `deeds` and `name` are each one's own.

    Attributes:
        names: the objects; by chance only some of them.
        shards: how many shards; 0 for one operator that is not sharded.
        least: of deeds in a run.
        most: of deeds in a run.
        reconciler: what makes the reconciler.
    """

    name = ""
    names: Sequence[str] = ("orders",)
    shards = 2
    least, most = 2, 8
    reconciler: type[RDSInstanceReconciler] = RDSInstanceReconciler

    def __init__(self) -> None:
        self._users: Users | None = None

    def setting(self) -> Setting:
        """The shipped reconciler, with RDS at hand."""
        return Setting(
            crds=[RDSInstance],
            reconcilers=self._reconcilers,
            shards=self.shards,
            external=self._external,
            settle=3600.0,
        )

    @staticmethod
    def _external(world: World) -> SimulatedRDS:
        clock = WallClock(source=world.now, epoch=world.cluster.clock.date())
        chance = random.Random(world.chance.getrandbits(64))
        return SimulatedRDS(clock=clock, chance=chance, pace=_PACE, actor=_process)

    def _reconcilers(self, world: World, _version: int) -> Sequence[Reconciler[RDSInstance]]:
        return [
            self.reconciler(
                RDSSettings(polls=_POLLS, slow=_SLOW, pod_identity=False),
                clock=_date,
                clients=world.external.open_client,
                digest=digest_of,
            )
        ]

    def invariants(self) -> Sequence[Invariant]:
        """What holds of instances of RDS."""
        return [
            *external_invariants(expected.INSTANCES, expected.FINALIZER, expected.keeps),
            SecretsStayInSecrets(PASSWORDS),
            PhasesAreLegal(),
            AvailableIsSeen(),
            SnapshotFirst(),
            TakenWhenAsked(),
            CallsAreFew(),
        ]

    def deeds(self, users: Users) -> Sequence[Deed]:
        """What users may do; one that stands there more often is done more often."""
        raise LookupError(f"{self.name}: no deeds of {users}")

    async def begin(self, users: Users) -> None:
        """Make what there is at the beginning."""
        for name in users.names:
            await users.create(name)

    async def users(self, world: World) -> None:
        """Secrets, objects, then some deeds with pauses; at the end what hinders is put right."""
        names = self.names[: world.chance.randint(1, len(self.names))]
        users = self._users = Users(world, names)
        await users.credentials()
        for name in names:
            await users.password(name)
        await self.begin(users)
        deeds = self.deeds(users)
        for _ in range(world.chance.randint(self.least, self.most)):
            await users.pause()
            await world.chance.choice(deeds)(users.name())
        await world.sleep(world.chance.random() * 60)
        await users.finish()

    async def unwell(self, world: World) -> str | None:
        """Each object and its database are as the spec asks, and say so; what goes has gone."""
        lost = frozenset(self._users.lost) if self._users is not None else frozenset()
        for obj in world.cluster.list(expected.INSTANCES):
            told = expected.unwell(world, obj, lost)
            if told is not None:
                return told
        return None


class Life(RDSScenario):
    """Objects come, change in each field, and go; one of the same name follows at once."""

    name = "rds-life"
    names = ("orders", "mail")

    def deeds(self, users: Users) -> Sequence[Deed]:
        """Create, change, delete, recreate."""
        return (
            *(users.change, users.change, users.change, users.change),
            *(users.create, users.delete, users.recreate, users.change_password, users.ask),
        )


class Alone(Life):
    """The same with one operator that is not sharded."""

    name = "rds-alone"
    shards = 0


class Deletion(RDSScenario):
    """An object is deleted at every stage of its making and changing, and another has its name at once."""

    name = "rds-deletion"

    def deeds(self, users: Users) -> Sequence[Deed]:
        """Mostly deletions."""
        return (users.recreate, users.delete, users.create, users.orphan, users.change, users.recreate)


class Inputs(RDSScenario):
    """Credentials, passwords and what is asked for are wrong for a while."""

    name = "rds-inputs"

    def deeds(self, users: Users) -> Sequence[Deed]:
        """Lose and find again."""
        return (
            *(users.lose_credentials, users.lose_password, users.change_password),
            *(users.ask_the_impossible, users.rest, users.change, users.recreate),
        )


class Others(RDSScenario):
    """Others have their hands in the AWS account."""

    name = "rds-others"
    names = ("orders", "mail")

    def deeds(self, users: Users) -> Sequence[Deed]:
        """Delete, break, untag and change databases by hand."""
        return (
            *(users.delete_by_hand, users.break_by_hand, users.untag, users.change_by_hand),
            *(users.maintain, users.change, users.recreate, users.create, users.ask, users.delete),
        )


class Adoption(RDSScenario):
    """A database that was there before is observed, then taken over, and goes as the object says."""

    name = "rds-adoption"

    async def begin(self, users: Users) -> None:
        """A database that nobody here has made, and an object for it."""
        users.rds.region.add("legacy", EngineVersion="16.8", MasterUsername="shop")
        first = users.world.chance.choice(("Observe", "Full"))
        annotations = {"database.openclaw.dev/adopt": "legacy"} if first == "Full" else {}
        await users.create("orders", annotations, dbInstanceIdentifier="legacy", managementPolicy=first)
        await users.pause()
        await users.annotate("orders", adopt="legacy")
        await users.pause(10.0)
        await users.set("orders", managementPolicy="Full")
        # The password of an adopted instance is taken to be right: one is set by changing it then.
        await users.world.until("adopted", lambda: _is_adopted(users), 1800.0)
        await users.password("orders", PASSWORDS[-1])

    def deeds(self, users: Users) -> Sequence[Deed]:
        """As with a database of one's own, but that none is made in its place."""
        return (users.change, users.change, users.untag, users.ask, users.rest)


def _date() -> float:
    """The date by the clock of the process that asks, which a simulation moves."""
    return time.time()


def _process() -> str:
    """The process that calls."""
    found = current_process()
    return "" if found is None else found.name


def _is_adopted(users: Users) -> bool:
    live = users.live("orders") or {}
    return bool((live.get("status") or {}).get("password", {}).get("digest"))


SCENARIOS: Final = (Life, Alone, Deletion, Inputs, Others, Adoption)
