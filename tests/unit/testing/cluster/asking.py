"""Requests of tests to a cluster in process: parsed answers, refusals as errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import orjson

from openclaw.testing.cluster.cluster import FakeCluster
from openclaw.testing.cluster.transport import InProcessTransport

Object = dict[str, Any]

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
_JSON = "application/json"
EPOCH = 1_800_000_000.0


class Asking:
    """Speaks to a cluster by paths."""

    def __init__(self, cluster: FakeCluster, transport: InProcessTransport) -> None:
        self.cluster = cluster
        self.transport = transport

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        **query: str,
    ) -> Object:
        content = None if body is None else orjson.dumps(body)
        answer = await self.transport.request(
            method, path, query=query, body=content, content_type=content_type
        )
        parsed: Object = orjson.loads(answer.body)
        return parsed

    async def get(self, path: str, **query: str) -> Object:
        return await self.send("GET", path, **query)

    async def post(self, path: str, body: Object, **query: str) -> Object:
        return await self.send("POST", path, body, **query)

    async def put(self, path: str, body: Object, **query: str) -> Object:
        return await self.send("PUT", path, body, **query)

    async def merge(self, path: str, patch: Object, **query: str) -> Object:
        return await self.send("PATCH", path, patch, content_type="application/merge-patch+json", **query)

    async def delete(self, path: str, options: Object | None = None, **query: str) -> Object:
        return await self.send("DELETE", path, options, **query)

    async def config_map(self, name: str, **metadata: Any) -> Object:
        return await self.post(CONFIG_MAPS, {"metadata": {"name": name, **metadata}})


@asynccontextmanager
async def asked(**options: Any) -> AsyncIterator[Asking]:
    async with FakeCluster(epoch=EPOCH, **options) as cluster:
        yield Asking(cluster, cluster.transport())


class Events:
    """Reads a watch event by event."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._lines: list[bytes] = []

    async def next(self) -> tuple[str, Object]:
        while not self._lines:
            self._lines = (await anext(self._chunks)).splitlines()
        event = orjson.loads(self._lines.pop(0))
        return event["type"], event["object"]

    async def named(self, count: int) -> list[tuple[str, str]]:
        found = [await self.next() for _ in range(count)]
        return [(kind, obj["metadata"].get("name", "")) for kind, obj in found]

    async def ended(self) -> bool:
        if self._lines:
            return False
        try:
            await anext(self._chunks)
        except StopAsyncIteration:
            return True
        return False


@asynccontextmanager
async def watching(ask: Asking, path: str = CONFIG_MAPS, **query: str) -> AsyncIterator[Events]:
    asked_for: Mapping[str, str] = {"watch": "true", **query}
    async with ask.transport.stream(path, query=asked_for, idle_timeout=3600) as chunks:
        yield Events(chunks)
