"""HTTP to the API server: bytes out, bytes in, failures as `KubeError`s.

One `Transport` a process. It knows credentials, TLS, timeouts and keep-alive; it knows no kinds and
never repeats a request by itself, but for one that was refused for an expired token.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Any, ClassVar, Self
from urllib.parse import urlencode, urlsplit

from openclaw._core import Batch, Cache, HttpAnswer, HttpWatch
from openclaw.kube.config import Access, ConfigError, ConfigSource
from openclaw.kube.errors import ApiError, Unauthorized, Unreachable, error_from_status
from openclaw.kube.feed import Feed
from openclaw.kube.session import Session
from openclaw.kube.wire import CLOSED, Stream, Wire
from openclaw.telemetry.logs import Log
from openclaw.telemetry.spans import Span, current_span

__all__ = ["Response", "Transport"]

log = Log(__name__)

Observer = Callable[[str, str, str], None]
"""Called after each request with the code ("<error>" where none came), the method and the host."""

_TOKEN_CHECK_SECONDS = 60.0
_WARNING = re.compile(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Response:
    """A successful answer.

    Attributes:
        status: the HTTP status code, 200 to 299.
        body: the raw bytes.
        warnings: texts of the `Warning` headers.
    """

    status: int
    body: bytes
    warnings: tuple[str, ...] = ()


class Transport:
    """Speaks HTTP to one API server. Use it as an async context manager, or call `close`.

    Args:
        source: where the configuration comes from.
        observer: told of each request, for metrics.
        user_agent: sent with each request; the audit log shows it.
        connections: most connections open at once, watches included.
    """

    feeds: ClassVar[bool] = True
    """Whether there is `feed`: a faster way than `stream`, which no transport need have."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "stream" in cls.__dict__:
            # Whoever has another way with streams wants to see them.
            cls.feeds = "feed" in cls.__dict__

    def __init__(
        self,
        source: ConfigSource | None = None,
        *,
        observer: Observer | None = None,
        user_agent: str = "openclaw",
        connections: int = 256,
    ) -> None:
        self._source = source or ConfigSource()
        self._observer = observer
        self._user_agent = user_agent
        self._connections = connections
        self._access: Access | None = None
        self._host = ""
        self._base = ""
        self._session: Session | None = None
        self._wire: Wire | None = None
        self._retired: list[Session] = []
        self._closed = False
        self._read_at = 0.0
        self._reading = asyncio.Lock()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def namespace(self) -> str:
        """The namespace of the kubeconfig's context or of the pod."""
        return self._access.namespace if self._access else "default"

    @property
    def server(self) -> str:
        """The base URL of the API server, once opened."""
        return self._base

    async def open(self) -> None:
        """Read the configuration; connects nowhere yet.

        Raises:
            ConfigError: there is no usable configuration.
        """
        async with self._reading:
            self._closed = False
            if self._session is None:
                began = time.monotonic()
                await self._take(await self._source.load())
                self._read_at = began

    async def close(self) -> None:
        """Close every connection; requests fail from now on."""
        self._closed = True
        self._session, self._retired = None, []
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.close()

    async def _take(self, access: Access) -> None:
        """Use `access`; a new session only for another server or TLS material, so that watches stay open."""
        if self._session is not None and _same_connection(self._access, access):
            self._access = access
            return
        made = await asyncio.to_thread(
            Session, access, user_agent=self._user_agent, connections=self._connections
        )
        if self._closed:
            return
        if self._wire is None:
            self._wire = Wire()
        self._access = access
        self._base = access.server
        self._host = urlsplit(access.server).netloc
        old, self._session = self._session, made
        if old is not None:
            self._retired = [session for session in (*self._retired, old) if not session.closed]
            old.retire()

    async def _read_again(self) -> None:
        """Read the configuration again; while that fails, what is known goes on being used."""
        self._read_at = time.monotonic()
        try:
            await self._take(await self._source.load())
        except ConfigError as error:
            # A file may be read just as it is being replaced.
            log.warning("the configuration could not be read again", error=str(error))

    async def _renew(self, refused_at: float) -> None:
        """After a 401 for a request of that time; of many such requests one reads, the others wait for it."""
        async with self._reading:
            if self._read_at <= refused_at:
                await self._read_again()

    async def _authorization(self) -> str | None:
        """The Authorization header to send, which may have to be read again."""
        if self._session is None and not self._closed:
            await self.open()
        if time.monotonic() - self._read_at > _TOKEN_CHECK_SECONDS and not self._reading.locked():
            # The others go on with what is known: it is still good, most likely.
            async with self._reading:
                await self._read_again()
        return self._access.authorization if self._access is not None else None

    def _observe(self, code: str, method: str) -> None:
        if self._observer is not None:
            self._observer(code, method, self._host)

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
        """Send one request and read the whole answer within `timeout` seconds.

        Raises:
            ApiError: the server answered with a failure.
            Unreachable: no complete answer came; whether a write took effect is unknown.
        """
        began = time.monotonic()
        try:
            return await self._request(method, path, query, body, content_type, timeout)
        except Unauthorized:
            # The token may have been renewed since it was read; a write that was refused had no effect.
            await self._renew(began)
            current_span().set("http.request.resend_count", 1)
            return await self._request(method, path, query, body, content_type, timeout)

    async def _request(  # noqa: PLR0917 - all of them, always
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: bytes | None,
        content_type: str | None,
        timeout: float,
    ) -> Response:
        authorization = await self._authorization()
        span = current_span()
        session, wire = self._session, self._wire
        if session is None or wire is None:
            raise Unreachable(f"{method} {path}: {CLOSED}")
        with session.borrowed() as http:
            answer = await wire.request(
                http,
                method,
                _target(path, query),
                timeout=timeout,
                body=body,
                content_type=content_type,
                authorization=authorization,
                traceparent=span.traceparent if isinstance(span, Span) else None,
            )
        if isinstance(answer, str):
            self._observe("<error>", method)
            raise Unreachable(f"{method} {path}: {answer}")
        self._observe(str(answer.status), method)
        if not HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
            raise _refusal(answer, f"{method} {path}")
        warnings = tuple(map(_warning_text, answer.warnings)) if answer.warnings else ()
        return Response(answer.status, answer.body, warnings)

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch; yields an iterator of the chunks as they come from the socket.

        The iterator ends when the server closes the stream, and raises `Unreachable` when it breaks or
        when no byte came for `idle_timeout` seconds.

        Raises:
            ApiError: the server refused the watch.
            Unreachable: the connection failed.
        """
        stream = Stream(f"WATCH {path}")
        async with self._watching(path, query, idle_timeout, stream.on_news) as watch:
            chunks = stream.chunks(watch)
            try:
                yield chunks
            finally:
                await chunks.aclose()

    @asynccontextmanager
    async def feed(
        self,
        path: str,
        cache: Cache,
        on_batch: Callable[[Batch], None],
        *,
        query: Mapping[str, str],
        idle_timeout: float,
    ) -> AsyncIterator[Feed]:
        """Open a watch whose bytes go right into `cache`; `on_batch` gets what has deltas or an error.

        Raises:
            ApiError: the server refused the watch.
            Unreachable: the connection failed.
        """
        feed = Feed(f"WATCH {path}", on_batch)
        async with self._watching(path, query, idle_timeout, feed.catch_up, cache) as watch:
            feed.begin(watch)
            try:
                yield feed
            finally:
                feed.stop()

    @asynccontextmanager
    async def _watching(
        self,
        path: str,
        query: Mapping[str, str],
        idle_timeout: float,
        on_news: Callable[[], None],
        cache: Cache | None = None,
    ) -> AsyncIterator[HttpWatch]:
        """An open watch; with other credentials when it is refused for those that are known."""
        began = time.monotonic()
        async with AsyncExitStack() as stack:
            try:
                opened = self._opened(path, query, idle_timeout, on_news, cache)
                watch = await stack.enter_async_context(opened)
            except Unauthorized:
                await self._renew(began)
                opened = self._opened(path, query, idle_timeout, on_news, cache)
                watch = await stack.enter_async_context(opened)
            yield watch

    @asynccontextmanager
    async def _opened(
        self,
        path: str,
        query: Mapping[str, str],
        idle_timeout: float,
        on_news: Callable[[], None],
        cache: Cache | None,
    ) -> AsyncIterator[HttpWatch]:
        authorization = await self._authorization()
        session, wire = self._session, self._wire
        if session is None or wire is None:
            raise Unreachable(f"WATCH {path}: {CLOSED}")
        with session.borrowed() as http:
            watch = await wire.watch(
                http,
                _target(path, query),
                idle_timeout=idle_timeout,
                on_news=on_news,
                authorization=authorization,
                cache=cache,
            )
            if isinstance(watch, str):
                self._observe("<error>", "GET")
                raise Unreachable(f"WATCH {path}: {watch}")
            if isinstance(watch, HttpAnswer):
                self._observe(str(watch.status), "GET")
                raise _refusal(watch, f"WATCH {path}")
            self._observe("200", "GET")
            try:
                yield watch
            finally:
                wire.end_watch(watch)


def _same_connection(one: Access | None, other: Access) -> bool:
    return one is not None and (one.server, one.proxy, one.tls, one.tls_digest) == (
        other.server,
        other.proxy,
        other.tls,
        other.tls_digest,
    )


def _warning_text(header: str) -> str:
    """`299 - "text"` without the frame."""
    match = _WARNING.match(header)
    return re.sub(r"\\(.)", r"\1", match.group(1)) if match else header


@lru_cache(maxsize=64)
def _query_text(query: tuple[tuple[str, str], ...]) -> str:
    """The query, encoded; writes have one of two or three all their life."""
    return urlencode(query)


def _target(path: str, query: Mapping[str, str] | None) -> str:
    """Path and query; paths come quoted."""
    return f"{path}?{_query_text(tuple(query.items()))}" if query else path


def _refusal(answer: HttpAnswer, request: str) -> ApiError:
    return error_from_status(
        answer.status, answer.body, request=request, retry_after=_retry_after(answer.retry_after)
    )


def _retry_after(value: str | None) -> float | None:
    """Seconds of a Retry-After header; the API server sends whole seconds, never dates."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        return None
