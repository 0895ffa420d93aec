"""Metrics of a shard: what it holds, what nobody holds, how long a hand-over takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, Literal, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

__all__ = ["HandOver", "Renewal", "ShardMetrics", "Standing"]

HandOver = Literal["warm", "claim", "drain"]
"""What takes time in a hand-over: listing the objects; from the moment that nobody else held the slots to the
first run (the gap); letting runs in flight end."""

Renewal = Literal["success", "conflict", "error"]
"""How a write of the own Lease ended."""

_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Standing(NamedTuple):
    """What a shard sees of its group."""

    shards: int
    """Shards in the ring."""
    own: int
    """Slots that the ring gives to this shard."""
    acting: int
    """Slots that it acts on."""
    unowned: int
    """Slots that no shard acts on."""
    contested: int
    """Slots that more than one shard says to act on."""
    fence_seconds: float
    """For how long this shard may act without a renewal; negative: it may not."""
    different: int
    """Other shards in the ring that are there for other kinds or namespaces than this one."""


def _read(standing: Callable[[], Standing], field: str) -> float:
    return float(getattr(standing(), field))


class ShardMetrics:
    """See the module.

    Args:
        registry: where they are registered.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._acting = Gauge("openclaw_shard_slots", "Slots that this shard acts on", registry=registry)
        self._owned = Gauge(
            "openclaw_shard_ring_slots", "Slots that the ring gives to this shard", registry=registry
        )
        self._shards = Gauge(
            "openclaw_shards", "Shards in the ring that this shard follows", registry=registry
        )
        self._unowned = Gauge(
            "openclaw_slots_unowned", "Slots that no shard acts on, as this shard sees it", registry=registry
        )
        self._contested = Gauge(
            "openclaw_slots_contested",
            "Slots that more than one shard says to act on, as this shard sees it: never above 0",
            registry=registry,
        )
        self._fence = Gauge(
            "openclaw_shard_fence_seconds",
            "Seconds that this shard may act without another renewal of its Lease; negative: it may not",
            registry=registry,
        )
        self._different = Gauge(
            "openclaw_shards_different",
            "Shards in the ring that are there for other kinds or namespaces than this one: what one is not "
            "there for is nobody's in its slots",
            registry=registry,
        )
        self._moved = Counter(
            "openclaw_slots_moved_total",
            "Slots that this shard began (gained) and ceased (lost) to act on",
            ("direction",),
            registry=registry,
        )
        self._fences_lost = Counter(
            "openclaw_shard_fences_lost_total",
            "How often this shard stopped acting because its Lease was not renewed in time or was taken",
            registry=registry,
        )
        self._seconds = Histogram(
            "openclaw_handover_seconds",
            "Time of the parts of a hand-over",
            ("phase",),
            registry=registry,
            buckets=_BUCKETS,
        )
        self._renewals = Counter(
            "openclaw_lease_writes_total", "Writes of this shard's Lease", ("result",), registry=registry
        )
        for result in ("success", "conflict", "error"):
            self._renewals.labels(result)
        for direction in ("gained", "lost"):
            self._moved.labels(direction)

    def follow(self, standing: Callable[[], Standing]) -> None:
        """Read how it stands from `standing` at each scrape."""
        for gauge, field in (
            (self._shards, "shards"),
            (self._owned, "own"),
            (self._acting, "acting"),
            (self._unowned, "unowned"),
            (self._contested, "contested"),
            (self._fence, "fence_seconds"),
            (self._different, "different"),
        ):
            gauge.set_function(partial(_read, standing, field))

    def gained(self, slots: int) -> None:
        """Count slots that the shard began to act on."""
        self._moved.labels("gained").inc(slots)

    def lost(self, slots: int) -> None:
        """Count slots that the shard ceased to act on."""
        self._moved.labels("lost").inc(slots)

    def fence_lost(self) -> None:
        """Count a loss of the fence."""
        self._fences_lost.inc()

    def took(self, phase: HandOver, seconds: float) -> None:
        """Record the time of a part of a hand-over."""
        self._seconds.labels(phase).observe(seconds)

    def renewed(self, result: Renewal) -> None:
        """Count a write of the own Lease."""
        self._renewals.labels(result).inc()
