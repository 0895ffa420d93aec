"""The door in process: takes the place of `openclaw.kube.Transport`, without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Self

from openclaw.kube.config import ConfigSource
from openclaw.kube.errors import Unreachable, error_from_status
from openclaw.kube.transport import Observer, Response, Transport
from openclaw.testing.cluster.contracts import User
from openclaw.testing.cluster.faults import ConnectionLost
from openclaw.testing.cluster.request import Answer, Request, failure
from openclaw.testing.cluster.server import ApiServer
from openclaw.testing.cluster.statuses import StatusError
from openclaw.testing.cluster.watching import Watch, WatchBroken

__all__ = ["InProcessTransport"]

_HOST = "fake.cluster.internal"


class InProcessTransport(Transport):
    """Requests straight to an embedded API server, as a user.

    A request lets the event loop turn before it has its effect and before it is answered, so that other tasks
    may come in between, as they may on a real connection.

    Args:
        server: what answers.
        user: whom the server takes the client for.
        observer: told of each request, for metrics.
        user_agent: whose first part is the field manager of writes that name none.
        namespace: that of the client's context.
    """

    def __init__(
        self,
        server: ApiServer,
        *,
        user: User | None = None,
        observer: Observer | None = None,
        user_agent: str = "openclaw",
        namespace: str = "default",
    ) -> None:
        super().__init__(ConfigSource(), observer=observer, user_agent=user_agent)
        self._server = server
        self._user = user or User()
        self._home = namespace
        self._shut = False
        self._watches: dict[Watch, None] = {}

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    @property
    def namespace(self) -> str:
        """The namespace of the client's context."""
        return self._home

    @property
    def server(self) -> str:
        """A URL that stands for the server; nobody listens there."""
        return f"https://{_HOST}"

    async def open(self) -> None:
        """Let requests through again."""
        self._shut = False

    async def close(self) -> None:
        """Break every watch; requests fail from now on."""
        self._shut = True
        for watch in list(self._watches):
            watch.cut()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str | None = None,
        timeout: float = 30.0,
    ) -> Response:
        """Send one request; see `openclaw.kube.Transport.request`.

        Raises:
            ApiError: the server answered with a failure.
            Unreachable: no answer came; whether a write took effect is unknown.
        """
        if self._shut:
            raise Unreachable(f"{method} {path}: the transport is closed")
        asked = Request(
            method=method,
            path=path,
            query=query or {},
            body=body or b"",
            content_type=content_type or "",
            user=self._user,
            user_agent=self._user_agent,
        )
        try:
            async with asyncio.timeout(timeout):
                answer = await self._exchange(asked)
        except TimeoutError:
            self._told("<error>", method)
            raise Unreachable(f"{method} {path}: no answer within {timeout:g} s") from None
        except ConnectionLost as error:
            self._told("<error>", method)
            raise Unreachable(f"{method} {path}: {error}") from error
        self._told(str(answer.status), method)
        return _response(answer, f"{method} {path}")

    async def _exchange(self, asked: Request) -> Answer:
        """The server's answer.

        Raises:
            ConnectionLost: there is none.
        """
        await asyncio.sleep(0)
        answer = await self._server.handle(asked)
        await asyncio.sleep(0)
        return answer

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch; see `openclaw.kube.Transport.stream`.

        Raises:
            ApiError: the server refused the watch.
            Unreachable: the connection failed.
        """
        watch = await self._begin_watch(path, query)
        self._watches[watch] = None
        chunks = self._read(watch, path, idle_timeout)
        try:
            yield chunks
        finally:
            self._watches.pop(watch, None)
            self._server.watching.close(watch)
            with suppress(Unreachable):
                await chunks.aclose()

    async def _begin_watch(self, path: str, query: Mapping[str, str]) -> Watch:
        if self._shut:
            raise Unreachable(f"WATCH {path}: the transport is closed")
        asked = Request("GET", path, query, user=self._user, user_agent=self._user_agent)
        await asyncio.sleep(0)
        try:
            watch = await self._server.watch(asked)
        except StatusError as error:
            self._told(str(error.code), "GET")
            _response(failure(error), f"WATCH {path}")
            raise
        except ConnectionLost as error:
            self._told("<error>", "GET")
            raise Unreachable(f"WATCH {path}: {error}") from error
        self._told("200", "GET")
        return watch

    @staticmethod
    async def _read(watch: Watch, path: str, idle_timeout: float) -> AsyncGenerator[bytes, None]:
        chunks = watch.chunks(idle_timeout)
        try:
            async for chunk in chunks:
                yield chunk
        except WatchBroken as error:
            raise Unreachable(f"WATCH {path}: {error}") from None
        finally:
            await chunks.aclose()

    def _told(self, code: str, method: str) -> None:
        if self._observer is not None:
            self._observer(code, method, _HOST)


def _response(answer: Answer, request: str) -> Response:
    """The answer as the client's response.

    Raises ApiError for a failure.
    """
    if answer.status >= 300:  # noqa: PLR2004
        retry_after = None if answer.retry_after is None else float(answer.retry_after)
        raise error_from_status(answer.status, answer.body, request=request, retry_after=retry_after)
    return Response(answer.status, answer.body, answer.warnings)
