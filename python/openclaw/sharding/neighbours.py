"""What the other shards of a group say of themselves, for people: nothing is decided by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import orjson

from openclaw._core import ShardRecord, SlotSet
from openclaw.sharding.leases import LeaseRecord
from openclaw.sharding.tenure import Tenures
from openclaw.telemetry.logs import Log

__all__ = ["Neighbours"]

log = Log(__name__)


class Neighbours:
    """Listens to their Leases.

    Args:
        shard: the name of this one.
        covers: what this one is there for: kinds, and of which namespaces.
        tenures: told who acted on a slot before.
        clock: seconds.
    """

    def __init__(self, shard: str, covers: str, tenures: Tenures, clock: Callable[[], float]) -> None:
        self._shard = shard
        self._covers = covers
        self._tenures = tenures
        self._clock = clock
        self._versions: dict[str, str] = {}
        self._holds: dict[str, SlotSet] = {}
        self._freed: dict[int, float] = {}
        self._different: dict[str, str] = {}

    def saw(self, lease: LeaseRecord) -> None:
        """A Lease is there, or has changed."""
        if lease.shard == self._shard or self._versions.get(lease.shard) == lease.version:
            return
        self._versions[lease.shard] = lease.version
        self._compare(lease.shard, _covers(lease.status))
        try:
            record = ShardRecord(lease.content)
        except ValueError:
            return
        before = self._holds.get(lease.shard, SlotSet())
        self._holds[lease.shard] = record.holds
        if before != record.holds:
            self._freed.update(dict.fromkeys(before - record.holds, self._clock()))
        self._tenures.saw(lease.shard, record.acts)

    def listed(self, leases: Iterable[LeaseRecord]) -> None:
        """These are all Leases that there are."""
        there = set()
        for lease in leases:
            there.add(lease.shard)
            self.saw(lease)
        for shard in self._versions.keys() - there:
            del self._versions[shard]
            self._different.pop(shard, None)
            self._freed.update(dict.fromkeys(self._holds.pop(shard, ()), self._clock()))
            self._tenures.forget(shard)

    def freed(self, slot: int) -> float:
        """When another shard last published that it holds this slot no more; -inf: none has."""
        return self._freed.get(slot, float("-inf"))

    def different(self, live: Iterable[str]) -> list[str]:
        """Those of `live` that are there for other objects than this one: some may be nobody's."""
        return sorted(self._different.keys() & set(live))

    def _compare(self, shard: str, covers: str | None) -> None:
        if covers in (None, self._covers):
            self._different.pop(shard, None)
        elif self._different.get(shard) != covers:
            self._different[shard] = str(covers)
            log.warning(
                "a shard of the group is not there for the same objects: what one is not there for is "
                "nobody's in its slots. While a new version is rolled out this passes; else give each "
                "operator a --shard-group of its own, and all shards of a group the same --namespace",
                other=shard,
                this_one=self._covers,
                that_one=covers,
            )


def _covers(status: str) -> str | None:
    """What a shard says that it is there for; None where it does not."""
    try:
        told: Any = orjson.loads(status)
    except orjson.JSONDecodeError:
        return None
    covers = told.get("covers") if isinstance(told, dict) else None
    return covers if isinstance(covers, str) else None
