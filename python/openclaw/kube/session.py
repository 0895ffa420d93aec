"""The connections to one API server that share TLS material; replaced whole when that changes."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp

from openclaw.kube.config import Access

__all__ = ["Session"]

_KEEPALIVE_IDLE_SECONDS: Final = 15
_KEEPALIVE_INTERVAL_SECONDS: Final = 5
_KEEPALIVE_PROBES: Final = 3


class Session:
    """An HTTP session that ends when it was retired and the last request on it is done.

    Args:
        access: where the server is.
        context: how to speak TLS with it; None for plain HTTP.
        user_agent: sent with each request.
        connections: most connections open at once, watches included.
    """

    def __init__(
        self, access: Access, context: ssl.SSLContext | None, *, user_agent: str, connections: int
    ) -> None:
        self._users = 0
        self._retired = False
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=connections,
                ssl=context if context is not None else True,
                keepalive_timeout=60,
                socket_factory=_keepalive_socket,
            ),
            headers={"User-Agent": user_agent, "Accept": "application/json"},
            auto_decompress=True,
            proxy=access.proxy,
            read_bufsize=2**18,
            skip_auto_headers={"Content-Type"},
        )

    @property
    def closed(self) -> bool:
        """Whether its connections are closed."""
        return self._http.closed

    @asynccontextmanager
    async def borrowed(self) -> AsyncIterator[aiohttp.ClientSession]:
        """Use it for a request or for a whole watch."""
        self._users += 1
        try:
            yield self._http
        finally:
            self._users -= 1
            if self._retired and not self._users:
                await self._http.close()

    async def retire(self) -> None:
        """Take no more requests; those in flight, and watches, go on to their end."""
        self._retired = True
        if not self._users:
            await self._http.close()

    async def close(self) -> None:
        """Close its connections now."""
        await self._http.close()


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
