"""The connection of a simulated process: requests travel, and go on when their sender is no more."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass
from typing import Final

from openclaw.kube.errors import Unreachable
from openclaw.testing.cluster.request import Answer, Request
from openclaw.testing.cluster.server import ApiServer
from openclaw.testing.cluster.transport import InProcessTransport
from openclaw.testing.cluster.watching import Watch

__all__ = ["Arrival", "SimulatedTransport", "current_arrival", "outside_context"]

_LONGEST_WAY: Final = 0.004
"""Seconds that a request takes to the API server at most, where no fault delays it."""


@dataclass(slots=True, eq=False)
class Arrival:
    """A request at the API server.

    Attributes:
        actor: who sent it.
        changed: whether it has changed something.
    """

    actor: str
    request: Request
    changed: bool = False


_arrival: ContextVar[Arrival | None] = ContextVar("openclaw_arrival", default=None)


def current_arrival() -> Arrival | None:
    """The request that the API server is at; None when it acts by itself."""
    return _arrival.get()


class SimulatedTransport(InProcessTransport):
    """Requests as a process sends them: the API server takes them whatever becomes of the process.

    Args:
        server: what answers.
        actor: the name of the process.
        outside: the context of the API server.
        chance: draws how long requests travel.
        reached: whether the API server can be reached now.
    """

    def __init__(
        self,
        server: ApiServer,
        *,
        actor: str,
        outside: Context,
        chance: random.Random,
        reached: Callable[[], bool],
    ) -> None:
        super().__init__(server, user_agent="openclaw")
        self.actor = actor
        self._outside = outside
        self._chance = chance
        self._reached = reached
        self._under_way: set[asyncio.Task[None]] = set()

    async def _exchange(self, asked: Request) -> Answer:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer | Exception] = loop.create_future()
        context = self._outside.copy()
        context.run(_arrival.set, Arrival(self.actor, asked))
        travelling = loop.create_task(self._travel(asked, answer), context=context)
        self._under_way.add(travelling)
        travelling.add_done_callback(self._under_way.discard, context=context)
        found = await answer
        if isinstance(found, Exception):
            raise found
        return found

    async def _travel(self, asked: Request, to: asyncio.Future[Answer | Exception]) -> None:
        found: Answer | Exception
        try:
            if self._chance.random() < 0.5:  # noqa: PLR2004 - every other one takes a while
                await asyncio.sleep(self._chance.random() * _LONGEST_WAY)
            if not self._reached():
                return  # Neither an answer nor an error: the packets are lost.
            found = await self._server.handle(asked)
            if not self._reached():
                return
        except Exception as error:  # noqa: BLE001 - it is the caller's
            found = error
        if not to.done():
            to.set_result(found)

    async def _begin_watch(self, path: str, query: Mapping[str, str]) -> Watch:
        if not self._reached():
            await asyncio.sleep(5)
            raise Unreachable(f"WATCH {path}: connection timed out")
        token = _arrival.set(Arrival(self.actor, Request("GET", path, query)))
        try:
            return await super()._begin_watch(path, query)
        finally:
            _arrival.reset(token)

    def sever(self) -> None:
        """As when the process dies: the API server forgets its watches."""
        self._shut = True
        for watch in list(self._watches):
            self._server.watching.close(watch)

    @property
    def watches(self) -> list[Watch]:
        """Those that are open."""
        return list(self._watches)


def outside_context() -> Context:
    """A context of nobody's request."""
    context = copy_context()
    context.run(_arrival.set, None)
    return context
