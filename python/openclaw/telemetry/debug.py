"""An opt-in page about what the process is doing right now: JSON for tools, a plain page for people.

It shows object names and error texts, so it listens on loopback unless a host is named, and answers only
requests that name a host of ours: a web page that somebody visits must not be able to read it.
"""

from __future__ import annotations

import html
import ipaddress
from collections.abc import Callable, Mapping
from typing import Any, Final, Self

import orjson
from aiohttp import web

from openclaw.telemetry.listener import Address, Listener
from openclaw.telemetry.redact import redact_value

__all__ = ["DebugServer"]

_LOOPBACK: Final = "127.0.0.1"
_STOP_SECONDS: Final = 2.0
_STYLE: Final = (
    "body{font:14px/1.5 monospace;margin:2em}table{border-collapse:collapse;margin:0 0 1em}"
    "td,th{border:1px solid #ccc;padding:.2em .6em;text-align:left;vertical-align:top}"
)
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
}


class DebugServer:
    """Serves `/debug` (a page) and `/debug.json`; use it as an async context manager.

    Args:
        address: where to listen; an empty host is the loopback interface.
        snapshot: what there is to show, as JSON values. Secrets are taken out of it here.
    """

    def __init__(self, address: Address, snapshot: Callable[[], Mapping[str, Any]]) -> None:
        self._wanted = Address(address.host or _LOOPBACK, address.port)
        self._snapshot = snapshot
        self._listener = Listener(self._wanted, purpose="the debug page", flag="--debug-address")

    @property
    def address(self) -> Address:
        """Where it listens; with the true port once it is started."""
        return self._listener.address

    async def __aenter__(self) -> Self:
        """Begin to listen.

        Raises:
            BindError: the address cannot be listened on.
        """
        app = web.Application(middlewares=[self._only_our_host])
        app.router.add_get("/debug", self._page)
        app.router.add_get("/debug.json", self._json)
        await self._listener.start(app)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listener.stop()

    @web.middleware
    async def _only_our_host(self, request: web.Request, handler: Any) -> web.StreamResponse:
        host = request.url.host or ""
        if host not in ("localhost", self._wanted.host) and not _is_address(host):
            return web.Response(status=403, text="ask for localhost or an IP address\n", headers=_HEADERS)
        response: web.StreamResponse = await handler(request)
        return response

    async def _json(self, _: web.Request) -> web.Response:
        return web.Response(
            body=orjson.dumps(self._read(), option=orjson.OPT_INDENT_2, default=str),
            content_type="application/json",
            headers=_HEADERS,
        )

    async def _page(self, _: web.Request) -> web.Response:
        body = "".join(f"<h2>{html.escape(name)}</h2>{_table(part)}" for name, part in self._read().items())
        text = f"<!doctype html><title>openclaw</title><style>{_STYLE}</style>{body}"
        return web.Response(text=text, content_type="text/html", headers=_HEADERS)

    def _read(self) -> dict[str, Any]:
        redacted: dict[str, Any] = redact_value(dict(self._snapshot()))
        return redacted


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _table(value: Any) -> str:
    """Maps as rows of name and value, lists of maps as tables with a head."""
    if isinstance(value, Mapping):
        rows = "".join(
            f"<tr><th>{html.escape(str(name))}</th><td>{_table(item)}</td></tr>"
            for name, item in value.items()
        )
        return f"<table>{rows}</table>"
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        head = "".join(f"<th>{html.escape(str(name))}</th>" for name in value[0])
        rows = "".join(
            "<tr>" + "".join(f"<td>{_table(item.get(name))}</td>" for name in value[0]) + "</tr>"
            for item in value
        )
        return f"<table><tr>{head}</tr>{rows}</table>"
    if isinstance(value, list):
        return "<br>".join(html.escape(str(item)) for item in value) or "none"
    return html.escape("-" if value is None else str(value))
