"""A transport and a sink for list-watch tests: the one plays what it was told, the other writes down."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import orjson
import pytest

from openclaw.api.openclaw import OpenClaw
from openclaw.kube.backoff import Backoff
from openclaw.kube.errors import Unreachable
from openclaw.kube.listwatch import ListWatch, WatchState
from openclaw.kube.transport import Response, Transport

Step = bytes | float | Exception
"""Of a watch: a chunk that comes, seconds in which nothing comes, or how it breaks. Then it is closed."""

FOREVER = float("inf")


def event(version: int, type_: str = "ADDED", name: str = "web") -> bytes:
    return line(type_, {"metadata": {"namespace": "shop", "name": name, "resourceVersion": str(version)}})


def bookmark(version: int) -> bytes:
    return line("BOOKMARK", {"metadata": {"resourceVersion": str(version)}})


def error_event(code: int, reason: str, **details: Any) -> bytes:
    return line("ERROR", {"kind": "Status", "code": code, "reason": reason, "details": details})


def line(type_: str, obj: dict[str, Any]) -> bytes:
    return orjson.dumps({"type": type_, "object": obj}) + b"\n"


def page(version: int, *names: str, token: str = "") -> bytes:
    items = [{"metadata": {"namespace": "shop", "name": name, "resourceVersion": "1"}} for name in names]
    return orjson.dumps({"metadata": {"resourceVersion": str(version), "continue": token}, "items": items})


@dataclass
class Request:
    at: float
    query: dict[str, str]
    idle_timeout: float = 0.0

    @property
    def is_watch(self) -> bool:
        return "watch" in self.query


class ScriptedTransport(Transport):
    """Plays `lists` and `watches`, one a request; when they are used up, what `rest` says.

    Attributes:
        requests: what was asked for, and when.
        open_streams: watches that are not closed.
    """

    def __init__(
        self,
        lists: Iterable[bytes | Exception] = (),
        watches: Iterable[Exception | list[Step]] = (),
        *,
        rest_of_lists: bytes | Exception | None = None,
        rest_of_watches: Exception | list[Step] | None = None,
    ) -> None:
        super().__init__()
        self._lists = list(lists)
        self._watches = list(watches)
        self._rest_of_lists = rest_of_lists or page(100)
        self._rest_of_watches: Exception | list[Step] = rest_of_watches or [FOREVER]
        self.requests: list[Request] = []
        self.open_streams = 0

    @property
    def kinds(self) -> str:
        """The requests in short: `L` and `W`."""
        return "".join("W" if request.is_watch else "L" for request in self.requests)

    @property
    def gaps(self) -> list[float]:
        """Seconds between one request and the next."""
        times = [request.at for request in self.requests]
        return [later - earlier for earlier, later in pairwise(times)]

    @property
    def positions(self) -> list[str]:
        """Where each watch began."""
        return [request.query["resourceVersion"] for request in self.requests if request.is_watch]

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
        assert method == "GET"
        self.requests.append(Request(asyncio.get_running_loop().time(), dict(query or {})))
        answer = self._lists.pop(0) if self._lists else self._rest_of_lists
        await asyncio.sleep(0)
        if isinstance(answer, Exception):
            raise answer
        return Response(200, answer)

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        self.requests.append(Request(asyncio.get_running_loop().time(), dict(query), idle_timeout))
        script = self._watches.pop(0) if self._watches else self._rest_of_watches
        await asyncio.sleep(0)
        if isinstance(script, Exception):
            raise script
        self.open_streams += 1
        try:
            yield self._play(script, idle_timeout)
        finally:
            self.open_streams -= 1

    async def _play(self, script: list[Step], idle_timeout: float) -> AsyncIterator[bytes]:
        for step in script:
            if isinstance(step, Exception):
                raise step
            if isinstance(step, bytes):
                yield step
            elif step > idle_timeout:
                await asyncio.sleep(idle_timeout)
                raise Unreachable("nothing was received for too long")
            else:
                await asyncio.sleep(step)


@dataclass
class Batch:
    deltas: list[tuple[int, str, str, str, str]] = field(default_factory=list)
    resource_version: str | None = None
    error: bytes | None = None


@dataclass
class ListPage:
    resource_version: str
    continue_token: str


class RecordingSink:
    """Understands whole lines only.

    Attributes:
        calls: what was called, in order: `begin`, `page`, `commit`, `abort`, `reset`, `feed`.
        objects: names, as a reader would see them.
        poison: raised by the next feed.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.objects: set[str] = set()
        self.poison: Exception | None = None
        self._staged: set[str] | None = None
        self._version = ""

    def feed(self, chunk: bytes) -> Batch:
        self.calls.append("feed")
        if self.poison is not None:
            poison, self.poison = self.poison, None
            raise poison
        batch = Batch()
        for text in chunk.splitlines():
            parsed = orjson.loads(text)
            obj = parsed["object"]
            if parsed["type"] == "ERROR":
                batch.error = orjson.dumps(obj)
                continue
            batch.resource_version = obj["metadata"]["resourceVersion"]
            if parsed["type"] != "BOOKMARK":
                self.objects.add(obj["metadata"]["name"])
                batch.deltas.append((0, "shop", obj["metadata"]["name"], "updated", "u"))
        return batch

    def reset_stream(self) -> int:
        self.calls.append("reset")
        return 0

    def begin_relist(self, slots: Iterable[int] | None = None) -> None:
        assert slots is None
        self.calls.append("begin")
        assert self._staged is None, "the last relist was neither committed nor aborted"
        self._staged = set()

    def feed_list(self, page: bytes) -> ListPage:
        self.calls.append("page")
        assert self._staged is not None
        parsed = orjson.loads(page)
        self._staged |= {item["metadata"]["name"] for item in parsed["items"]}
        self._version = parsed["metadata"]["resourceVersion"]
        return ListPage(self._version, parsed["metadata"]["continue"])

    def commit_relist(self) -> Batch:
        self.calls.append("commit")
        assert self._staged is not None
        changed = self._staged ^ self.objects
        self.objects, self._staged = self._staged, None
        return Batch([(0, "shop", name, "updated", "u") for name in sorted(changed)], self._version)

    def abort_relist(self) -> None:
        self.calls.append("abort")
        self._staged = None

    # Tests of slots use the real cache.

    def begin_gain(self, slots: Iterable[int]) -> None:
        raise AssertionError(slots)

    def drop(self, slots: Iterable[int]) -> None:
        raise AssertionError(slots)

    @property
    def kept(self) -> frozenset[int]:
        return frozenset()

    def stats(self) -> Mapping[str, int]:
        return {"events_foreign": 0, "objects_foreign": 0, "objects_listed": 0}


class Steady(random.Random):
    """Backoffs with it have no jitter: 1, 2, 4 …"""

    def random(self) -> float:
        return 1.0


class Watched:
    """A list-watch under way and what it told."""

    def __init__(
        self, transport: ScriptedTransport, sink: RecordingSink | None = None, **options: Any
    ) -> None:
        self.transport = transport
        self.sink = sink or RecordingSink()
        self.batches: list[tuple[list[str], bool]] = []
        self.restarts: list[str] = []
        self.listwatch = ListWatch(
            transport,
            OpenClaw.resource,
            self.sink,
            self._on_batch,
            on_restart=self.restarts.append,
            backoff=Backoff(1.0, 30.0, rng=Steady()),
            clock=asyncio.get_running_loop().time,
            **options,
        )

    def _on_batch(self, batch: Any, first: bool) -> None:
        self.batches.append(([delta[2] for delta in batch.deltas], first))


@asynccontextmanager
async def watching(
    transport: ScriptedTransport, seconds: float, sink: RecordingSink | None = None, **options: Any
) -> AsyncIterator[Watched]:
    """Let a list-watch run for so many seconds, look at it, then cancel it."""
    watched = Watched(transport, sink, **options)
    task = asyncio.create_task(watched.listwatch.run())
    await asyncio.sleep(seconds)
    assert not task.done()
    yield watched
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert watched.listwatch.state is WatchState.STOPPED
    assert watched.listwatch.disconnected_since is not None
    assert transport.open_streams == 0
