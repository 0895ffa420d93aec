"""Single flight: those who want the same thing at the same time wait for one call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["SingleFlight"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(slots=True)
class _Flight(Generic[V]):
    task: asyncio.Task[V]
    waiters: int = 0


class SingleFlight(Generic[K, V]):
    """One call for each key at a time; keeps nothing once it has ended, and so no failure either.

    The call belongs to all who wait for it: one that is cancelled leaves the others waiting, and the last one
    that goes takes the call with it. Belongs to one event loop.
    """

    def __init__(self) -> None:
        self._flights: dict[K, _Flight[V]] = {}

    def __len__(self) -> int:
        """Calls under way."""
        return len(self._flights)

    async def run(self, key: K, call: Callable[[], Awaitable[V]]) -> V:
        """What the call under way for `key` returns; `call` is made where there is none.

        Raises:
            Exception: what the call raised, the same for all who wait.
            RuntimeError: the call was cancelled from within, while the caller was not.
        """
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.create_task(_made(call)))
            started = flight
            flight.task.add_done_callback(lambda task: self._ended(key, started, task))
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if flight.task.cancelled() and task is not None and not task.cancelling():
                raise RuntimeError("the call that this one waited for was cancelled from within") from None
            raise
        finally:
            flight.waiters -= 1
            if not flight.waiters and not flight.task.done():
                self._forget(key, flight)
                flight.task.cancel()

    def _ended(self, key: K, flight: _Flight[V], task: asyncio.Task[V]) -> None:
        self._forget(key, flight)
        if not task.cancelled():
            task.exception()  # looked at: nobody may be left to whom it is raised

    def _forget(self, key: K, flight: _Flight[V]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]


async def _made(call: Callable[[], Awaitable[V]]) -> V:
    return await call()
