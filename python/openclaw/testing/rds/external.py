"""RDS as the system outside of a simulation: in process, on the loop's time, with faults of its own.

    rds = SimulatedRDS(clock=WallClock(source=loop.time, epoch=…), chance=random.Random(seed))
    RDSInstanceReconciler(clients=rds.open_client, …)

It tells of each call that changes something twice, with the same facts but for what came of it: `sent` when
the process sends it, `done` when it has had its effect.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from openclaw.providers.aws.rds_model import OWNER_TAG
from openclaw.providers.credentials.source import CredentialSource
from openclaw.testing.rds.accounts import AccessKey
from openclaw.testing.rds.clock import Clock
from openclaw.testing.rds.cloud import STS, Cloud
from openclaw.testing.rds.database import Database, read_tags
from openclaw.testing.rds.external_faults import Start, faults_of
from openclaw.testing.rds.inprocess import InProcess
from openclaw.testing.rds.ledger import Call
from openclaw.testing.rds.operations import READS
from openclaw.testing.rds.timeline import Timelines

__all__ = ["ACCOUNT", "REGION", "SimulatedRDS", "Thing"]

ACCOUNT: Final = "123456789012"
REGION: Final = "eu-central-1"
_SHORTEST_WAY: Final = 0.002
_LONGEST_WAY: Final = 0.08  # seconds

Report = Callable[[str, str, Mapping[str, Any]], None]


class Thing(NamedTuple):
    """An instance that the operator has made or taken over.

    Attributes:
        identity: its identifier.
        owner: the uid of the object that it was made or taken over for, whatever its tags say now.
    """

    identity: str
    owner: str


class SimulatedRDS:
    """One account in one region; see the module.

    Args:
        clock: the simulation's.
        chance: what RDS draws by lot.
        pace: RDS takes that much of its usual time for what it does.
        actor: the name of the process that calls now; "" where that is not known.

    Attributes:
        cloud: the stand-in.
        region: where the instances are.
        key: what the operator signs its calls with.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        chance: random.Random,
        pace: float = 1.0,
        actor: Callable[[], str] = lambda: "",
    ) -> None:
        self._timelines = Timelines().scaled(pace)
        self._last: dict[str, Call] = {}
        self._made: dict[str, str] = {}
        self._report: Report = lambda _actor, _operation, _facts: None
        self.cloud = _Watched(self._done, clock=clock, chance=chance)
        self.region = self.cloud.account(ACCOUNT).region(REGION)
        self.region.behaviour.timelines = self._timelines
        self.key: AccessKey = self.cloud.new_key(ACCOUNT)
        self._door = InProcess(
            self.cloud,
            delay=lambda: chance.uniform(_SHORTEST_WAY, _LONGEST_WAY),
            actor=actor,
            sending=self._sent,
        )

    async def open_client(
        self, service: str, *, region: str, endpoint: str | None, credentials: CredentialSource
    ) -> Any:
        """As `openclaw.providers.aws.clients.open_client`."""
        return await self._door.open_client(
            service, region=region, endpoint=endpoint, credentials=credentials
        )

    def faults(self) -> Mapping[str, Callable[[random.Random], Callable[[], None]]]:
        """As in `External`."""
        found: Mapping[str, Start] = faults_of(self.cloud, self.region, self.key, self._timelines)
        return found

    def observe(self, report: Report) -> None:
        """As in `External`. The facts: see `openclaw.testing.simulation.invariants.external`."""
        self._report = report

    def things(self) -> Iterable[Thing]:
        """What the operator has made or taken over, and is there now."""
        for database in self.region.databases:
            owner = self._made.get(database.resource_id)
            if owner is not None:
                yield Thing(database.identifier, owner)

    def _sent(self, call: Call) -> None:
        identity = _identity(call)
        database = self.region.database(identity)
        owner = "" if database is None else self._made.get(database.resource_id, "")
        self._report(call.actor, call.operation, {"stage": "sent", "identity": identity, "owner": owner})

    def _done(
        self, call: Call, parameters: Mapping[str, Any], before: Database | None, after: Database | None
    ) -> None:
        owner = read_tags(parameters).get(OWNER_TAG)
        if after is not None and owner is not None:
            self._made[after.resource_id] = owner
        there = before or after
        last, self._last[_identity(call)] = self._last.get(_identity(call)), call
        facts = {
            "stage": "done",
            "identity": _identity(call),
            "owner": self._made.get(there.resource_id, "") if there is not None else "",
            "made": before is None and after is not None,
            "changed": before != after,
            "answered": last is not None and last.result == "ok",
            "deleted": call.operation == "DeleteDBInstance",
            "marked": before.tags.get(OWNER_TAG) if before is not None else None,
        }
        self._report(call.actor, call.operation, facts)


class _Watched(Cloud):
    """Tells of each call that has had an effect."""

    def __init__(
        self,
        done: Callable[[Call, Mapping[str, Any], Database | None, Database | None], None],
        *,
        clock: Clock,
        chance: random.Random,
    ) -> None:
        super().__init__(clock=clock, chance=chance)
        self._done = done

    def carry_out(
        self, service: str, parameters: Mapping[str, Any], call: Call, caller: AccessKey | None
    ) -> dict[str, Any]:
        """As in `Cloud`."""
        if call.operation in READS or call.operation in STS or caller is None:
            return super().carry_out(service, parameters, call, caller)
        region = self.account(caller.account).region(call.region)
        before = region.database(_identity(call))
        answer = super().carry_out(service, parameters, call, caller)
        self._done(call, parameters, before, region.database(_identity(call)))
        return answer


def _identity(call: Call) -> str:
    return call.identifier.rpartition(":")[2]
