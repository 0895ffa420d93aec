"""The stand-in's clock: the machine's own, faster if asked, or one that a test turns by hand."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from typing import Final, Protocol

_EPOCH: Final = 1_767_225_600.0  # 2026-01-01: where a clock turned by hand begins


class Clock(Protocol):
    """What the stand-in asks of a clock."""

    def now(self) -> float:
        """Seconds since the Unix epoch."""

    async def sleep(self, seconds: float) -> None:
        """Come back when `seconds` of this clock have passed; infinity never comes back."""


class WallClock:
    """Time passes by itself, `speed` times as fast as `source` says.

    Args:
        speed: seconds of this clock in a second of `source`.
        source: seconds, monotonic; an event loop's `time` makes this clock follow that loop.
        epoch: seconds since the Unix epoch when the clock is made; None for the machine's.
    """

    def __init__(
        self,
        speed: float = 1.0,
        *,
        source: Callable[[], float] = time.monotonic,
        epoch: float | None = None,
    ) -> None:
        if speed <= 0:
            msg = f"the clock's speed {speed:g} must be above 0"
            raise ValueError(msg)
        self.speed = speed
        self._source = source
        self._began = source()
        self._epoch = time.time() if epoch is None else epoch

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return self._epoch + (self._source() - self._began) * self.speed

    async def sleep(self, seconds: float) -> None:
        """Come back when `seconds` of this clock have passed."""
        if seconds == float("inf"):
            await asyncio.Event().wait()
        await asyncio.sleep(seconds / self.speed)


class ManualClock:
    """Time passes only when `advance` is called. For one event loop."""

    def __init__(self, now: float = _EPOCH) -> None:
        self._now = now
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass; whoever's sleep ends within them goes on."""
        if seconds < 0:
            msg = f"time does not run backwards: {seconds:g} s"
            raise ValueError(msg)
        self._now += seconds
        while self._sleepers and self._sleepers[0][0] <= self._now:
            _, _, sleeper = heapq.heappop(self._sleepers)
            if not sleeper.done():
                sleeper.set_result(None)

    async def sleep(self, seconds: float) -> None:
        """Come back when `advance` has let `seconds` pass."""
        if seconds <= 0:
            return
        sleeper = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), sleeper))
        await sleeper
