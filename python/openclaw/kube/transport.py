"""HTTP to the API server: bytes out, bytes in, failures as `KubeError`s.

One `Transport` a process. It knows credentials, TLS, timeouts and keep-alive; it knows no kinds and
never repeats a request by itself, but for one that was refused for an expired token.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import aiohttp
from yarl import URL

from openclaw.kube.config import Access, ConfigError, ConfigSource
from openclaw.kube.errors import Unauthorized, Unreachable, error_from_status
from openclaw.telemetry.logs import Log

__all__ = ["Response", "Transport"]

log = Log(__name__)

Observer = Callable[[str, str, str], None]
"""Called after each request with the code ("<error>" where none came), the method and the host."""

_TOKEN_CHECK_SECONDS = 60.0
_KEEPALIVE_IDLE_SECONDS = 15
_KEEPALIVE_INTERVAL_SECONDS = 5
_KEEPALIVE_PROBES = 3


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


def _keepalive_socket(address: Any) -> socket.socket:
    """A socket on which a dead peer is noticed in half a minute, also while nothing is sent."""
    family, kind, proto, _, _ = address
    sock = socket.socket(family, kind, proto)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", _KEEPALIVE_IDLE_SECONDS),
        ("TCP_KEEPINTVL", _KEEPALIVE_INTERVAL_SECONDS),
        ("TCP_KEEPCNT", _KEEPALIVE_PROBES),
    ):
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return sock


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
        self._tls_server_name: str | None = None
        self._host = ""
        self._base = ""
        self._session: aiohttp.ClientSession | None = None
        self._retired: list[aiohttp.ClientSession] = []
        self._checked = 0.0
        self._opening = asyncio.Lock()

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
        async with self._opening:
            if self._session is None:
                await self._apply(await self._source.load())

    async def close(self) -> None:
        """Close every connection."""
        sessions = [*self._retired, *([self._session] if self._session else [])]
        self._session, self._retired = None, []
        for session in sessions:
            await session.close()

    async def _apply(self, access: Access) -> None:
        """Take `access`; a new session only for another server or TLS material, so that watches stay open."""
        before = self._access
        same = before is not None and (before.tls, before.server, before.proxy) == (
            access.tls,
            access.server,
            access.proxy,
        )
        if same and self._session is not None:
            self._access, self._checked = access, time.monotonic()
            return
        context = await asyncio.to_thread(access.ssl_context)
        self._access, self._checked = access, time.monotonic()
        self._base = access.server
        self._host = urlsplit(access.server).netloc
        self._tls_server_name = access.tls_server_name
        if self._session is not None:
            # Requests in flight finish on the old session; it is closed with the transport.
            self._retired.append(self._session)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=self._connections,
                ssl=context if context is not None else True,
                keepalive_timeout=60,
                socket_factory=_keepalive_socket,
            ),
            headers={"User-Agent": self._user_agent, "Accept": "application/json"},
            auto_decompress=True,
            proxy=access.proxy,
            read_bufsize=2**18,
            skip_auto_headers={"Content-Type"},
        )

    async def _reload(self) -> None:
        """Read the configuration again; while that fails, what is known goes on being used."""
        try:
            await self._apply(await self._source.load())
        except ConfigError as error:
            # A file may be read just as it is being replaced.
            self._checked = time.monotonic()
            log.warning("the configuration could not be read again", error=str(error))

    async def _headers(self, content_type: str | None, *, refresh: bool = False) -> dict[str, str]:
        if self._session is None:
            await self.open()
        if refresh or time.monotonic() - self._checked > _TOKEN_CHECK_SECONDS:
            async with self._opening:
                if refresh or time.monotonic() - self._checked > _TOKEN_CHECK_SECONDS:
                    await self._reload()
        headers: dict[str, str] = {}
        if self._access is not None and self._access.authorization:
            headers["Authorization"] = self._access.authorization
        if content_type:
            headers["Content-Type"] = content_type
        return headers

    def _url(self, path: str, query: Mapping[str, str] | None) -> URL:
        return URL(f"{self._base}{path}?{urlencode(query)}" if query else f"{self._base}{path}", encoded=True)

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
        try:
            return await self._request(
                method, path, query=query, body=body, content_type=content_type, timeout=timeout
            )
        except Unauthorized:
            # The token may have been renewed since it was read; a write that was refused had no effect.
            return await self._request(
                method,
                path,
                query=query,
                body=body,
                content_type=content_type,
                timeout=timeout,
                refresh=True,
            )

    async def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None,
        body: bytes | None,
        content_type: str | None,
        timeout: float,
        refresh: bool = False,
    ) -> Response:
        headers = await self._headers(content_type, refresh=refresh)
        session = self._session
        if session is None:
            msg = f"{method} {path}: the transport is closed"
            raise Unreachable(msg)
        try:
            async with session.request(
                method,
                self._url(path, query),
                data=body,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=timeout),
                server_hostname=self._tls_server_name,
                allow_redirects=False,
            ) as answer:
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
        return Response(answer.status, content, tuple(answer.headers.getall("Warning", ())))

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
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=idle_timeout)
        answer = await self._open_stream(path, query, timeout)
        try:
            yield self._chunks(answer, path)
        finally:
            answer.close()

    async def _open_stream(
        self, path: str, query: Mapping[str, str], timeout: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        for refresh in (False, True):
            headers = await self._headers(None, refresh=refresh)
            session = self._session
            if session is None:
                break
            try:
                answer = await session.get(
                    self._url(path, query),
                    headers=headers,
                    timeout=timeout,
                    server_hostname=self._tls_server_name,
                    allow_redirects=False,
                )
            except (aiohttp.ClientError, OSError, ssl.SSLError, TimeoutError) as error:
                self._observe("<error>", "GET")
                msg = f"WATCH {path}: {_describe(error, timeout.sock_connect or 0)}"
                raise Unreachable(msg) from error
            self._observe(str(answer.status), "GET")
            if answer.status == HTTPStatus.OK:
                return answer
            try:
                content = await answer.read()
            except (aiohttp.ClientError, OSError, TimeoutError):
                content = b""
            finally:
                answer.close()
            if answer.status != HTTPStatus.UNAUTHORIZED or refresh:
                raise error_from_status(
                    answer.status,
                    content,
                    request=f"WATCH {path}",
                    retry_after=_retry_after(answer.headers.get("Retry-After")),
                )
        msg = f"WATCH {path}: the transport is closed"
        raise Unreachable(msg)

    @staticmethod
    async def _chunks(answer: aiohttp.ClientResponse, path: str) -> AsyncIterator[bytes]:
        read = answer.content.readany
        try:
            while chunk := await read():
                yield chunk
        except (aiohttp.ClientError, OSError, ssl.SSLError, TimeoutError) as error:
            msg = f"WATCH {path}: {_describe(error, None)}"
            raise Unreachable(msg) from error


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
