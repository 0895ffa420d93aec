"""Serves /metrics, /healthz and /readyz over HTTP."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from aiohttp import web

from openclaw.telemetry.health import Health, HealthChecks
from openclaw.telemetry.listener import Address, BindError, Listener
from openclaw.telemetry.metrics import Metrics

__all__ = ["Address", "BindError", "TelemetryServer"]


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
        self._listener = Listener(address, purpose="metrics and health", flag=flag)
        self._metrics = metrics
        self._health = health

    @property
    def address(self) -> Address:
        """Where it listens; with the true port once it is started."""
        return self._listener.address

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
        await self._listener.start(app)

    async def stop(self) -> None:
        """Stop listening, after the answers under way, or 2 seconds."""
        await self._listener.stop()

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
