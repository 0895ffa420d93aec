"""The thread that speaks HTTP, as seen from one event loop.

What is asked goes to the thread at once. What comes of it makes a descriptor readable, once for all that is
there, and is fetched in one go.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Final

from openclaw._core import Cache, HttpAnswer, HttpClient, HttpSession, HttpWatch
from openclaw.kube.errors import Unreachable

__all__ = ["CLOSED", "Stream", "Wire"]

CLOSED: Final = "the transport is closed"


class Wire:
    """Requests and watches on a thread of their own; for the event loop that is running when it is made."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._client = HttpClient()
        self._answers: dict[int, asyncio.Future[HttpAnswer | str | None]] = {}
        self._watches: dict[int, tuple[HttpWatch, Callable[[], None]]] = {}
        self._loop.add_reader(self._client.fileno(), self._fetch)
        self.closed = False

    async def request(
        self,
        session: HttpSession,
        method: str,
        target: str,
        *,
        timeout: float,
        body: bytes | None = None,
        content_type: str | None = None,
        authorization: str | None = None,
        traceparent: str | None = None,
    ) -> HttpAnswer | str:
        """The answer, whatever its status, or why there is none. Cancelling it closes its connection."""
        if self.closed:
            return CLOSED
        call = self._client.request(
            session,
            method,
            target,
            timeout=timeout,
            body=body,
            content_type=content_type,
            authorization=authorization,
            traceparent=traceparent,
        )
        outcome = await self._outcome(call.number, call.cancel)
        return CLOSED if outcome is None else outcome

    async def watch(
        self,
        session: HttpSession,
        target: str,
        *,
        idle_timeout: float,
        on_news: Callable[[], None],
        authorization: str | None = None,
        cache: Cache | None = None,
    ) -> HttpWatch | HttpAnswer | str:
        """An open watch, or the refusal, or why there is neither. `end_watch` must follow one that is open.

        Args:
            session: where to.
            target: path and query.
            idle_timeout: seconds without a byte after which it counts as broken.
            on_news: called when there is something to take from it, and when this wire is closed.
            authorization: of the request.
            cache: where the bytes go; without one they are handed on.
        """
        if self.closed:
            return CLOSED
        watch = self._client.watch(
            session, target, idle_timeout=idle_timeout, authorization=authorization, cache=cache
        )
        self._watches[watch.number] = watch, on_news
        opened = False
        try:
            outcome = await self._outcome(watch.number, watch.close)
            opened = outcome is None
            return watch if outcome is None else outcome
        finally:
            if not opened:
                self._watches.pop(watch.number, None)

    def end_watch(self, watch: HttpWatch) -> None:
        """Close its connection. What it put into its cache before can still be taken."""
        self._watches.pop(watch.number, None)
        watch.close()

    async def _outcome(self, number: int, cancel: Callable[[], None]) -> HttpAnswer | str | None:
        future: asyncio.Future[HttpAnswer | str | None] = self._loop.create_future()
        self._answers[number] = future
        try:
            return await future
        finally:
            if self._answers.pop(number, None) is not None:
                cancel()

    def _fetch(self) -> None:
        for number, outcome in self._client.take():
            future = self._answers.pop(number, None)
            if future is None:
                if (known := self._watches.get(number)) is not None:
                    known[1]()
            elif not future.done():
                future.set_result(outcome)

    def close(self) -> None:
        """End the thread and every connection; who waits is told."""
        if self.closed:
            return
        self.closed = True
        self._loop.remove_reader(self._client.fileno())
        self._client.close()
        for future in self._answers.values():
            if not future.done():
                future.set_result(CLOSED)
        self._answers.clear()
        for watch, on_news in list(self._watches.values()):
            watch.close(CLOSED)
            on_news()


class Stream:
    """The chunks of a watch, as they come from the socket.

    Args:
        request: what the watch is called in errors.
    """

    def __init__(self, request: str) -> None:
        self._request = request
        self._news = asyncio.Event()
        self.on_news = self._news.set

    async def chunks(self, watch: HttpWatch) -> AsyncGenerator[bytes, None]:
        """All of them, to the end that the server makes.

        Raises:
            Unreachable: the watch broke.
        """
        watch.begin()
        while True:
            self._news.clear()
            items, ended, failure = watch.take()
            for item in items:
                yield item
            if failure is not None:
                raise Unreachable(f"{self._request}: {failure}")
            if ended:
                return
            await self._news.wait()
