"""Runs the controllers of the cluster: keys of what changed, one after the other, on the loop's clock."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from contextvars import copy_context
from typing import Protocol

from openclaw.telemetry.logs import Log
from openclaw.testing.cluster.statuses import StatusError
from openclaw.testing.cluster.store import Change, Name, Store

__all__ = ["ClusterController", "ControllerRunner"]

log = Log(__name__)

_RETRY_SECONDS = 1.0


class ClusterController(Protocol):
    """Brings one kind of thing to where it should be."""

    def keys(self, name: Name, change: Change) -> Iterable[Hashable]:
        """What has to be looked at after a change; called within the write."""

    async def sync(self, key: Hashable) -> float | None:
        """Look at it; returns the seconds after which to look again, None for when something changes."""


class ControllerRunner:
    """All controllers, one task; a key waits once, however often it was named.

    Args:
        latency: seconds between a change and its controllers' look at it.
    """

    def __init__(
        self, store: Store, controllers: Sequence[ClusterController], *, latency: float = 0.0
    ) -> None:
        self._store = store
        self._controllers = controllers
        self._latency = latency
        self._queue: dict[tuple[int, Hashable], None] = {}
        self._timers: dict[tuple[int, Hashable], asyncio.TimerHandle] = {}
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._paused = False
        self._context = copy_context()
        self._stop_listening = store.listen(self._changed)

    def start(self) -> None:
        """Begin to look at things."""
        self._task = asyncio.create_task(self._run(), name="cluster-controllers")

    async def stop(self) -> None:
        """Look at nothing any more."""
        self._stop_listening()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def pause(self) -> None:
        """Let everything be as it is, as if the controller manager were away."""
        self._paused = True

    def resume(self) -> None:
        """Go on, with what has changed meanwhile."""
        self._paused = False
        self._wake.set()

    async def settled(self) -> None:
        """Wait until there is nothing to look at now; what is due later does not count."""
        await self._idle.wait()

    def enqueue(self, controller: ClusterController, key: Hashable, after: float = 0.0) -> None:
        """Have a controller look at a key."""
        self._put((self._controllers.index(controller), key), after)

    def _changed(self, name: Name, change: Change) -> None:
        for number, controller in enumerate(self._controllers):
            for key in controller.keys(name, change):
                self._put((number, key), self._latency)

    def _put(self, item: tuple[int, Hashable], after: float) -> None:
        if item in self._queue:
            return
        if after <= 0:
            self._ready(item)
            return
        loop = asyncio.get_running_loop()
        known = self._timers.get(item)
        if known is not None:
            if known.when() <= loop.time() + after:
                return
            known.cancel()
        # In the context of the controllers, not of whoever's write this follows from.
        self._timers[item] = loop.call_later(after, self._ready, item, context=self._context)

    def _ready(self, item: tuple[int, Hashable]) -> None:
        timer = self._timers.pop(item, None)
        if timer is not None:
            timer.cancel()
        self._queue[item] = None
        self._idle.clear()
        self._wake.set()

    async def _run(self) -> None:
        while True:
            if not self._queue or self._paused:
                if not self._queue:
                    self._idle.set()
                self._wake.clear()
                await self._wake.wait()
                continue
            item = next(iter(self._queue))
            del self._queue[item]
            number, key = item
            try:
                again = await self._controllers[number].sync(key)
            except StatusError as error:
                log.debug("a controller of the cluster was refused", key=str(key), error=error.message)
                again = _RETRY_SECONDS
            except Exception:
                log.exception("a controller of the cluster failed", key=str(key))
                again = _RETRY_SECONDS
            if again is not None:
                self._put(item, max(again, 1e-6))
            # Between two keys others have their turn.
            await asyncio.sleep(0)
