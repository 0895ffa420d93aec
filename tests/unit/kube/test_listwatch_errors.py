import asyncio
import itertools
from typing import Any

import pytest

from openclaw.kube.errors import (
    ResourceExpired,
    TooManyRequests,
    Unreachable,
)
from openclaw.kube.listwatch import WatchState
from tests.unit.kube.scripted import (
    FOREVER,
    Batch,
    RecordingSink,
    ScriptedTransport,
    Watched,
    error_event,
    event,
    page,
    watching,
)
from tests.unit.kube.virtual_time import virtual_time

EXPIRED = ResourceExpired(410, "Expired", "too old")
DOWN = Unreachable("connection refused")


# Expired positions


@pytest.mark.parametrize(
    "watch",
    [
        EXPIRED,
        [error_event(410, "Expired")],
        [error_event(410, "Gone")],
        [error_event(422, "Invalid")],
        [event(101) + error_event(410, "Expired")],
    ],
)
def test_an_expired_position_leads_to_a_list(watch: Any) -> None:
    @virtual_time
    async def story() -> None:
        transport = ScriptedTransport([page(100, "web"), page(500, "web", "b")], [watch])
        async with watching(transport, 10) as watched:
            assert transport.kinds == "LWLW"
            assert transport.positions == ["100", "500"]
            assert watched.sink.objects == {"web", "b"}
            assert watched.batches[0] == (["web"], True)
            assert watched.batches[-1] == (["b"], False)  # not initial: the first list is done
            assert watched.restarts == ["expired"]

    story()


@virtual_time
async def test_a_position_that_expires_after_a_good_while_is_listed_at_once() -> None:
    transport = ScriptedTransport(watches=[[60.0, error_event(410, "Expired")]])
    async with watching(transport, 65):
        assert transport.kinds == "LWLW"
        assert transport.gaps[1] == 60


@virtual_time
async def test_positions_that_expire_at_once_do_not_become_a_storm_of_lists() -> None:
    transport = ScriptedTransport(rest_of_watches=EXPIRED)
    async with watching(transport, 100):
        lists = [request.at for request in transport.requests if not request.is_watch]
        gaps = [later - earlier for earlier, later in itertools.pairwise(lists)]
        assert gaps == [1, 2, 4, 8, 16, 30, 30]


# Errors in the stream


@pytest.mark.parametrize(("named", "waited"), [(7, 7), (0, 1), (100_000, 300)])
def test_the_server_may_name_the_wait_within_reason(named: int, waited: float) -> None:
    @virtual_time
    async def story() -> None:
        transport = ScriptedTransport(watches=[TooManyRequests(429, retry_after=named)])
        async with watching(transport, 1000):
            assert transport.gaps[1] == waited

    story()


@virtual_time
async def test_the_wait_may_be_named_inside_of_the_stream() -> None:
    error = error_event(429, "TooManyRequests", retryAfterSeconds=9)
    transport = ScriptedTransport(watches=[[error]])
    async with watching(transport, 100):
        assert transport.gaps[1] == 9
        assert transport.kinds == "LWW"


@virtual_time
async def test_a_position_that_the_server_cannot_get_past_leads_to_a_list() -> None:
    broken: list[Any] = [error_event(500, "InternalError")]
    transport = ScriptedTransport([page(100), page(200)], [broken, broken, broken])
    async with watching(transport, 100) as watched:
        assert transport.kinds == "LWWWLW"
        assert transport.positions == ["100", "100", "100", "200"]
        assert watched.listwatch.last_error is None


@virtual_time
async def test_a_server_that_throttles_or_is_down_is_not_asked_for_lists() -> None:
    throttled: list[Any] = [error_event(429, "TooManyRequests")]
    transport = ScriptedTransport(watches=[throttled] * 5 + [DOWN] * 5)
    async with watching(transport, 185):
        assert transport.kinds == "L" + "W" * 11


@virtual_time
async def test_progress_between_errors_is_progress() -> None:
    watches: list[Any] = [[event(101 + n), error_event(500, "InternalError")] for n in range(5)]
    transport = ScriptedTransport(watches=watches)
    async with watching(transport, 200):
        assert transport.kinds == "L" + "W" * 6
        assert transport.positions[-1] == "105"


@virtual_time
async def test_an_error_without_sense_is_an_error_all_the_same() -> None:
    class Sink(RecordingSink):
        def feed(self, chunk: bytes) -> Batch:
            return Batch(error=chunk)

    transport = ScriptedTransport(watches=[[b"no json"], [b"[]"]])
    async with watching(transport, 20, Sink()):
        assert transport.kinds == "LWWW"


# Faults of ours


@virtual_time
async def test_a_fault_of_ours_is_no_end_but_a_new_list() -> None:
    transport = ScriptedTransport([page(100), page(200)], [[event(101)]])
    sink = RecordingSink()
    sink.poison = RuntimeError("a fault")
    async with watching(transport, 10, sink) as watched:
        assert transport.kinds == "LWLW"
        assert watched.restarts == ["error"]
        assert watched.listwatch.disconnected_since is None


@virtual_time
async def test_a_lasting_fault_of_ours_does_not_become_a_storm_of_lists() -> None:
    transport = ScriptedTransport(rest_of_watches=[event(101)])

    class Poisoned(RecordingSink):
        def feed(self, chunk: bytes) -> Batch:
            raise RuntimeError("a fault")

    async with watching(transport, 100, Poisoned()):
        assert transport.kinds == "LW" * 8


# What readiness looks at


@virtual_time
async def test_disconnected_since_is_true_at_every_moment() -> None:
    loop = asyncio.get_running_loop()
    transport = ScriptedTransport(
        [DOWN, page(100)], [DOWN, [event(101), 30.0, DOWN], DOWN, DOWN, [20.0], [FOREVER]]
    )
    watched = Watched(transport)
    began = loop.time()
    listwatch = watched.listwatch
    assert listwatch.disconnected_since == began
    assert listwatch.state is WatchState.STOPPED
    seen: list[tuple[float, WatchState, float | None]] = []

    async def look(at: float) -> None:
        await asyncio.sleep(began + at - loop.time())
        since = listwatch.disconnected_since
        seen.append((at, listwatch.state, None if since is None else since - began))

    task = asyncio.create_task(listwatch.run())
    # 0 list fails, 1 list and watch fails, 3 watch, 33 breaks, 34 fails, 36 fails, 40 watch, 60 closed, watch
    for moment in (0.5, 1.5, 3.5, 33.5, 35.0, 39.0, 41.0, 61.0):
        await look(moment)
    assert seen == [
        (0.5, WatchState.WAITING, 0.0),
        (1.5, WatchState.WAITING, 0.0),
        (3.5, WatchState.WATCHING, None),
        (33.5, WatchState.WAITING, 33.0),
        (35.0, WatchState.WAITING, 33.0),
        (39.0, WatchState.WAITING, 33.0),
        (41.0, WatchState.WATCHING, None),
        (61.0, WatchState.WATCHING, None),
    ]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@virtual_time
async def test_the_last_error_goes_when_the_watch_is_back() -> None:
    transport = ScriptedTransport(watches=[DOWN])
    async with watching(transport, 0.5) as watched:
        assert watched.listwatch.last_error == "connection refused"
        await asyncio.sleep(5)
        assert watched.listwatch.last_error is None
