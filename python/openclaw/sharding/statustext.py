"""What a shard's Lease says to people: its work, and since when it has its slots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import orjson

from openclaw.sharding.tenure import Tenures

__all__ = ["StatusText", "Workload"]

# A Lease is also written when slots change, and a rate over some milliseconds tells nothing.
_RATE_SECONDS: Final = 1.0


class Workload(NamedTuple):
    """What a shard has to do."""

    objects: int
    """Roots that it acts on."""
    queue: int
    """Of these, those that are due and wait for a worker."""
    running: int
    """Runs under way."""
    reconciles: int
    """Runs since the start."""


class StatusText:
    """Writes it.

    Args:
        workload: asked for what there is to do.
        tenures: of the shard's slots.
        clock: seconds.
        covers: what the shard is there for.
    """

    def __init__(
        self, workload: Callable[[], Workload], tenures: Tenures, clock: Callable[[], float], covers: str
    ) -> None:
        self._covers = covers
        self._workload = workload
        self._tenures = tenures
        self._clock = clock
        self._counted = clock(), 0
        self._rate = 0.0

    def write(self) -> str:
        """JSON; the rate is in runs a second, over the last second or what is above that between calls."""
        work, now = self._workload(), self._clock()
        before, count = self._counted
        if now - before >= _RATE_SECONDS:
            self._rate = (work.reconciles - count) / (now - before)
            self._counted = now, work.reconciles
        status = {
            "objects": work.objects,
            "queue": work.queue,
            "running": work.running,
            "rate": round(self._rate, 1),
            "covers": self._covers,
            "tenures": self._tenures.encode(),
        }
        return orjson.dumps(status).decode()
