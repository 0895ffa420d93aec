"""A group of shards as its Leases tell it to somebody who is no shard: for the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from openclaw._core import Ring, ShardRecord, SlotSet
from openclaw.sharding.leases import LeaseRecord
from openclaw.sharding.tenure import Tenure, Tenures

__all__ = ["Overview", "ShardView"]

_SLOTS: Final = 256


@dataclass(frozen=True, slots=True)
class ShardView:
    """One shard.

    Attributes:
        name: of the shard.
        state: `active`, `restarting`, `leaving`, `released`, `silent` (its Lease is void: it acts on
            nothing), or `unreadable`, of another version.
        ring: the ring that it follows.
        acts: the slots that it acts on.
        holds: these, and those that it claims.
        renewed: seconds since it last renewed its Lease, by the clocks of both machines; None where unknown.
        tenures: since when it acts on each slot, and how it came by it.
        objects, queue, running, rate: roots, those that wait, runs under way, and runs a second, as it says.
        covers: which kinds it is there for, and of which namespaces, as it says.
    """

    name: str
    state: str
    ring: str = ""
    acts: SlotSet = field(default_factory=SlotSet)
    holds: SlotSet = field(default_factory=SlotSet)
    renewed: float | None = None
    tenures: Mapping[int, Tenure] = field(default_factory=dict)
    objects: int | None = None
    queue: int | None = None
    running: int | None = None
    rate: float | None = None
    covers: str | None = None

    @property
    def live(self) -> bool:
        """Whether a ring counts it."""
        return self.state in {"active", "restarting"}

    @property
    def since(self) -> datetime | None:
        """When it began to act on the slots that it has had longest."""
        return min((tenure.since for tenure in self.tenures.values()), default=None)


class Overview:
    """What the Leases of a group say.

    Args:
        leases: all of them.
        now: by the clock of whoever looks; a Lease that was not renewed for its duration counts as void.
    """

    def __init__(self, leases: Iterable[LeaseRecord], now: datetime | None = None) -> None:
        now = datetime.now(UTC) if now is None else now
        self.shards = sorted((_view(lease, now) for lease in leases), key=lambda it: _natural(it.name))
        self.ring = Ring(sorted(shard.name for shard in self.shards if shard.live))

    @property
    def unowned(self) -> SlotSet:
        """The slots that nobody acts on."""
        acted_on = {slot for shard in self.shards for slot in shard.acts}
        return SlotSet(slot for slot in range(_SLOTS) if slot not in acted_on)

    @property
    def contested(self) -> SlotSet:
        """The slots that more than one says to act on."""
        seen: set[int] = set()
        twice: set[int] = set()
        for shard in self.shards:
            twice.update(seen.intersection(shard.acts))
            seen.update(shard.acts)
        return SlotSet(sorted(twice))

    @property
    def dissenters(self) -> list[str]:
        """The live shards that follow another ring than the Leases give."""
        return [it.name for it in self.shards if it.live and it.acts and it.ring != self.ring.id]

    @property
    def differing(self) -> dict[str, str]:
        """What each live shard is there for, where that differs: some objects may be nobody's."""
        told = {shard.name: shard.covers for shard in self.shards if shard.live and shard.covers is not None}
        return told if len(set(told.values())) > 1 else {}

    def actors(self, slot: int) -> list[ShardView]:
        """The shards that act on a slot: one, when all is well."""
        return [shard for shard in self.shards if slot in shard.acts]


def _view(lease: LeaseRecord, now: datetime) -> ShardView:
    renewed = None if lease.renewed is None else max(0.0, (now - lease.renewed).total_seconds())
    try:
        record = ShardRecord(lease.content)
    except ValueError:
        return ShardView(lease.shard, "unreadable", renewed=renewed)
    state = record.state
    lasts = lease.seconds + (record.hold or 0.0 if state == "restarting" else 0.0)
    if state in {"active", "leaving", "restarting"} and (
        lease.renewed is None or now - lease.renewed > timedelta(seconds=lasts)
    ):
        return ShardView(lease.shard, "silent", ring=record.ring, renewed=renewed)
    told = _status(lease.status)
    return ShardView(
        lease.shard,
        state,
        ring=record.ring,
        acts=record.acts,
        holds=record.holds,
        renewed=renewed,
        tenures=_tenures(told, record.acts),
        objects=_number(told, "objects"),
        queue=_number(told, "queue"),
        running=_number(told, "running"),
        rate=told.get("rate"),
        covers=covers if isinstance(covers := told.get("covers"), str) else None,
    )


def _status(text: str) -> dict[str, Any]:
    try:
        told = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return told if isinstance(told, dict) else {}


def _number(told: Mapping[str, Any], name: str) -> int | None:
    value = told.get(name)
    return value if isinstance(value, int) else None


def _tenures(told: Mapping[str, Any], acts: SlotSet) -> dict[int, Tenure]:
    try:
        tenures = Tenures.decode(told.get("tenures") or ())
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
    return {slot: tenure for slot, tenure in tenures.items() if slot in acts}


def _natural(name: str) -> tuple[str, int]:
    """openclaw-10 after openclaw-9."""
    stem, _, ordinal = name.rpartition("-")
    return (stem, int(ordinal)) if ordinal.isdecimal() else (name, -1)
