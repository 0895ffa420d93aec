"""Listening on an address: what the metrics server and the debug page have in common."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["Address", "BindError", "Listener"]

_STOP_SECONDS = 2.0
_MAX_PORT = 65535


class BindError(OSError):
    """The address cannot be listened on; the message names it and the flag that chooses another."""


class Address(NamedTuple):
    """Where to listen. An empty host means every interface; port 0 any free port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str, *, flag: str = "--metrics-address") -> Address:
        """Read `HOST:PORT`, `:PORT` or `[IPv6]:PORT`.

        Raises:
            ValueError: it is none of these; the message names `flag`.
        """
        host, colon, port = text.rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            colon = ""  # an IPv6 address without brackets: where its port begins cannot be known
        if not colon or not (port.isascii() and port.isdecimal()) or int(port) > _MAX_PORT:
            msg = f"{flag} {text!r}: expected HOST:PORT, such as 127.0.0.1:8080, :8080 or [::1]:8080"
            raise ValueError(msg)
        return cls(host, int(port))


class Listener:
    """Serves an application at an address, from `start` to `stop`.

    Args:
        address: where to listen.
        purpose: what is served, for the error.
        flag: the command-line flag to name when the address cannot be listened on.
    """

    def __init__(self, address: Address, *, purpose: str, flag: str) -> None:
        self._wanted = address
        self._purpose = purpose
        self._flag = flag
        self._runner: web.AppRunner | None = None

    @property
    def address(self) -> Address:
        """Where it listens; with the true port once it is started."""
        if self._runner is not None and self._runner.addresses:
            host, port = self._runner.addresses[0][:2]
            return Address(host, port)
        return self._wanted

    async def start(self, app: web.Application) -> None:
        """Begin to listen.

        Raises:
            BindError: the address is taken, is not of this machine, or may not be used.
        """
        from aiohttp import web  # noqa: PLC0415 - a process that serves nothing does not pay for it

        # Signals are the manager's; a log line a scrape helps nobody.
        runner = web.AppRunner(app, handle_signals=False, access_log=None, shutdown_timeout=_STOP_SECONDS)
        await runner.setup()
        try:
            await web.TCPSite(runner, self._wanted.host or None, self._wanted.port).start()
        except OSError as error:
            await runner.cleanup()
            # asyncio puts the address into `strerror`, which is said already; a name that cannot be resolved
            # has no errno of the system's.
            reason = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
            msg = (
                f"cannot listen on {self._wanted} for {self._purpose}: {reason}; "
                f"choose another address with {self._flag}"
            )
            raise BindError(msg) from error
        self._runner = runner

    async def stop(self) -> None:
        """Stop listening, after the answers under way, or 2 seconds."""
        if self._runner is not None:
            runner, self._runner = self._runner, None
            await runner.cleanup()
