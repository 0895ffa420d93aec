import asyncio
from typing import Any

import pytest

from openclaw._core import Cache
from openclaw.api.openclaw import OpenClaw
from openclaw.kube.backoff import Backoff
from openclaw.kube.errors import (
    Forbidden,
    NotFound,
    ResourceExpired,
    ServiceUnavailable,
    Unauthorized,
    Unreachable,
)
from openclaw.kube.listwatch import ListWatch, WatchState
from tests.unit.kube.scripted import (
    FOREVER,
    ScriptedTransport,
    Steady,
    Watched,
    bookmark,
    error_event,
    event,
    page,
    watching,
)
from tests.unit.kube.virtual_time import virtual_time

EXPIRED = ResourceExpired(410, "Expired", "too old")
DOWN = Unreachable("connection refused")


# Listing


@virtual_time
async def test_all_pages_are_staged_and_swapped_in_at_once() -> None:
    transport = ScriptedTransport([page(7, "a", token="t1"), page(7, "b", token="t2"), page(7, "c")])
    async with watching(transport, 1, page_size=1, selectors={"labelSelector": "x=y"}) as watched:
        assert [request.query for request in transport.requests[:3]] == [
            {"labelSelector": "x=y", "limit": "1"},
            {"labelSelector": "x=y", "limit": "1", "continue": "t1"},
            {"labelSelector": "x=y", "limit": "1", "continue": "t2"},
        ]
        assert watched.sink.calls[:5] == ["begin", "page", "page", "page", "commit"]
        assert watched.batches == [(["a", "b", "c"], True)]
        assert watched.listwatch.synced.is_set()
        assert transport.requests[3].query["labelSelector"] == "x=y"


@virtual_time
async def test_an_empty_list_syncs_too_and_tells_nobody() -> None:
    async with watching(ScriptedTransport([page(7)]), 1) as watched:
        assert watched.listwatch.synced.is_set()
        assert watched.batches == []


@virtual_time
async def test_the_watch_begins_where_the_list_stands() -> None:
    transport = ScriptedTransport([page(7, "a")])
    async with watching(transport, 1, watch_seconds=100.0, idle_grace=10.0) as watched:
        watch = transport.requests[1]
        asked_for = int(watch.query.pop("timeoutSeconds"))
        assert 100 <= asked_for <= 125
        # The server's own end comes first.
        assert 10 <= watch.idle_timeout - asked_for < 11
        assert watch.query == {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": "7"}
        assert watched.listwatch.state is WatchState.WATCHING


@pytest.mark.parametrize("failure", [EXPIRED, DOWN, ServiceUnavailable(503), ValueError("no list")])
def test_a_list_that_breaks_between_pages_is_begun_anew_and_never_half_taken(failure: Exception) -> None:
    @virtual_time
    async def story() -> None:
        transport = ScriptedTransport([page(7, "a", token="t"), failure, page(9, "b")])
        async with watching(transport, 10) as watched:
            assert watched.sink.calls[:7] == ["begin", "page", "abort", "begin", "page", "commit", "reset"]
            assert watched.batches == [(["b"], True)]
            assert transport.kinds == "LLLW"
            assert "continue" not in transport.requests[2].query
            assert transport.positions == ["9"]
            assert transport.gaps[1] == 1.0

    story()


@virtual_time
async def test_a_list_that_fails_again_and_again_is_asked_for_less_and_less_often() -> None:
    transport = ScriptedTransport(rest_of_lists=DOWN)
    async with watching(transport, 200) as watched:
        assert transport.gaps == [1, 2, 4, 8, 16, 30, 30, 30, 30, 30]
        assert watched.listwatch.state is WatchState.WAITING
        assert watched.listwatch.last_error == "connection refused"
        assert not watched.listwatch.synced.is_set()
        assert set(watched.restarts) == {"error"}


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (NotFound(404), "the API server does not serve openclaws.apps.openclaw.dev: install its CRD"),
        (Forbidden(403), "the role must allow list and watch of openclaws.apps.openclaw.dev"),
        (Unauthorized(401), "the credentials are expired, or of another cluster: renew them"),
        (DOWN, "is the API server up, and"),
    ],
)
def test_the_log_names_the_way_out(error: Exception, hint: str, caplog: pytest.LogCaptureFixture) -> None:
    @virtual_time
    async def story() -> None:
        async with watching(ScriptedTransport(rest_of_lists=error), 2):
            pass

    story()
    assert any(
        getattr(record, "hint", None) == hint or hint in str(vars(record)) for record in caplog.records
    )


@virtual_time
async def test_cancelled_in_the_middle_of_a_list_it_leaves_no_half_list() -> None:
    transport = ScriptedTransport([page(7, "a", token="t")])
    watched = Watched(transport)
    task = asyncio.create_task(watched.listwatch.run())
    while len(transport.requests) < 2:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert watched.sink.calls[-1] == "abort"
    assert watched.sink.objects == set()


# Watching


@virtual_time
async def test_every_chunk_goes_to_the_sink_and_what_matters_goes_on() -> None:
    transport = ScriptedTransport(
        watches=[[event(101), event(102) + event(103), 1.0, bookmark(104), FOREVER]]
    )
    began = asyncio.get_running_loop().time()
    async with watching(transport, 3) as watched:
        assert watched.batches == [(["web"], False), (["web", "web"], False)]
        assert watched.listwatch.last_received == began + 1, "a bookmark is news of the server too"
        assert watched.sink.calls.count("feed") == 3


@virtual_time
async def test_a_watch_that_the_server_ends_goes_on_from_the_newest_position() -> None:
    transport = ScriptedTransport(
        [page(100)],
        [[event(101), 20.0, bookmark(250), 100.0], [60.0, event(260), 60.0], [60.0]],
    )
    async with watching(transport, 310) as watched:
        assert transport.kinds == "LWWWW"
        assert transport.positions == ["100", "250", "260", "260"]
        assert transport.gaps[1:] == [120, 120, 60]
        assert watched.restarts == ["closed", "closed", "closed"]
        # Half a line of the old stream must not meet the new one.
        assert watched.sink.calls.count("reset") >= 4


@virtual_time
async def test_a_server_that_closes_each_watch_at_once_is_not_hammered() -> None:
    transport = ScriptedTransport(rest_of_watches=[event(101)])
    async with watching(transport, 100) as watched:
        assert transport.gaps[1:] == [1, 2, 4, 8, 16, 30, 30]
        assert watched.listwatch.state is WatchState.WAITING
        assert transport.kinds.count("L") == 1


@virtual_time
async def test_a_broken_watch_goes_on_where_it_was_after_a_wait() -> None:
    transport = ScriptedTransport([page(100)], [[event(101), 3.0, DOWN], DOWN, DOWN])
    async with watching(transport, 60) as watched:
        assert transport.kinds == "LWWWW"
        assert transport.positions == ["100", "101", "101", "101"]
        assert transport.gaps[1:] == [4, 2, 4]
        assert watched.restarts == ["error"] * 3


@virtual_time
async def test_a_watch_that_was_open_for_a_while_begins_the_backoff_anew() -> None:
    short: list[Any] = [1.0, DOWN]
    transport = ScriptedTransport(watches=[short, short, short, [60.0, DOWN], short, short])
    async with watching(transport, 200):
        waits = [gap - lived for gap, lived in zip(transport.gaps[1:], [1, 1, 1, 60, 1, 1], strict=True)]
        assert waits == [1, 2, 4, 1, 2, 4]


@virtual_time
async def test_so_does_one_that_was_closed_after_a_while_but_not_after_a_moment() -> None:
    transport = ScriptedTransport(watches=[DOWN, DOWN, [5.0], DOWN, DOWN, [60.0], DOWN])
    async with watching(transport, 200):
        assert transport.gaps[1:8] == [1, 2, 5, 4, 8, 60, 1]


@virtual_time
async def test_a_silent_watch_counts_as_dead() -> None:
    transport = ScriptedTransport(watches=[[FOREVER]])
    async with watching(transport, 150, watch_seconds=100.0, idle_grace=10.0) as watched:
        assert transport.kinds == "LWW"
        assert 110 <= transport.gaps[1] - 1 <= 135
        assert watched.restarts == ["error"]


@virtual_time
async def test_one_namespace_is_one_path() -> None:
    paths: list[str] = []

    class Paths(ScriptedTransport):
        async def request(self, method: str, path: str, **options: Any) -> Any:
            paths.append(path)
            return await super().request(method, path, **options)

    async with watching(Paths(), 1, namespace="shop"):
        assert paths == ["/apis/apps.openclaw.dev/v1alpha1/namespaces/shop/openclaws"]


@virtual_time
async def test_the_real_cache_is_a_sink() -> None:
    cache = Cache()
    number = cache.subscribe(b'{"always":{}}', b'{"self":{}}')
    deltas: list[tuple[str, str, bool]] = []

    def on_batch(batch: Any, first: bool) -> None:
        deltas.extend((name, reason, first) for _, _, name, reason, _ in batch.deltas)

    whole = event(101, name="b")
    transport = ScriptedTransport(
        [page(100, "a", token="t"), page(100, "z")], [[whole[:30], whole[30:], error_event(410, "Expired")]]
    )
    listwatch = ListWatch(transport, OpenClaw.resource, cache, on_batch, backoff=Backoff(1.0, rng=Steady()))
    task = asyncio.create_task(listwatch.run())
    await asyncio.sleep(10)
    assert number == 0
    assert deltas[:3] == [("a", "added", True), ("z", "added", True), ("b", "added", False)]
    assert {(name, reason) for name, reason, _ in deltas[3:]} == {
        ("a", "deleted"),
        ("b", "deleted"),
        ("z", "deleted"),
    }
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
