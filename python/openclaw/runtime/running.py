"""The runs of a controller that are under way: which, since when, of which slot, and how to end them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from openclaw.runtime.queue import Key

__all__ = ["Running"]

_CUT_SECONDS: Final = 1.0


@dataclass(slots=True)
class _Run:
    slot: int | None
    task: asyncio.Task[Any]
    since: float
    cut: bool = False


class Running:
    """See the module. Belongs to one event loop.

    Attributes:
        begun: how many runs there have been.
    """

    def __init__(self) -> None:
        self.begun = 0
        self._runs: dict[Key, _Run] = {}
        self._ended: asyncio.Event | None = None

    def __len__(self) -> int:
        """How many there are."""
        return len(self._runs)

    def items(self) -> list[tuple[Key, float]]:
        """The keys, and when each run began, in seconds of the monotonic clock."""
        return [(key, run.since) for key, run in self._runs.items()]

    @contextmanager
    def during(self, key: Key, slot: int | None) -> Iterator[None]:
        """Around the run of `key` in the current task, which goes on afterwards even where it was cut off."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a run is a task's")
        run = self._runs[key] = _Run(slot, task, time.monotonic())
        self.begun += 1
        try:
            yield
        except asyncio.CancelledError:
            # Cut off by us, and by nobody else besides.
            if not run.cut or task.cancelling() > 1:
                raise
        finally:
            if run.cut:
                task.uncancel()
            del self._runs[key]
            if self._ended is not None:
                self._ended.set()

    def cut(self, slots: Collection[int] | None = None) -> list[Key]:
        """Cancel the runs of these slots, or all; returns their keys."""
        keys = [key for key, run in self._runs.items() if slots is None or run.slot in slots]
        for key in keys:
            run = self._runs[key]
            if not run.cut:
                run.cut = True
                run.task.cancel()
        return keys

    async def end(self, slots: Collection[int], seconds: float) -> list[Key]:
        """Wait until no run of these slots is left, for `seconds`, then cut them off; returns which were."""
        if await self._end_within(slots, seconds):
            return []
        keys = self.cut(slots)
        # A run that swallows its cancellation is not waited for: the fence lets it write nothing.
        await self._end_within(slots, _CUT_SECONDS)
        return keys

    async def _end_within(self, slots: Collection[int], seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                while any(run.slot in slots for run in self._runs.values()):
                    if self._ended is None or self._ended.is_set():
                        self._ended = asyncio.Event()
                    await self._ended.wait()
        except TimeoutError:
            return False
        return True
