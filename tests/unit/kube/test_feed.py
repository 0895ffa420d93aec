import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import orjson
import pytest
from aiohttp import web

from openclaw._core import Cache
from openclaw.api.kinds import ResourceKind
from openclaw.kube.config import ConfigSource
from openclaw.kube.errors import ResourceExpired, Unreachable
from openclaw.kube.listwatch import ListWatch
from openclaw.kube.sink import Batch
from openclaw.kube.transport import Transport
from tests.unit.kube.api_stand_in import ApiStandIn, kubeconfig, serving, status, streaming
from tests.unit.kube.scripted import ScriptedTransport, bookmark, error_event

WIDGETS = ResourceKind(group="x.example.com", version="v1", kind="Widget", plural="widgets")


def line(type_: str, name: str, version: int, generation: int = 1) -> bytes:
    metadata = {
        "namespace": "shop",
        "name": name,
        "uid": f"uid-{name}",
        "resourceVersion": str(version),
        "generation": generation,
    }
    return orjson.dumps({"type": type_, "object": {"metadata": metadata}}) + b"\n"


def page(version: int) -> bytes:
    return orjson.dumps({"metadata": {"resourceVersion": str(version)}, "items": []})


@pytest.fixture
async def api() -> AsyncIterator[ApiStandIn]:
    async with serving() as api:
        yield api


@pytest.fixture
async def transport(api: ApiStandIn, tmp_path: Path) -> AsyncIterator[Transport]:
    async with Transport(ConfigSource(kubeconfig(tmp_path / "config", api.url))) as transport:
        yield transport


@pytest.fixture
def cache() -> Cache:
    cache = Cache()
    cache.subscribe(b'{"generation":{}}', b'{"self":{}}')
    return cache


hanging = partial(streaming, then="hang")


class Told(list[tuple[str, str]]):
    """The names and reasons of deltas, in order."""

    def batch(self, batch: Batch) -> None:
        self.extend((name, reason) for _, _, name, reason, _ in batch.deltas)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


async def test_what_matters_is_told_and_the_rest_stays_in_the_cache(
    api: ApiStandIn, transport: Transport, cache: Cache
) -> None:
    api.answer = hanging(
        line("ADDED", "a", 5),
        line("MODIFIED", "a", 6),
        line("ADDED", "b", 7),
        line("MODIFIED", "b", 8),
        bookmark(9),
    )
    told = Told()
    async with transport.feed(
        "/widgets", cache, told.batch, query={"watch": "true"}, idle_timeout=10
    ) as feed:
        await until(lambda: feed.position == "9")
        await until(lambda: len(told) == 2)
        assert feed.silence is not None
    assert told == [("a", "added"), ("b", "added")]
    assert cache.resource_version("shop", "b") == "8"
    assert cache.stats()["events_dropped"] == 2
    await asyncio.wait_for(api.gone.wait(), 10)


async def test_it_ends_when_the_server_ends_it(api: ApiStandIn, transport: Transport, cache: Cache) -> None:
    api.answer = streaming(line("ADDED", "a", 5), then="end")
    told = Told()
    async with transport.feed("/widgets", cache, told.batch, query={}, idle_timeout=10) as feed:
        await asyncio.wait_for(feed.ended(), 10)
        assert told == [("a", "added")]


async def test_it_says_how_it_broke(api: ApiStandIn, transport: Transport, cache: Cache) -> None:
    api.answer = streaming(line("ADDED", "a", 5), then="cut")
    told = Told()
    async with transport.feed("/widgets", cache, told.batch, query={}, idle_timeout=10) as feed:
        with pytest.raises(Unreachable, match="WATCH /widgets: "):
            await asyncio.wait_for(feed.ended(), 10)
    assert told == [("a", "added")]


async def test_silence_ends_it(api: ApiStandIn, transport: Transport, cache: Cache) -> None:
    api.answer = hanging(line("ADDED", "a", 5))
    async with transport.feed("/widgets", cache, Told().batch, query={}, idle_timeout=0.1) as feed:
        with pytest.raises(Unreachable, match="nothing was received for too long"):
            await asyncio.wait_for(feed.ended(), 10)
    await asyncio.wait_for(api.gone.wait(), 10)


async def test_a_refusal_is_an_error_of_its_class(
    api: ApiStandIn, transport: Transport, cache: Cache
) -> None:
    api.answer = status(410, "Expired", "too old resource version")
    with pytest.raises(ResourceExpired, match="WATCH /widgets: 410 Expired"):
        async with transport.feed("/widgets", cache, Told().batch, query={}, idle_timeout=10):
            pass


async def test_closing_the_transport_ends_it(api: ApiStandIn, transport: Transport, cache: Cache) -> None:
    api.answer = hanging(line("ADDED", "a", 5))
    async with transport.feed("/widgets", cache, Told().batch, query={}, idle_timeout=10) as feed:
        await transport.close()
        with pytest.raises(Unreachable, match="the transport is closed"):
            await asyncio.wait_for(feed.ended(), 10)


async def test_what_is_in_the_cache_is_told_before_it_stops_and_nothing_goes_there_after(
    api: ApiStandIn, transport: Transport, cache: Cache
) -> None:
    more = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(line("ADDED", "a", 5))
        await more.wait()
        await response.write(line("ADDED", "b", 6))
        await asyncio.Event().wait()
        return response

    api.answer = answer
    told = Told()
    async with transport.feed("/widgets", cache, told.batch, query={}, idle_timeout=10) as feed:
        await until(lambda: api.requests)
        # The server is of this loop: its answer goes out in a turn of it, and is heard of in a later one.
        while not len(cache):
            await asyncio.sleep(0)
        feed.stop()
        assert told == [("a", "added")]
        more.set()
        await asyncio.wait_for(api.gone.wait(), 10)
    assert len(cache) == 1
    assert told == [("a", "added")]


async def test_a_fault_of_the_reader_loses_no_delta(
    api: ApiStandIn, transport: Transport, cache: Cache
) -> None:
    api.answer = hanging(line("ADDED", "a", 5) + line("ADDED", "b", 6))
    told = Told()

    def fail_once(batch: Batch) -> None:
        told.batch(batch)
        if len(told) < 3:
            raise ValueError("a fault")

    async with transport.feed("/widgets", cache, fail_once, query={}, idle_timeout=10) as feed:
        with pytest.raises(ValueError, match="a fault"):
            await asyncio.wait_for(feed.ended(), 10)
    assert sorted(told) == [("a", "added"), ("b", "added")]


# The list-watch


async def test_a_list_watch_takes_this_way(api: ApiStandIn, transport: Transport, cache: Cache) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.Response(body=page(4), content_type="application/json")
        if request.query["resourceVersion"] == "4":
            return await streaming(line("ADDED", "a", 5), bookmark(9), then="end")(request)
        return await hanging(line("MODIFIED", "a", 10, generation=2))(request)

    api.answer = answer
    told = Told()
    restarts: list[str] = []
    listwatch = ListWatch(
        transport,
        WIDGETS,
        cache,
        lambda batch, _: told.batch(batch),
        on_restart=restarts.append,
    )
    task = asyncio.create_task(listwatch.run())
    await until(lambda: len(told) == 2)
    assert told == [("a", "added"), ("a", "updated")]
    assert [request.partition("resourceVersion=")[2].partition("&")[0] for request in api.requests] == [
        "",
        "4",
        "9",
    ]
    assert restarts == ["closed"]
    assert listwatch.last_received is not None
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(api.gone.wait(), 10)


async def test_an_error_event_that_the_position_is_too_old_leads_to_a_list(
    api: ApiStandIn, transport: Transport, cache: Cache
) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.Response(body=page(4), content_type="application/json")
        return await hanging(error_event(410, "Expired"))(request)

    api.answer = answer
    restarts: list[str] = []
    listwatch = ListWatch(transport, WIDGETS, cache, lambda *_: None, on_restart=restarts.append)
    task = asyncio.create_task(listwatch.run())
    await until(lambda: sum("watch" not in request for request in api.requests) == 2)
    assert set(restarts) == {"expired"}
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_transport_with_streams_of_its_own_is_read_by_them() -> None:
    assert Transport.feeds
    assert not ScriptedTransport.feeds
