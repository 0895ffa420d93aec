"""The two servers that every case speaks to: a real kube-apiserver, and the embedded one."""

from __future__ import annotations

import asyncio
import http.client
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

import orjson

from openclaw.testing import ControlPlane
from openclaw.testing.cluster.cluster import FakeCluster
from openclaw.testing.cluster.request import Request, failure
from openclaw.testing.cluster.statuses import StatusError

USER_AGENT = "conformance/1"


@dataclass(frozen=True)
class Answer:
    """What a server said; `body` is parsed where it is JSON."""

    code: int
    body: Any
    warnings: tuple[str, ...] = ()

    def __getitem__(self, path: str) -> Any:
        """A value in the body: `metadata.uid`; None where there is none."""
        value = self.body
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value


@dataclass(frozen=True)
class Asked:
    """A request of a case."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = "application/json"
    accept: str = "application/json"


class Door(Protocol):
    async def send(self, asked: Asked) -> Answer: ...

    async def watch(self, asked: Asked) -> Answer:
        """The events of a watch that ends by itself (`timeoutSeconds`), or as many as `limit` asks for."""

    async def pause(self) -> None:
        """Let the server's controllers work for a moment."""


class RealDoor:
    def __init__(self, plane: ControlPlane) -> None:
        folder = plane.folder
        self._context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        self._context.load_cert_chain(folder / "admin.crt", folder / "admin.key")
        self._port = int(plane.url.rpartition(":")[2])
        self._connection = self._connect()

    def _connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("127.0.0.1", self._port, context=self._context, timeout=30)

    def close(self) -> None:
        self._connection.close()

    async def send(self, asked: Asked) -> Answer:
        try:
            answer = self._ask(self._connection, asked)
        except (http.client.HTTPException, OSError):
            # Closed by the server, as connections that were idle for long are.
            self._connection.close()
            self._connection = self._connect()
            answer = self._ask(self._connection, asked)
        return _answer(answer.status, answer.read(), _warnings(answer.headers.get_all("Warning")))

    async def watch(self, asked: Asked) -> Answer:
        connection = self._connect()
        try:
            answer = await asyncio.to_thread(self._ask, connection, asked)
            body = await asyncio.to_thread(answer.read)
        finally:
            connection.close()
        return _events(answer.status, body)

    async def pause(self) -> None:
        await asyncio.sleep(0.02)

    @staticmethod
    def _ask(connection: http.client.HTTPSConnection, asked: Asked) -> http.client.HTTPResponse:
        headers = {"Content-Type": asked.content_type, "Accept": asked.accept, "User-Agent": USER_AGENT}
        url = f"{asked.path}?{urlencode(asked.query)}" if asked.query else asked.path
        connection.request(asked.method, url, asked.body or None, headers)
        return connection.getresponse()


class FakeDoor:
    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster

    async def send(self, asked: Asked) -> Answer:
        answer = await self._cluster.server.handle(self._request(asked))
        await asyncio.sleep(0)
        return _answer(answer.status, answer.body, answer.warnings)

    async def watch(self, asked: Asked) -> Answer:
        try:
            watch = await self._cluster.server.watch(self._request(asked))
        except StatusError as error:
            return _answer(error.code, failure(error).body, ())
        body = bytearray()
        chunks = watch.chunks()
        with suppress(TimeoutError):
            async for chunk in chunks:
                body += chunk
        self._cluster.server.watching.close(watch)
        return _events(200, bytes(body))

    async def pause(self) -> None:
        await self._cluster.settled()
        await asyncio.sleep(0.01)

    @staticmethod
    def _request(asked: Asked) -> Request:
        return Request(
            asked.method,
            asked.path,
            dict(asked.query),
            body=asked.body,
            content_type=asked.content_type,
            accept=asked.accept,
            user_agent=USER_AGENT,
        )


def _answer(code: int, body: bytes, warnings: tuple[str, ...]) -> Answer:
    try:
        return Answer(code, orjson.loads(body), warnings)
    except orjson.JSONDecodeError:
        return Answer(code, body.decode(errors="replace"), warnings)


def _events(code: int, body: bytes) -> Answer:
    if code != 200:
        return _answer(code, body, ())
    try:
        events = [orjson.loads(line) for line in body.splitlines() if line]
    except orjson.JSONDecodeError:
        return Answer(code, body.decode(errors="replace"))
    # Bookmarks come with time; only that after the initial events is an answer to something.
    told = [
        one for one in events if one["type"] != "BOOKMARK" or one["object"]["metadata"].get("annotations")
    ]
    return Answer(code, told)


def _warnings(headers: list[str] | None) -> tuple[str, ...]:
    # 299 - "text"
    return tuple(orjson.loads(header.split(" ", 2)[2]) for header in headers or ())
