"""Slots that are wanted and not there yet, and who waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

__all__ = ["Wants"]


class Wants:
    """Futures, each of some slots."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[None], set[int]] = {}

    @property
    def slots(self) -> frozenset[int]:
        """All that anybody waits for."""
        return frozenset().union(*self._waiting.values())

    def add(self, slots: Iterable[int]) -> asyncio.Future[None]:
        """A future that is done when each of the slots is settled."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[future] = set(slots)
        return future

    def discard(self, future: asyncio.Future[None]) -> None:
        """Nobody waits for this future any more."""
        self._waiting.pop(future, None)

    def settle(self, slots: Iterable[int]) -> None:
        """These slots are there, or are wanted no more."""
        settled = frozenset(slots)
        for future, missing in list(self._waiting.items()):
            missing.difference_update(settled)
            if not missing:
                del self._waiting[future]
                if not future.done():
                    future.set_result(None)
