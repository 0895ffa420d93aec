"""Serves /metrics, /healthz and /readyz over HTTP."""

from __future__ import annotations

import os
import socket
from types import TracebackType
from typing import NamedTuple, Self

from aiohttp import web

from openclaw.telemetry.health import Health, HealthChecks
from openclaw.telemetry.metrics import Metrics

__all__ = ["Address", "BindError", "TelemetryServer"]

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


class TelemetryServer:
    """The HTTP server; use it as an async context manager, or call `start` and `stop`.

    Args:
        address: where to listen.
        metrics: served at /metrics.
        health: served at /healthz (live) and /readyz (ready); each takes `?verbose`, `?exclude=NAME`
            and `/NAME`.
        flag: the command-line flag to name when the address cannot be listened on.
    """

    def __init__(
        self, address: Address, *, metrics: Metrics, health: HealthChecks, flag: str = "--metrics-address"
    ) -> None:
        self._wanted = address
        self._metrics = metrics
        self._health = health
        self._flag = flag
        self._runner: web.AppRunner | None = None

    @property
    def address(self) -> Address:
        """Where it listens; with the true port once it is started."""
        if self._runner is not None and self._runner.addresses:
            host, port = self._runner.addresses[0][:2]
            return Address(host, port)
        return self._wanted

    async def start(self) -> None:
        """Begin to listen.

        Raises:
            BindError: the address is taken, is not of this machine, or may not be used.
        """
        app = web.Application()
        app.router.add_get("/metrics", self._serve_metrics)
        for path, handler in (
            ("/healthz", _HealthHandler(self._health, "live")),
            ("/readyz", _HealthHandler(self._health, "ready")),
        ):
            app.router.add_get(path, handler.all)
            app.router.add_get(path + "/{name:.+}", handler.one)
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
                f"cannot listen on {self._wanted} for metrics and health: {reason}; "
                f"choose another address with {self._flag}"
            )
            raise BindError(msg) from error
        self._runner = runner

    async def stop(self) -> None:
        """Stop listening, after the answers under way, or 2 seconds."""
        if self._runner is not None:
            runner, self._runner = self._runner, None
            await runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _serve_metrics(self, request: web.Request) -> web.Response:
        body, content_type = self._metrics.render(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})


class _HealthHandler:
    """The two routes of one kind of check."""

    def __init__(self, checks: HealthChecks, kind: Health) -> None:
        self._checks = checks
        self._kind: Health = kind

    async def all(self, request: web.Request) -> web.Response:
        """Every check; 200 or 500."""
        report = self._checks.run(self._kind, exclude=request.query.getall("exclude", []))
        return _plain(200 if report.healthy else 500, report.text(verbose="verbose" in request.query))

    async def one(self, request: web.Request) -> web.Response:
        """One check by name; 404 when there is none of that name."""
        name = request.match_info["name"]
        try:
            report = self._checks.run_one(self._kind, name)
        except KeyError:
            return _plain(
                404, f"no check {name!r} here; see ?verbose of the path above for the names there are\n"
            )
        return _plain(200 if report.healthy else 500, report.text(verbose="verbose" in request.query))


def _plain(status: int, text: str) -> web.Response:
    # As the kube-apiserver's: neither cached nor taken for HTML.
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return web.Response(status=status, text=text, headers=headers)
