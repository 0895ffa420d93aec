"""Slots that come and go while a list-watch runs, with the real cache."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from openclaw._core import Cache, slot
from openclaw.api.openclaw import OpenClaw
from openclaw.kube.backoff import Backoff
from openclaw.kube.errors import ResourceExpired, ServiceUnavailable, Unreachable
from openclaw.kube.listwatch import ListWatch, WatchState
from openclaw.kube.selection import Select, Selected, by_label
from tests.unit.kube.scripted import FOREVER, ScriptedTransport, Steady, Step, line
from tests.unit.kube.virtual_time import virtual_time

EXPIRED = ResourceExpired(410, "Expired", "too old")
DOWN = Unreachable("connection refused")
UNAVAILABLE = ServiceUnavailable(503)


def uid_of(wanted: int) -> str:
    return next(uid for number in range(100_000) if slot(uid := f"{number}-9a55-0d8f") == wanted)


def root(name: str, version: int) -> dict[str, Any]:
    """An object of the slot that its name begins with."""
    uid = uid_of(int(name.partition("-")[0]))
    return {"metadata": {"namespace": "shop", "name": name, "uid": uid, "resourceVersion": str(version)}}


def event(name: str, version: int, type_: str = "ADDED") -> bytes:
    return line(type_, root(name, version))


def page(version: int, *names: str, token: str = "") -> bytes:
    metadata = {"resourceVersion": str(version), "continue": token}
    return orjson.dumps({"metadata": metadata, "items": [root(name, 1) for name in names]})


def named(slots: frozenset[int]) -> Selected:
    """A selector that is easy to read."""
    return Selected({"slots": " ".join(map(str, sorted(slots)))}, exact=True)


class Slotted:
    """A list-watch of slots under way."""

    def __init__(self, transport: ScriptedTransport, select: Select, selectors: dict[str, str]) -> None:
        self.transport = transport
        self.cache = Cache(scope="roots")
        self.cache.subscribe(b'{"always":{}}', b'{"self":{}}')
        self.told: list[tuple[str, str]] = []
        self.restarts: list[str] = []
        self.listwatch = ListWatch(
            transport,
            OpenClaw.resource,
            self.cache,
            lambda batch, _: self.tell(batch.deltas),
            select=select,
            selectors=selectors,
            on_restart=self.restarts.append,
            backoff=Backoff(1.0, 30.0, rng=Steady()),
            clock=asyncio.get_running_loop().time,
        )

    def tell(self, deltas: Iterable[tuple[int, str, str, str, str]]) -> None:
        self.told += [(name, reason) for _, _, name, reason, _ in deltas]

    def start(self, *slots: int) -> None:
        self.tell(self.cache.start(slots).deltas)

    @property
    def names(self) -> list[str]:
        return [name for _, name in self.cache.keys_in(range(256))]

    @property
    def asked(self) -> list[str]:
        """The requests: what, of which slots, and from where a watch begins."""
        return [
            f"watch {query.get('slots', '-')} @{query['resourceVersion']}"
            if "watch" in query
            else f"list {query.get('slots', '-')}"
            for query in (request.query for request in self.transport.requests)
        ]


@asynccontextmanager
async def running(
    lists: Iterable[bytes | Exception] = (),
    watches: Iterable[Exception | list[Step]] = (),
    *,
    select: Select = named,
    selectors: dict[str, str] | None = None,
) -> AsyncIterator[Slotted]:
    transport = ScriptedTransport(lists, watches)
    slotted = Slotted(transport, select, selectors or {})
    task = asyncio.create_task(slotted.listwatch.run())
    await asyncio.sleep(0)
    yield slotted
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert transport.open_streams == 0
    assert slotted.listwatch.state is WatchState.STOPPED


@virtual_time
async def test_without_a_slot_it_asks_for_nothing_and_counts_as_synced() -> None:
    async with running() as it:
        await asyncio.sleep(1000)
        assert it.asked == []
        assert it.listwatch.state is WatchState.IDLE
        assert it.listwatch.synced.is_set()
        assert it.listwatch.disconnected_since is None


@virtual_time
async def test_the_first_slots_are_listed_then_watched() -> None:
    async with running(
        [page(7, "1-a", token="t"), page(7, "2-b", "9-f")], [[event("1-c", 8), FOREVER]]
    ) as it:
        await it.listwatch.gain([1, 2])
        assert it.asked[:2] == ["list 1 2", "list 1 2"]
        assert it.names == ["1-a", "2-b"]
        await asyncio.sleep(1)
        assert it.asked[2:] == ["watch 1 2 @7"]
        assert it.names == ["1-a", "1-c", "2-b"]
        assert it.told == []
        it.start(1)
        assert it.told == [("1-a", "added"), ("1-c", "added")]


@virtual_time
async def test_a_gain_lists_what_is_gained_and_begins_the_watch_once_more_from_the_older_position() -> None:
    async with running(
        [page(10, "1-a"), page(20, "2-b")],
        [
            [event("1-c", 30), FOREVER],
            [event("1-c", 30), event("2-d", 31), event("1-e", 32), FOREVER],
        ],
    ) as it:
        await it.listwatch.gain([1])
        it.start(1)
        await asyncio.sleep(1)
        await it.listwatch.gain([2])
        it.start(2)
        await asyncio.sleep(1)
        assert it.asked == ["list 1", "watch 1 @10", "list 2", "watch 1 2 @20"]
        assert it.told == [
            ("1-a", "added"),
            ("1-c", "added"),
            ("2-b", "added"),
            ("2-d", "added"),
            ("1-e", "added"),
        ]
        assert it.restarts == ["slots"]
        assert it.cache.stats()["events_replayed"] == 1


@virtual_time
async def test_what_is_kept_already_is_not_listed_again() -> None:
    async with running([page(10), page(20)]) as it:
        await it.listwatch.gain([1])
        await it.listwatch.gain([1])
        await it.listwatch.gain([])
        await it.listwatch.gain([1, 2])
        await asyncio.sleep(1)
        assert it.asked == ["list 1", "watch 1 @10", "list 2", "watch 1 2 @10"]


@virtual_time
async def test_the_watch_goes_on_while_what_is_gained_is_listed() -> None:
    lists: list[Any] = [page(10), UNAVAILABLE, page(20, token="t"), UNAVAILABLE, page(40)]
    async with running(lists, [[2.0, event("1-a", 30), FOREVER]]) as it:
        await it.listwatch.gain([1])
        it.start(1)
        began = asyncio.get_running_loop().time()
        await it.listwatch.gain([2])
        assert asyncio.get_running_loop().time() - began == 3  # waits of 1 and 2 seconds
        assert it.told == [("1-a", "added")]
        await asyncio.sleep(1)
        assert it.asked == ["list 1", "watch 1 @10", *["list 2"] * 4, "watch 1 2 @30"]
        assert it.listwatch.last_error is None


@virtual_time
async def test_a_position_that_expires_brings_what_is_wanted_with_the_list_of_all() -> None:
    async with running(
        [page(10, "1-a"), UNAVAILABLE, page(50, "1-a", "2-b")], [[0.5, EXPIRED], [FOREVER]]
    ) as it:
        await it.listwatch.gain([1])
        await asyncio.sleep(0.1)
        await it.listwatch.gain([2])
        await asyncio.sleep(1)
        assert it.asked == ["list 1", "watch 1 @10", "list 2", "list 1 2", "watch 1 2 @50"]
        assert it.cache.kept == {1, 2}
        assert it.cache.stats()["relists"] == 2


@virtual_time
async def test_a_replay_that_the_server_cannot_serve_is_a_list_of_all() -> None:
    async with running([page(10), page(20, "2-b"), page(30, "1-a", "2-b")], [[FOREVER], EXPIRED]) as it:
        await it.listwatch.gain([1])
        await it.listwatch.gain([2])
        await asyncio.sleep(5)
        assert it.asked == ["list 1", "watch 1 @10", "list 2", "watch 1 2 @10", "list 1 2", "watch 1 2 @30"]
        assert it.names == ["1-a", "2-b"]


@virtual_time
async def test_what_is_wanted_in_the_middle_of_a_list_comes_after_it() -> None:
    async with running([page(10, token="t"), page(10), page(20)]) as it:
        first = asyncio.create_task(it.listwatch.gain([1]))
        while len(it.transport.requests) < 2:
            await asyncio.sleep(0)
        await it.listwatch.gain([2])
        await first
        await asyncio.sleep(1)
        assert [asked for asked in it.asked if "list" in asked] == ["list 1", "list 1", "list 2"]
        assert it.asked[-1] == "watch 1 2 @10"


@virtual_time
async def test_a_loss_lists_nothing_and_narrows_the_watch_soon_and_once() -> None:
    async with running([page(10, "1-a", "2-b", "3-c")]) as it:
        await it.listwatch.gain([1, 2, 3])
        it.start(1, 2, 3)
        await asyncio.sleep(1)
        it.listwatch.lose([1])
        assert it.names == ["2-b", "3-c"]
        await asyncio.sleep(0.5)
        it.listwatch.lose([2])
        await asyncio.sleep(10)
        assert it.asked == ["list 1 2 3", "watch 1 2 3 @10", "watch 3 @10"]
        assert it.told == [("1-a", "added"), ("2-b", "added"), ("3-c", "added")]


@virtual_time
async def test_a_loss_of_everything_ends_the_watch_and_a_gain_begins_anew() -> None:
    async with running([page(10, "1-a"), page(50, "1-z")]) as it:
        await it.listwatch.gain([1])
        await asyncio.sleep(1)
        it.listwatch.lose([1])
        await asyncio.sleep(0)
        await asyncio.sleep(100)
        assert it.listwatch.state is WatchState.IDLE
        assert it.transport.open_streams == 0
        assert it.listwatch.disconnected_since is None
        await it.listwatch.gain([1])
        await asyncio.sleep(1)
        assert it.asked == ["list 1", "watch 1 @10", "list 1", "watch 1 @50"]
        assert it.names == ["1-z"]


@virtual_time
async def test_what_is_lost_in_the_middle_of_its_gain_is_wanted_no_more() -> None:
    async with running([page(10), page(20, "2-b", token="t"), page(20, "3-c", "2-d")]) as it:
        await it.listwatch.gain([1])
        gain = asyncio.create_task(it.listwatch.gain([2, 3]))
        while len(it.transport.requests) < 4:
            await asyncio.sleep(0)
        it.listwatch.lose([2])
        await gain
        await asyncio.sleep(1)
        assert it.cache.kept == {1, 3}
        assert it.names == ["3-c"]
        assert it.asked[-1] == "watch 1 3 @10"


@virtual_time
async def test_all_that_is_lost_in_the_middle_of_its_gain_leaves_the_watch_alone() -> None:
    async with running([page(10), page(20, "2-b", token="t"), page(20)]) as it:
        await it.listwatch.gain([1])
        gain = asyncio.create_task(it.listwatch.gain([2]))
        while len(it.transport.requests) < 4:
            await asyncio.sleep(0)
        it.listwatch.lose([2])
        await gain
        await asyncio.sleep(1)
        assert it.cache.kept == {1}
        assert it.cache.stats()["gains"] == 0


@virtual_time
async def test_a_gain_that_is_cancelled_wants_nothing_more() -> None:
    async with running([page(10), *[UNAVAILABLE] * 3]) as it:
        await it.listwatch.gain([1])
        gain = asyncio.create_task(it.listwatch.gain([2]))
        await asyncio.sleep(1.5)
        gain.cancel()
        await asyncio.gather(gain, return_exceptions=True)
        await asyncio.sleep(100)
        assert it.asked == ["list 1", "watch 1 @10", "list 2", "list 2"]
        assert it.cache.kept == {1}


@virtual_time
async def test_the_first_list_that_fails_is_tried_again_and_given_up_when_nobody_wants_it() -> None:
    async with running([DOWN] * 20) as it:
        gain = asyncio.create_task(it.listwatch.gain([1]))
        await asyncio.sleep(5)
        assert it.asked == ["list 1"] * 3
        it.listwatch.lose([1])
        await gain
        await asyncio.sleep(100)
        assert it.asked == ["list 1"] * 3
        assert it.listwatch.state is WatchState.IDLE


@virtual_time
async def test_a_fault_in_a_gain_is_a_list_of_all() -> None:
    odd = page(20).replace(b'"20"', b'"x"')
    async with running([page(10), odd, page(30, "1-a", "2-b")]) as it:
        await it.listwatch.gain([1])
        await it.listwatch.gain([2])
        await asyncio.sleep(1)
        assert it.asked == ["list 1", "watch 1 @10", "list 2", "list 1 2", "watch 1 2 @30"]


@virtual_time
async def test_a_gain_before_it_runs_waits() -> None:
    transport = ScriptedTransport([page(10, "1-a")])
    it = Slotted(transport, named, {})
    gain = asyncio.create_task(it.listwatch.gain([1]))
    await asyncio.sleep(10)
    assert not gain.done()
    task = asyncio.create_task(it.listwatch.run())
    await gain
    assert it.names == ["1-a"]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@virtual_time
async def test_a_label_selector_is_combined_with_the_others() -> None:
    async with running([page(10)], select=by_label("l"), selectors={"labelSelector": "a=b", "x": "y"}) as it:
        await it.listwatch.gain([2, 11, 1])
        await asyncio.sleep(1)
        for request in it.transport.requests:
            assert request.query["labelSelector"] == "a=b,l in (1,2,11)"
            assert request.query["x"] == "y"


@virtual_time
async def test_where_everything_is_read_there_are_no_slots() -> None:
    transport = ScriptedTransport()
    listwatch = ListWatch(transport, OpenClaw.resource, Cache(), lambda *_: None)
    assert not listwatch.idle
    with pytest.raises(ValueError, match="whatever their slots"):
        await listwatch.gain([1])
    with pytest.raises(ValueError, match="whatever their slots"):
        listwatch.lose([1])


# Whether the server filters


@virtual_time
async def test_foreign_objects_tell_that_the_server_does_not_filter() -> None:
    watches: list[list[Step]] = [[event("9-w", 11), event("1-b", 12), event("9-w", 13), FOREVER]]
    async with running([page(10, "1-a", "9-x", "8-y")], watches) as it:
        before = it.listwatch.foreign_despite_selector
        await it.listwatch.gain([1])
        assert (before, it.listwatch.foreign_despite_selector) == (None, 2)
        await asyncio.sleep(1)
        assert it.listwatch.foreign_despite_selector == 4


@virtual_time
async def test_none_of_them_tells_that_it_does_also_after_a_loss() -> None:
    watches: list[list[Step]] = [[1.0, event("2-w", 11), FOREVER], [event("1-c", 12), FOREVER]]
    async with running([page(10, "1-a", "2-b")], watches) as it:
        await it.listwatch.gain([1, 2])
        await asyncio.sleep(0.5)
        it.listwatch.lose([2])
        await asyncio.sleep(1.5)
        # What still comes of a slot that was lost says nothing.
        assert it.cache.stats()["events_foreign"] == 1
        assert it.listwatch.foreign_despite_selector == 0
        await asyncio.sleep(10)
        assert it.listwatch.foreign_despite_selector == 0


@virtual_time
async def test_an_inexact_selector_and_an_empty_list_tell_nothing() -> None:
    async with running([page(10, "9-x")], select=lambda _: Selected()) as it:
        await it.listwatch.gain([1])
        assert it.listwatch.foreign_despite_selector is None
    async with running([page(10)]) as it:
        await it.listwatch.gain([1])
        assert it.listwatch.foreign_despite_selector is None
