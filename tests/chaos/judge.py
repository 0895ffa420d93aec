"""The API server's audit log as the judge of shards: who wrote what, and who held it then.

Each process of a shard has a user name of its own. From the Leases that it wrote follows which slots it held,
from when to when: its *tenures*. The judge asks two things of them:

- each write of an object falls into a tenure of its writer, at most a Lease's duration after a renewal;
- of two processes, the writes to a slot never interleave: one's are all before the other's, tenure by tenure.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from openclaw._core import ShardRecord, SlotSet
from openclaw.sharding.leases import SHARD_ANNOTATION

__all__ = ["Tenure", "Verdict", "judge"]

Event = dict[str, Any]
_WRITES = frozenset({"create", "update", "patch", "delete"})
_OK = range(200, 300)


@dataclass
class Tenure:
    """A span in which a process held a slot.

    Attributes:
        holder: the user name of the process.
        slot: what it held.
        since: when the API server received the write that first claimed it, in seconds since 1970.
        renewed: when it answered the last renewal that still held it.
        ended: when it answered the write that let go of it; None where there was none.
        writes: when writes of the slot's objects were received.
    """

    holder: str
    slot: int
    since: float
    renewed: float
    ended: float | None = None
    writes: list[float] = field(default_factory=list)

    def span(self) -> str:
        """Who wrote from when to when, for messages."""
        return f"{self.holder} ({min(self.writes):.3f} to {max(self.writes):.3f})"


@dataclass
class Verdict:
    """What the judge found.

    Attributes:
        faults: what must not be, in words.
        writes: how many writes of objects there were.
        tenures: all tenures.
    """

    faults: list[str] = field(default_factory=list)
    writes: int = 0
    tenures: list[Tenure] = field(default_factory=list)


def judge(events: Iterable[Event], slots: Mapping[str, int], *, prefix: str, lease_seconds: float) -> Verdict:
    """Judge the writes of the users whose names begin with `prefix`.

    Args:
        events: the audit log, with the bodies of requests.
        slots: the slot of each root, by its name, which is also that of its child.
        prefix: of the user names of shards.
        lease_seconds: after so long without a renewal others may act.
    """
    of_shards = [it for it in events if it["user"]["username"].startswith(prefix) and it["verb"] in _WRITES]
    verdict = Verdict()
    leases = [it for it in of_shards if it["objectRef"]["resource"] == "leases"]
    held = _tenures(leases, lease_seconds, verdict)
    for event in of_shards:
        reference = event["objectRef"]
        slot = slots.get(reference.get("name", ""))
        if reference["resource"] == "leases" or slot is None or _code(event) not in _OK:
            continue
        verdict.writes += 1
        _place(event, slot, held, lease_seconds, verdict)
    by_slot: dict[int, list[Tenure]] = defaultdict(list)
    for tenure in verdict.tenures:
        if tenure.writes:
            by_slot[tenure.slot].append(tenure)
    for slot, tenures in by_slot.items():
        tenures.sort(key=lambda it: min(it.writes))
        for one, other in itertools.pairwise(tenures):
            if one.holder != other.holder and max(one.writes) > min(other.writes):
                verdict.faults.append(f"slot {slot}: writes of {one.span()} and {other.span()} interleave")
    return verdict


def _tenures(
    lease_writes: list[Event], lease_seconds: float, verdict: Verdict
) -> dict[tuple[str, int], list[Tenure]]:
    """The tenures of each process and slot, in order."""
    held: dict[tuple[str, int], list[Tenure]] = defaultdict(list)
    latest: dict[str, SlotSet] = {}
    for event in sorted(lease_writes, key=_received):
        if _code(event) not in _OK or event["verb"] == "delete":
            continue
        holder = event["user"]["username"]
        text = event["requestObject"]["metadata"]["annotations"][SHARD_ANNOTATION]
        holds = ShardRecord(text).holds
        for slot in holds:
            last = held[holder, slot][-1] if slot in latest.get(holder, SlotSet()) else None
            # Once the Lease was void others may have had the slot: what is held from then on is held anew.
            if last is not None and _received(event) - last.renewed <= lease_seconds:
                last.renewed = _answered(event)
            else:
                tenure = Tenure(holder, slot, _received(event), _answered(event))
                held[holder, slot].append(tenure)
                verdict.tenures.append(tenure)
        for slot in latest.get(holder, SlotSet()) - holds:
            held[holder, slot][-1].ended = _answered(event)
        latest[holder] = holds
    return held


def _place(
    event: Event,
    slot: int,
    held: Mapping[tuple[str, int], list[Tenure]],
    lease_seconds: float,
    verdict: Verdict,
) -> None:
    """Find the tenure that a write belongs to."""
    holder, at = event["user"]["username"], _received(event)
    for tenure in held.get((holder, slot), ()):
        until = tenure.renewed + lease_seconds if tenure.ended is None else tenure.ended
        if tenure.since <= at <= until:
            tenure.writes.append(at)
            return
    reference = event["objectRef"]
    verdict.faults.append(
        f"slot {slot}: {holder} wrote {reference['resource']} {reference['name']} at {at:.3f} "
        "and did not hold it"
    )


def _code(event: Event) -> int:
    return int((event.get("responseStatus") or {}).get("code", 0))


def _received(event: Event) -> float:
    return _seconds(event["requestReceivedTimestamp"])


def _answered(event: Event) -> float:
    return _seconds(event["stageTimestamp"])


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
