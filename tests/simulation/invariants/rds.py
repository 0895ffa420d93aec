"""What has to hold of RDSInstances all along."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Any, Final

from openclaw.controllers.rds.statuses import rule_of
from openclaw.testing.rds.external import SimulatedRDS
from openclaw.testing.simulation.contracts import Invariant, Violation, World, Write
from tests.simulation.scenarios.rds_expected import ADOPT, INSTANCES, condition, reason

Object = Mapping[str, Any]

LAG_SECONDS: Final = 240.0
"""How far behind a claim may be: a poll, a listing, RDS' own lag, a slow run, a write that is tried again."""

_EARLY: Final = ("Pending", "Creating")
_MINUTE: Final = 60.0
_MOST_OF_ONE: Final = 60
_MOST_OF_SHARD: Final = 10 + 5 * 60  # ResilienceSettings: burst, and rate for a minute


class PhasesAreLegal(Invariant):
    """A phase is left only for one that the state machine has after it.

    No live instance is Pending or Creating again, unless it is taken over or another object has it. What is
    Deleting stays it, or was deleted by somebody else and is Failed. What is Failed is left when its inputs
    have changed, when somebody asks, or for Deleting.
    """

    name = "phases-are-legal"

    def __init__(self) -> None:
        self._secrets_changed = 0.0
        self._failed: dict[str, tuple[float, Object]] = {}

    def on_write(self, world: World, write: Write) -> None:
        """Compare the phase with the one before."""
        if write.resource == "secrets":
            self._secrets_changed = write.at
        if write.resource != INSTANCES or write.before is None or write.after is None:
            return
        before = (write.before.get("status") or {}).get("phase")
        after = (write.after.get("status") or {}).get("phase")
        uid = write.after["metadata"]["uid"]
        if after == "Failed":
            self._failed.setdefault(uid, (write.at, write.before))
        if before == after or write.actor == "user":
            return
        why = self._illegal(world, before, after, write)
        if why is not None:
            name = f"{write.namespace}/{write.name}"
            raise Violation(self.name, f"{write.actor}: {name} from {before} to {after}: {why}")
        if before == "Failed":
            del self._failed[uid]

    def _illegal(self, world: World, before: str | None, after: str | None, write: Write) -> str | None:
        assert write.after is not None
        if after is None:
            return "there is no phase any more"
        if before == "Deleting" and after != "Failed":
            return "what goes does not come back"
        if before == "Failed" and after != "Deleting":
            at, obj = self._failed[write.after["metadata"]["uid"]]
            same = all(
                (obj.get("metadata") or {}).get(key) == write.after["metadata"].get(key)
                for key in ("generation", "annotations")
            )
            return "its inputs are the same" if same and self._secrets_changed < at - LAG_SECONDS else None
        if after == "Pending" and (write.after["status"].get("adopting") or _is_taken(write.after)):
            return None  # what was observed only is to be taken over; or another has it now
        if before is not None and before not in _EARLY and before != "Failed" and after in _EARLY:
            rds: SimulatedRDS = world.external
            identity = write.after["status"].get("externalID") or ""
            states = rds.region.states_since(identity, LAG_SECONDS)
            young = any(state is None or state.status == "creating" for state in states)
            return None if young else "it was made already"
        return None


def _is_taken(obj: Object) -> bool:
    return reason(obj) == "Conflict"


class AvailableIsSeen(Invariant):
    """Available turns True only where the database has served, a short while ago at the most."""

    name = "available-is-seen"

    def on_write(self, world: World, write: Write) -> None:
        """Compare a condition that has turned with the database."""
        if write.resource != INSTANCES or write.before is None or write.after is None:
            return
        turned = condition(write.after, "Available")
        if turned.get("status") != "True" or condition(write.before, "Available").get("status") == "True":
            return
        rds: SimulatedRDS = world.external
        identity = write.after["status"].get("externalID") or ""
        states = rds.region.states_since(identity, LAG_SECONDS)
        if not any(it is not None and rule_of(it.status).serving for it in states):
            seen = [None if it is None else it.status for it in states]
            raise Violation(self.name, f"{write.namespace}/{write.name} is Available; {identity} was {seen}")


class SnapshotFirst(Invariant):
    """What is deleted with the policy Snapshot has a snapshot."""

    name = "snapshot-first"

    def __init__(self) -> None:
        self._policies: defaultdict[str, set[str]] = defaultdict(set)

    def on_write(self, world: World, write: Write) -> None:
        """Follow the policies that an object has while it goes."""
        for obj in (write.before, write.after):
            if write.resource == INSTANCES and obj is not None and "deletionTimestamp" in obj["metadata"]:
                self._policies[obj["metadata"]["uid"]].add(obj["spec"].get("deletionPolicy", "Snapshot"))

    def on_external(self, world: World, actor: str, operation: str, facts: Mapping[str, Any]) -> None:
        """Look for the snapshot."""
        if facts["stage"] != "done" or not facts["deleted"]:
            return
        rds: SimulatedRDS = world.external
        made = any(it.database.identifier == facts["identity"] for it in rds.region.snapshots)
        if self._policies.get(facts["owner"]) == {"Snapshot"} and not made:
            raise Violation(self.name, f"{actor} {operation}: {facts['identity']} goes without a snapshot")


class TakenWhenAsked(Invariant):
    """What the operator has not made it changes for an object only that asks for its adoption."""

    name = "taken-when-asked"

    def __init__(self) -> None:
        self._made: dict[str, str] = {}
        self._objects: dict[str, Object] = {}

    def on_write(self, world: World, write: Write) -> None:
        """Follow the objects."""
        if write.resource == INSTANCES and write.after is not None:
            self._objects[write.after["metadata"]["uid"]] = write.after

    def on_external(self, world: World, actor: str, operation: str, facts: Mapping[str, Any]) -> None:
        """Look whose it is that is changed."""
        if facts["stage"] != "done":
            return
        identity, owner = facts["identity"], facts["owner"]
        if facts["made"]:
            self._made[identity] = owner
        elif facts["changed"] and (not owner or self._made.get(identity) != owner):
            annotations = self._objects.get(owner, {}).get("metadata", {}).get("annotations") or {}
            if annotations.get(ADOPT) != identity:
                raise Violation(self.name, f"{actor} {operation}: {identity} is none that it has made")


class SeesItsOwnWrites(Invariant):
    """A status shows no state of an instance from before the operator's own last change of it.

    For scenarios in which RDS is never behind.
    """

    name = "sees-its-own-writes"

    def __init__(self) -> None:
        self._changed: dict[str, float] = {}

    def on_external(self, world: World, actor: str, operation: str, facts: Mapping[str, Any]) -> None:
        """Remember when an instance was changed. One that is to go was looked at right before."""
        if facts["stage"] != "done":
            return
        if facts["deleted"]:
            self._changed.pop(facts["identity"], None)
        elif facts["changed"]:
            self._changed[facts["identity"]] = world.now()

    def on_write(self, world: World, write: Write) -> None:
        """Compare what is newly shown."""
        if write.resource != INSTANCES or write.before is None or write.after is None:
            return
        before, after = (it.get("status") or {} for it in (write.before, write.after))
        shown = (after.get("observed") or {}).get("status")
        changed = self._changed.get(after.get("externalID") or "")
        if not shown or changed is None or shown == (before.get("observed") or {}).get("status"):
            return
        rds: SimulatedRDS = world.external
        states = rds.region.states_since(after["externalID"], world.now() - changed)
        if shown not in {it.status for it in states if it is not None}:
            raise Violation(
                self.name,
                f"{write.namespace}/{write.name} shows {shown}, which {after['externalID']} was not since it "
                f"was changed {world.now() - changed:.1f} s ago",
            )


class CallsAreFew(Invariant):
    """Calls are within the limits of an account, and no instance is asked for in a tight loop."""

    name = "calls-are-few"

    def __init__(self) -> None:
        self._read = 0
        self._calls: defaultdict[str, deque[float]] = defaultdict(deque)

    def on_turn(self, world: World) -> None:
        """Look at the calls that have come since."""
        rds: SimulatedRDS = world.external
        calls = rds.cloud.ledger.since(self._read)
        self._read += len(calls)
        for call in calls:
            most = _MOST_OF_ONE if call.identifier else _MOST_OF_SHARD * max(1, len(world.shards))
            times = self._calls[call.identifier]
            times.append(call.time)
            while times[0] < call.time - _MINUTE:
                times.popleft()
            if len(times) > most:
                what = call.identifier or "listings"
                raise Violation(self.name, f"{len(times)} calls within a minute: {what}")
