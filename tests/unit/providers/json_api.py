"""A JSON API that holds records, over HTTP on loopback, with faults by plan."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Fault = Callable[[web.Request], Awaitable[web.StreamResponse | None]]


@dataclass
class JsonApi:
    """Records under `/v1/records`, made by POST (it chooses ids) or by PUT (the caller does).

    Attributes:
        records: by id.
        seen: method and path of each request.
        headers: of the last request.
        token: what it takes; "" for anybody.
        before: asked first; answers in its place where it returns something.
        after: the same, once the effect is there.
    """

    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    bodies: list[Any] = field(default_factory=list)
    token: str = ""
    before: Fault | None = None
    after: Fault | None = None
    url: str = ""
    made: int = 0

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._around])
        app.router.add_get("/v1/health", self._health)
        app.router.add_get("/v1/records", self._list)
        app.router.add_post("/v1/records", self._post)
        app.router.add_get("/v1/records/{id}", self._get)
        app.router.add_put("/v1/records/{id}", self._put)
        app.router.add_patch("/v1/records/{id}", self._patch)
        app.router.add_delete("/v1/records/{id}", self._delete)
        return app

    @web.middleware
    async def _around(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        self.seen.append(f"{request.method} {request.raw_path}")
        self.headers = dict(request.headers)
        self.bodies.append(await request.json() if request.can_read_body else None)
        if self.before is not None and (answer := await self.before(request)) is not None:
            return answer
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.json_response(
                {"error": f"bad credentials {request.headers.get('Authorization')}"}, status=401
            )
        answer = await handler(request)
        if self.after is not None and (instead := await self.after(request)) is not None:
            return instead
        return answer

    async def _health(self, _: web.Request) -> web.Response:
        return web.json_response({})

    async def _list(self, request: web.Request) -> web.Response:
        owner = request.query.get("owner")
        items = [it for it in self.records.values() if owner is None or it.get("owner") == owner]
        return web.json_response({"items": items})

    async def _post(self, request: web.Request) -> web.Response:
        self.made += 1
        identity = f"r-{self.made}"
        self.records[identity] = {**await request.json(), "id": identity, "serial": 1}
        return web.json_response({"data": self.records[identity]}, status=201)

    async def _get(self, request: web.Request) -> web.Response:
        found = self.records.get(request.match_info["id"])
        if found is None:
            return web.json_response({"error": "no such record"}, status=404)
        return web.json_response({"data": found})

    async def _put(self, request: web.Request) -> web.Response:
        identity = request.match_info["id"]
        existed = identity in self.records
        self.made += not existed
        self.records[identity] = {**await request.json(), "id": identity, "serial": 1}
        return web.json_response({"data": self.records[identity]}, status=200 if existed else 201)

    async def _patch(self, request: web.Request) -> web.Response:
        found = self.records.get(request.match_info["id"])
        if found is None:
            return web.json_response({}, status=404)
        found |= await request.json()
        return web.json_response({"data": found})

    async def _delete(self, request: web.Request) -> web.Response:
        if self.records.pop(request.match_info["id"], None) is None:
            return web.json_response({}, status=404)
        return web.Response(status=204)


@asynccontextmanager
async def serving(api: JsonApi) -> AsyncIterator[JsonApi]:
    """Listen on loopback for the block."""
    runner = web.AppRunner(api.app(), handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    api.url = f"http://{host}:{port}/v1"
    try:
        yield api
    finally:
        await runner.cleanup()
        await asyncio.sleep(0)
