"""HTTP to the API server: bytes out, bytes in, failures as `KubeError`s.

One `Transport` a process. It knows credentials, TLS, timeouts and keep-alive; it knows no kinds and
never repeats a request by itself, but for one that was refused for an expired token.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Self
from urllib.parse import urlencode, urlsplit

import aiohttp
from yarl import URL

from openclaw.kube.config import Access, ConfigError, ConfigSource
from openclaw.kube.errors import Unauthorized, Unreachable, error_from_status
from openclaw.kube.session import Session
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
        sessions = [*self._retired, *([self._session] if self._session else [])]
        self._session, self._retired = None, []
        for session in sessions:
            await session.close()

    async def _take(self, access: Access) -> None:
        """Use `access`; a new session only for another server or TLS material, so that watches stay open."""
        if self._session is not None and _same_connection(self._access, access):
            self._access = access
            return
        context = await asyncio.to_thread(access.ssl_context)
        if self._closed:
            return
        self._access = access
        self._base = access.server
        self._host = urlsplit(access.server).netloc
        old, self._session = (
            self._session,
            Session(access, context, user_agent=self._user_agent, connections=self._connections),
        )
        if old is not None:
            self._retired = [session for session in (*self._retired, old) if not session.closed]
            await old.retire()

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

    async def _headers(self, content_type: str | None) -> dict[str, str]:
        if self._session is None and not self._closed:
            await self.open()
        if time.monotonic() - self._read_at > _TOKEN_CHECK_SECONDS and not self._reading.locked():
            # The others go on with what is known: it is still good, most likely.
            async with self._reading:
                await self._read_again()
        headers: dict[str, str] = {}
        if self._access is not None and self._access.authorization:
            headers["Authorization"] = self._access.authorization
        if content_type:
            headers["Content-Type"] = content_type
        return headers

    @property
    def _tls_server_name(self) -> str | None:
        return self._access.tls_server_name if self._access else None

    def _url(self, path: str, query: Mapping[str, str] | None) -> URL:
        text = f"{self._base}{path}"
        return URL(f"{text}?{_query_text(tuple(query.items()))}" if query else text, encoded=True)

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
        headers = await self._headers(content_type)
        span = current_span()
        if isinstance(span, Span):
            headers["traceparent"] = span.traceparent
        if self._session is None:
            raise Unreachable(f"{method} {path}: the transport is closed")
        try:
            async with (
                self._session.borrowed() as http,
                http.request(
                    method,
                    self._url(path, query),
                    data=body,
                    headers=headers,
                    timeout=aiohttp.ClientTimeout(total=timeout),
                    server_hostname=self._tls_server_name,
                    allow_redirects=False,
                ) as answer,
            ):
                content = await answer.read()
        except (aiohttp.ClientError, OSError, ssl.SSLError, TimeoutError) as error:
            self._observe("<error>", method)
            msg = f"{method} {path}: {_describe(error, timeout)}"
            raise Unreachable(msg) from error
        self._observe(str(answer.status), method)
        if not HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
            raise error_from_status(
                answer.status,
                content,
                request=f"{method} {path}",
                retry_after=_retry_after(answer.headers.get("Retry-After")),
            )
        warnings = answer.headers.getall("Warning", ())
        return Response(answer.status, content, tuple(_warning_text(value) for value in warnings))

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
        began = time.monotonic()
        async with AsyncExitStack() as stack:
            try:
                chunks = await stack.enter_async_context(self._opened(path, query, idle_timeout))
            except Unauthorized:
                await self._renew(began)
                chunks = await stack.enter_async_context(self._opened(path, query, idle_timeout))
            yield chunks

    @asynccontextmanager
    async def _opened(
        self, path: str, query: Mapping[str, str], idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        headers = await self._headers(None)
        if self._session is None:
            raise Unreachable(f"WATCH {path}: the transport is closed")
        async with self._session.borrowed() as http:
            answer = await self._open_stream(http, path, query, headers, idle_timeout)
            chunks = self._chunks(answer, path)
            try:
                yield chunks
            finally:
                answer.close()
                await chunks.aclose()

    async def _open_stream(
        self,
        http: aiohttp.ClientSession,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        idle_timeout: float,
    ) -> aiohttp.ClientResponse:
        try:
            answer = await http.get(
                self._url(path, query),
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=idle_timeout),
                server_hostname=self._tls_server_name,
                allow_redirects=False,
            )
        except (aiohttp.ClientError, OSError, ssl.SSLError, TimeoutError) as error:
            self._observe("<error>", "GET")
            raise Unreachable(f"WATCH {path}: {_describe(error, None)}") from error
        self._observe(str(answer.status), "GET")
        if answer.status == HTTPStatus.OK:
            return answer
        try:
            content = await answer.read()
        except (aiohttp.ClientError, OSError, TimeoutError):
            content = b""
        finally:
            answer.close()
        raise error_from_status(
            answer.status,
            content,
            request=f"WATCH {path}",
            retry_after=_retry_after(answer.headers.get("Retry-After")),
        )

    @staticmethod
    async def _chunks(answer: aiohttp.ClientResponse, path: str) -> AsyncGenerator[bytes, None]:
        read = answer.content.readany
        try:
            while chunk := await read():
                yield chunk
        except (aiohttp.ClientError, OSError, ssl.SSLError, TimeoutError, RuntimeError) as error:
            # RuntimeError: aiohttp's word for a connection that we have closed ourselves.
            msg = f"WATCH {path}: {_describe(error, None)}"
            raise Unreachable(msg) from error


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


def _describe(error: BaseException, timeout: float | None) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {timeout:g} s" if timeout else "nothing was received for too long"
    return str(error) or type(error).__name__


def _retry_after(value: str | None) -> float | None:
    """Seconds of a Retry-After header; the API server sends whole seconds, never dates."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        return None
