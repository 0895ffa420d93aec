"""The token bucket of one account and region: asked, it says how long to wait; it never makes anyone wait.

A reconcile that would have to wait ends instead, and is run again then: its worker is free meanwhile, and
nothing holds a place in a line that outlives its object. Those who are turned away are told different times,
one after the other at the bucket's rate, so that they do not all come back at once.

The bucket is aiolimiter's. Around it is what the system says itself: when it throttles, the account and
region is left alone for a while and then called at half the rate, down to an eighth; after a time without
complaint at twice the rate, up to the one that was set.
"""

from __future__ import annotations

import asyncio
import random
from typing import Final

from aiolimiter import AsyncLimiter

from openclaw.providers.resilience.settings import ResilienceSettings

__all__ = ["TokenBucket"]

_SLOWEST: Final = 1 / 8
_RECOVERY_SECONDS: Final = 30.0
# However many were turned away, nobody is told to stay away for longer.
_LONGEST_WAIT: Final = 300.0


class TokenBucket:
    """See the module. All methods are called within a running event loop; none of them suspends.

    Args:
        settings: rate, burst and penalties.
    """

    def __init__(self, settings: ResilienceSettings) -> None:
        self._settings = settings
        self._loop: asyncio.AbstractEventLoop | None = None
        self._limiter = self._new_limiter(1.0)
        self._factor = 1.0
        self._strikes = 0
        self._paused_until = 0.0
        self._complained_at = 0.0
        self._promised_until = 0.0

    @property
    def rate(self) -> float:
        """Calls a second that are let through now, in the long run."""
        return self._settings.rate * self._factor

    def would_wait(self) -> float:
        """Seconds that a call would have to wait now, at least; 0 where it may go. Takes nothing."""
        now = self._time()
        if now < self._paused_until:
            return self._paused_until - now
        return 0.0 if self._limiter.has_capacity() else 1 / self.rate

    async def take(self) -> float:
        """Take a token: 0.0. Where there is none: the seconds after which to ask again."""
        now = self._time()
        self._recover(now)
        if now >= self._paused_until and self._limiter.has_capacity():
            await self._limiter.acquire()  # has a free place, so it comes back at once
            return 0.0
        return self.turn_away()

    def turn_away(self) -> float:
        """Seconds after which to ask again, for one who finds no token: each is told a time of its own."""
        now = self._time()
        earliest = max(now, self._paused_until, min(self._promised_until, now + _LONGEST_WAIT))
        self._promised_until = earliest + 1 / self.rate
        return self._promised_until - now

    async def complained(self, retry_after: float | None = None) -> float:
        """The system has throttled a call: leave it alone for a while.

        Returns:
            Seconds after which the call that was refused may be tried again.
        """
        now = self._time()
        if now >= self._paused_until:
            # Calls that were under way together are refused together: that is one complaint.
            self._strikes += 1
            self._factor = max(_SLOWEST, self._factor / 2)
            self._limiter = self._new_limiter(self._factor)
            await self._limiter.acquire(self._limiter.max_rate)  # no burst after the pause
            pause = self._settings.penalty * 2 ** (self._strikes - 1)
            pause = min(self._settings.longest_penalty, pause) * random.uniform(1.0, 1.2)
            self._paused_until = now + max(pause, min(retry_after or 0.0, _LONGEST_WAIT))
        elif retry_after is not None:
            self._paused_until = max(self._paused_until, now + min(retry_after, _LONGEST_WAIT))
        self._complained_at = now
        return await self.take()

    def _recover(self, now: float) -> None:
        if self._factor == 1.0 and self._strikes == 0:
            return
        if now - max(self._complained_at, self._paused_until) >= _RECOVERY_SECONDS:
            self._complained_at = now
            self._strikes = max(0, self._strikes - 1)
            if self._factor < 1.0:
                self._factor = min(1.0, self._factor * 2)
                self._limiter = self._new_limiter(self._factor)

    def _new_limiter(self, factor: float) -> AsyncLimiter:
        burst = self._settings.burst
        return AsyncLimiter(burst, burst / (self._settings.rate * factor))

    def _time(self) -> float:
        """The running loop's time. A limiter belongs to one loop: on another one, begin anew."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            self._limiter = self._new_limiter(self._factor)
            self._paused_until = self._complained_at = self._promised_until = 0.0
        return loop.time()
