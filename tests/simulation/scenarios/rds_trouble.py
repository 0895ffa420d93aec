"""Scenarios of the RDS operator in which RDS lies, is slow, is away, or has what is somebody else's."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from openclaw import Context, Result
from openclaw.api.rdsinstance import RDSInstance
from openclaw.controllers.rds import RDSInstanceReconciler
from openclaw.providers.aws.rds_model import OWNER_TAG
from openclaw.testing.cluster.faults import Fault as RequestFault
from openclaw.testing.cluster.faults import RequestInfo
from openclaw.testing.rds.external import SimulatedRDS
from openclaw.testing.rds.faults import HANG, Fault, LoseAnswer, Wait
from openclaw.testing.simulation.contracts import Invariant, Setting, World
from openclaw.testing.simulation.transport import current_arrival
from tests.simulation.invariants.rds import SeesItsOwnWrites
from tests.simulation.scenarios.rds import RDSScenario
from tests.simulation.scenarios.rds_expected import INSTANCES, database_of, reason, unwell
from tests.simulation.scenarios.rds_users import NAMESPACE, Deed, Users
from tests.simulation.scenarios.refusals import refusals

_LOSES_SHARDS: Final = frozenset({"pause", "partition", "lost-lease-writes", "restart", "scale"})
_LEGACY, _SHARED = "legacy", "shared"
_READS: Final = 8.0
"""Seconds that RDS takes to answer; about half of what a read may take."""
_BEHIND: Final = (5.0, 20.0, 50.0)
"""Seconds by which RDS may be behind: less than `RDSSettings.visible`."""


class Unseen(RDSScenario):
    """What RDS has done it shows late, or in part, and does not always say."""

    name = "rds-unseen"
    names = ("orders", "mail", "stock")
    _denying: asyncio.Future[None] | None = None

    def setting(self) -> Setting:
        """Nothing else is wrong."""
        return replace(super().setting(), faults=frozenset({"crash", "external:rds-fails-after"}))

    async def begin(self, users: Users) -> None:
        """RDS is behind all the time; its listings leave out one or the other instance."""
        behaviour, chance = users.rds.region.behaviour, users.world.chance
        behaviour.describe_lag, behaviour.listing_lag = chance.choice(_BEHIND[1:]), chance.choice(_BEHIND)
        behaviour.unordered, behaviour.listing_page = True, 1
        lost = Fault(LoseAnswer(), operation="CreateDBInstance", first=chance.randint(1, 2), times=3)
        users.rds.cloud.faults.add(lost)
        if chance.random() < 0.5:
            self._denying = asyncio.ensure_future(_deny(users, lost))
        await super().begin(users)

    def deeds(self, users: Users) -> Sequence[Deed]:
        """Make, change, delete and make again."""
        changes = (users.change,) * 5
        return (users.recreate, users.create, users.delete, users.ask, *changes)


async def _deny(users: Users, lost: Fault) -> None:
    """Somebody takes away the right to make instances, right after one was made without an answer."""
    world, key = users.world, users.rds.key
    await lost.reached.wait()
    key.denied.add("rds:CreateDBInstance")
    await world.sleep(world.chance.uniform(5.0, 90.0))
    key.denied.discard("rds:CreateDBInstance")


class StubbornReconciler(RDSInstanceReconciler):
    """Swallows its cancellation, as code that it calls might."""

    async def reconcile(self, ctx: Context, obj: RDSInstance) -> Result:
        """As ever, to its end."""
        work = asyncio.ensure_future(super().reconcile(ctx, obj))
        while not work.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait((work,))
        return work.result()


class Stubborn(RDSScenario):
    """Runs wait for RDS and cannot be cut off: only the fence holds their calls."""

    name = "rds-stubborn"
    names = ("orders", "mail", "stock")
    most = 12
    reconciler = StubbornReconciler

    def setting(self) -> Setting:
        """Only what makes a shard lose its slots."""
        return replace(super().setting(), faults=_LOSES_SHARDS)

    async def begin(self, users: Users) -> None:
        """RDS is slow from the beginning."""
        users.rds.cloud.faults.add(Fault(Wait(_READS), operation="DescribeDBInstances", times=None))
        await super().begin(users)

    def deeds(self, users: Users) -> Sequence[Deed]:
        """Keep the operator busy."""
        return (users.change, users.change, users.change_password, users.recreate, users.ask)


class Away(RDSScenario):
    """RDS does not answer for minutes, and meanwhile shards lose their slots and their Leases."""

    name = "rds-away"
    names = ("orders", "mail", "stock")

    def setting(self) -> Setting:
        """Only what cuts runs off."""
        return replace(super().setting(), faults=frozenset({"partition", "scale"}))

    async def users(self, world: World) -> None:
        """RDS is back once they have done what they do. Nobody can see then what it has made before."""
        rds: SimulatedRDS = world.external
        losing = asyncio.ensure_future(_lose_leases(world))
        lost = (
            contextlib.nullcontext()
            if world.chance.random() < 0.5
            else rds.cloud.faults.always(LoseAnswer(), operation="CreateDBInstance")
        )
        with rds.cloud.faults.always(HANG, operation="DescribeDBInstances"), lost:
            await super().users(world)
            await world.sleep(world.chance.random() * 100)
        losing.cancel()

    def deeds(self, users: Users) -> Sequence[Deed]:
        """Have the operator try; or give up."""
        return (users.change, users.ask, users.create, users.delete, users.recreate)


async def _lose_leases(world: World) -> None:
    """Again and again the renewals of one shard do not arrive, for longer than its fence is up."""
    while True:
        await world.sleep(world.chance.uniform(5.0, 30.0))
        shard = world.chance.choice(world.shards)

        def lose(info: RequestInfo, shard: str = shard) -> RequestFault | None:
            arrival = current_arrival()
            renews = info.writes and info.resource.startswith("leases.")
            return RequestFault(lose_request=True) if renews and arrival and arrival.actor == shard else None

        end = world.cluster.faults.at_requests(lose)
        await world.sleep(world.chance.uniform(8.0, 16.0))
        end()


class Taken(RDSScenario):
    """The identifier that an object names is that of a database of somebody else, or of another object."""

    name = "rds-taken"
    names = ("orders", "mail")

    async def begin(self, users: Users) -> None:
        """A database that nobody here has made, and objects that name it, without a word of adoption."""
        users.rds.region.add(_LEGACY, EngineVersion="16.8", MasterUsername="shop")
        for name in users.names:
            await users.create(name, dbInstanceIdentifier=users.world.chance.choice((_LEGACY, _SHARED)))

    def deeds(self, users: Users) -> Sequence[Deed]:
        """Change and delete them, or make others that have identifiers of their own."""

        async def replace_by_hand(name: str) -> None:
            """Somebody deletes the database, and another cluster's operator makes one of the same name."""
            obj = users.settled(name)
            database = None if obj is None else database_of(users.rds, obj)
            if database is not None:
                users.rds.region.remove(database.identifier)
                users.rds.region.add(database.identifier, tags={OWNER_TAG: "another-cluster's"})

        return (users.change, users.ask, users.delete, users.recreate, replace_by_hand, replace_by_hand)

    async def unwell(self, world: World) -> str | None:
        """The status of who does not have what he names says so; the others are as ever."""
        for obj in world.cluster.list(INSTANCES):
            database = database_of(world.external, obj)
            owner = None if database is None else database.tags.get(OWNER_TAG)
            told = unwell(world, obj, frozenset())
            if database is not None and owner != obj["metadata"]["uid"]:
                stays = "deletionTimestamp" not in obj["metadata"] and reason(obj) == "Conflict"
                told = None if stays else f"{database.identifier} is {owner}'s: {told}"
            if told is not None:
                return told
        return None


class Looked(RDSScenario):
    """Objects are looked at right after they were changed, and while others are looked at."""

    name = "rds-looked-at"
    names = ("orders", "mail", "stock")
    shards = 0
    least, most = 8, 16

    def setting(self) -> Setting:
        """Nothing goes wrong."""
        return replace(super().setting(), faults=frozenset())

    def invariants(self) -> Sequence[Invariant]:
        """RDS is never behind here, so a status is not, either."""
        return [*super().invariants(), SeesItsOwnWrites()]

    async def begin(self, users: Users) -> None:
        """One of them is looked at all the time, by a listing that has the others, too."""
        await super().begin(users)
        await users.annotate(users.names[0], poll_interval="10s")

    def deeds(self, users: Users) -> Sequence[Deed]:
        """Change an object, and delete its connection Secret a moment later, which is to be made again."""

        async def change_and_spoil(name: str) -> None:
            await users.change(name)
            for _ in range(3):
                await users.world.sleep(users.world.chance.random() * 3)
                with refusals():
                    await users.world.user.delete("Secret", NAMESPACE, f"{name}-connection")

        return (*(change_and_spoil,) * 6, users.change, users.recreate)


SCENARIOS: Final = (Unseen, Stubborn, Away, Taken, Looked)
