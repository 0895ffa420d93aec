"""An HTTP server on loopback that answers as a test says, and kubeconfigs that lead to it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import yaml
from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ApiStandIn:
    """Attributes:
    answer: called for every request.
    requests: `METHOD /path?query` of each.
    authorizations: the Authorization header of each.
    bodies: the body of each.
    url: where it listens.
    """

    def __init__(self) -> None:
        self.answer: Answer = ok
        self.requests: list[str] = []
        self.authorizations: list[str | None] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self.url = ""
        self.gone = asyncio.Event()
        """A client went away while it was being answered."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path_qs}")
        self.authorizations.append(request.headers.get("Authorization"))
        self.headers.append(dict(request.headers))
        self.bodies.append(await request.read())
        try:
            return await self.answer(request)
        except asyncio.CancelledError:
            self.gone.set()
            raise


@asynccontextmanager
async def serving(context: ssl.SSLContext | None = None) -> AsyncIterator[ApiStandIn]:
    api = ApiStandIn()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", api.handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        port = runner.addresses[0][1]
        api.url = f"{'https' if context else 'http'}://127.0.0.1:{port}"
        yield api
    finally:
        await runner.cleanup()


async def ok(_: web.Request) -> web.StreamResponse:
    return web.json_response({"kind": "ConfigMap"})


def status(code: int, reason: str = "", message: str = "", **details: Any) -> Answer:
    """A failure as the API server tells it."""

    async def answer(_: web.Request) -> web.StreamResponse:
        body = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "code": code,
            "reason": reason,
            "message": message,
            "details": details,
        }
        return web.Response(status=code, body=orjson.dumps(body), content_type="application/json")

    return answer


def plain(code: int, text: str = "", **headers: str) -> Answer:
    """An answer of something in between."""

    async def answer(_: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=code, text=text, headers=named)

    return answer


def needs_token(*good: str) -> Answer:
    """Only requests with one of these tokens are welcome."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") in {f"Bearer {token}" for token in good}:
            return await ok(request)
        return await status(401, "Unauthorized", "Unauthorized")(request)

    return answer


def kubeconfig(
    path: Path,
    server: str | None,
    *,
    user: dict[str, Any] | None = None,
    cluster: dict[str, Any] | None = None,
    context: dict[str, Any] | None = None,
    name: str = "test",
    **parts: Any,
) -> Path:
    """Write a kubeconfig of one context."""
    where = {"server": server} if server else {}
    content: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, **(context or {})}}],
        "clusters": [{"name": name, "cluster": {**where, **(cluster or {})}}],
        "users": [{"name": name, "user": user or {}}],
        **parts,
    }
    path.write_text(yaml.safe_dump(content))
    return path


def streaming(*chunks: bytes, then: str = "end") -> Answer:
    """Send chunks; then end, hang, or cut the connection."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        if then == "hang":
            await asyncio.Event().wait()
        if then == "cut":
            assert request.transport is not None
            request.transport.abort()
        return response

    return answer
