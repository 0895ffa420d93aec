"""Metrics of the machinery itself: the event loop's lag, and spans that were dropped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from openclaw.telemetry.tracing import DROP_REASONS

__all__ = ["InternalMetrics"]

_LAG_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_INTERVAL_SECONDS: Final = 0.5


class InternalMetrics:
    """See the module.

    Args:
        registry: where they are registered.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._lag = Histogram(
            "openclaw_event_loop_lag_seconds",
            "How much later than planned the event loop comes to a task: grows when something blocks it",
            registry=registry,
            buckets=_LAG_BUCKETS,
        )
        dropped = Counter(
            "openclaw_spans_dropped_total", "Spans that were not exported", ("reason",), registry=registry
        )
        self._dropped = {reason: dropped.labels(reason) for reason in DROP_REASONS}

    def spans_dropped(self, reason: str, count: int) -> None:
        """Count spans that were dropped; from any thread."""
        self._dropped[reason].inc(count)

    async def measure_lag(
        self, interval: float = _INTERVAL_SECONDS, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Sleep again and again and see how late each sleep ends, until cancelled."""
        while True:
            planned = clock() + interval
            await asyncio.sleep(interval)
            self._lag.observe(max(0.0, clock() - planned))
