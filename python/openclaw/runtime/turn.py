"""The event loop shared fairly: workers whose runs await nothing let others have it now and then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

__all__ = ["Turn"]

_SECONDS: Final = 0.005


class Turn:
    """How long a controller's workers have had the event loop, taken together.

    A run in which nothing is to be done awaits nothing. After a start there may be thousands of these in a
    row: without a pause, until the last one no Lease would be renewed, no request answered, no signal heard;
    and each would leave its cancelled deadline, with all that it refers to, in the loop's list of timers.

    Args:
        clock: seconds, monotonic; the loop's by default.
    """

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock or asyncio.get_running_loop().time
        self._began = self._clock()
        self._ending = False

    def begin(self) -> None:
        """The workers had nothing to do until now."""
        self._began = self._clock()
        self._ending = False

    async def pause(self) -> None:
        """Let everything else have its turn, if this one lasts too long."""
        if self._clock() - self._began < _SECONDS:
            return
        if not self._ending:
            # The first worker to notice; the others pause too, after their runs under way.
            self._ending = True
            asyncio.get_running_loop().call_soon(self.begin)
        await asyncio.sleep(0)
