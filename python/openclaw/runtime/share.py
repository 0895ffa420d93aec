"""A shard's share of the objects: what its caches hold, what is run, as the hand-over says."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from openclaw.runtime.controller import Controller
from openclaw.runtime.informers import Informers
from openclaw.sharding.fence import Fence
from openclaw.sharding.statustext import Workload

__all__ = ["Share"]

Slots = frozenset[int]

_EVENTS_SECONDS: Final = 1.0
"""What the events of a leaving shard's last runs get; the slots wait for them."""


class Share:
    """Reads, runs and drops the objects of slots. What it is told is in the order of the hand-over.

    Args:
        informers: the caches of roots and children are read by slots; the others whole.
        controllers: run what is in them.
        fence: knows which slots are acted on.
        margin: seconds that a write may be under way after its run was cut off: those from the end of a fence
            to that of its Lease.
    """

    def __init__(
        self, informers: Informers, controllers: Sequence[Controller], fence: Fence, *, margin: float = 0.0
    ) -> None:
        self._informers: Final = informers
        self._controllers = controllers
        self._fence = fence
        self._margin = margin

    async def warm(self, slots: Slots) -> None:
        """Read the objects of these slots; nothing is run yet."""
        async with asyncio.TaskGroup() as group:
            for informer in self._informers:
                group.create_task(informer.gain(slots))

    def start(self, slots: Slots) -> None:
        """Act on these slots: every root in them is run once, and then when something changes."""
        self._fence.start(slots)
        # Children first: a root that runs at once reads them.
        for informer in self._informers.children_first:
            informer.start(slots)

    async def drain(self, slots: Slots, seconds: float) -> None:
        """Begin no more runs of these slots; those under way end, or are cut off after `seconds`.

        Where some were cut off, it is waited until no write of theirs can arrive any more.
        """
        term = self._fence.term
        self._fence.drain(slots)
        for informer in self._informers:
            informer.stop(slots)
        try:
            async with asyncio.TaskGroup() as group:
                drained = [group.create_task(it.drain(slots, seconds)) for it in self._controllers]
            if slots >= self._fence.acting:
                # It leaves: once the slots are let go the fence is down, and events are writes too.
                await self._send_events()
        finally:
            if self._fence.term == term:  # else they are stopped already, and may have been begun again
                self._fence.stop(slots)
        if any(task.result() for task in drained):
            await asyncio.sleep(self._margin)

    async def _send_events(self) -> None:
        async with asyncio.TaskGroup() as group:
            for controller in self._controllers:
                if controller.recorder is not None:
                    group.create_task(controller.recorder.drain(_EVENTS_SECONDS))

    def drop(self, slots: Slots) -> None:
        """Forget the objects of these slots."""
        for informer in self._informers:
            informer.lose(slots)

    def abandon(self, why: str) -> None:
        """The fence is down: cut off every run, begin none. What is read stays."""
        slots = self._fence.acting
        self._fence.lose(why)
        for informer in self._informers:
            informer.stop(slots)
        for controller in self._controllers:
            controller.abandon(why)

    def workload(self) -> Workload:
        """What there is to do."""
        acting = self._fence.acting
        return Workload(
            objects=sum(len(it.cache) for it in self._informers if it.scope == "roots") if acting else 0,
            queue=sum(len(it.queue) for it in self._controllers),
            running=sum(len(it.running) for it in self._controllers),
            reconciles=sum(it.running.begun for it in self._controllers),
        )
