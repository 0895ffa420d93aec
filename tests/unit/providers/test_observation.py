"""One listing for all, and facts that are kept for a while."""

from __future__ import annotations

import asyncio

import pytest

from openclaw.providers.descriptors import Page
from openclaw.providers.errors import (
    ExternalNotFound,
    ExternalTerminal,
    ExternalThrottled,
    ExternalTransient,
)
from openclaw.providers.observation import SharedListing, TtlCache
from openclaw.providers.protocol import Finder, Lister
from openclaw.providers.resilience.guarded import guarded
from tests.unit.kube.virtual_time import virtual_time
from tests.unit.providers.fakes import (
    OTHER,
    FindingProvider,
    ListingProvider,
    Observed,
    Provider,
    System,
    Wanted,
    guard_of,
)


def cloud(things: int = 5) -> tuple[System, ListingProvider, SharedListing[Observed], list[str]]:
    system = System({f"t-{n}": Observed(f"t-{n}", "u", n) for n in range(things)})
    provider = ListingProvider(system)
    sources: list[str] = []
    listing = SharedListing[Observed](provider.list_page, provider.get, count=sources.append)
    return system, provider, listing, sources


@virtual_time
async def test_a_listing_serves_all_within_its_age() -> None:
    system, _, listing, sources = cloud(5)
    for _ in range(3):
        got = await asyncio.gather(*(listing.get(f"t-{n}", max_age=60) for n in range(5)))
        assert [it.size for it in got] == list(range(5))
    assert system.calls == ["list"] * 3  # three pages, once
    assert sources.count("listing") == 1
    await asyncio.sleep(61)
    await listing.get("t-0", max_age=60)
    assert system.calls == ["list"] * 6


@virtual_time
async def test_what_is_not_in_the_listing_is_asked_for() -> None:
    system, _, listing, _ = cloud(1)
    await listing.get("t-0", max_age=60)
    system.things["new"] = Observed("new", "u", 7)
    assert (await listing.get("new", max_age=60)).size == 7
    with pytest.raises(ExternalNotFound):
        await listing.get("absent", max_age=60)
    assert system.calls == ["list", "get", "get"]


@virtual_time
async def test_where_freshness_decides_the_listing_is_left_aside() -> None:
    system, _, listing, _ = cloud(1)
    await listing.get("t-0", max_age=60)
    system.things["t-0"] = Observed("t-0", "u", 99)
    assert (await listing.get("t-0", max_age=60)).size == 0
    assert (await listing.get("t-0", max_age=0)).size == 99


@virtual_time
async def test_after_a_write_no_older_listing_speaks_of_the_thing() -> None:
    system, _, listing, _ = cloud(3)
    await listing.get("t-0", max_age=60)
    system.things["t-0"] = Observed("t-0", "u", 99)
    listing.written("t-0")
    assert (await listing.get("t-0", max_age=60)).size == 99
    assert (await listing.get("t-1", max_age=60)).size == 1
    assert system.calls.count("list") == 2, "for the others it is still good"
    await asyncio.sleep(61)
    system.calls.clear()
    assert (await listing.get("t-0", max_age=60)).size == 99
    assert system.calls == ["list", "list"], "a later one is"
    assert listing._written == {}


@virtual_time
async def test_a_listing_under_way_during_a_write_does_not_speak_of_the_thing() -> None:
    system, _, listing, _ = cloud(3)
    system.delay = 1
    asked = asyncio.create_task(listing.get("t-0", max_age=60))
    await asyncio.sleep(1.5)  # the first page, which has it, is read
    system.things["t-0"] = Observed("t-0", "u", 99)
    listing.written("t-0")
    assert (await asked).size == 99


@virtual_time
async def test_many_things_written_at_once_do_not_mean_many_reads_for_ever() -> None:
    system, _, listing, _ = cloud(50)
    for n in range(50):
        listing.written(f"t-{n}")
    await asyncio.sleep(60)
    system.calls.clear()
    await asyncio.gather(*(listing.get(f"t-{n}", max_age=60) for n in range(50)))
    assert system.calls == ["list"] * 25


@virtual_time
async def test_what_was_just_written_is_asked_for_without_a_listing() -> None:
    system, _, listing, _ = cloud(5)
    listing.written("t-0")
    await listing.get("t-0", max_age=60)
    assert system.calls == ["get"]


@virtual_time
async def test_an_invalidated_listing_is_not_joined_and_does_not_take_the_newer_ones_place() -> None:
    system, _, listing, _ = cloud(3)
    system.delay = 1
    early = asyncio.create_task(listing.get("t-0", max_age=60))
    await asyncio.sleep(1.5)  # its first page is read, its second one under way
    listing.invalidate()
    system.delay = 0.1
    system.things["t-0"] = Observed("t-0", "u", 99)
    assert (await listing.get("t-0", max_age=60)).size == 99
    assert (await early).size == 0
    assert (await listing.get("t-0", max_age=60)).size == 99


@virtual_time
async def test_a_failed_listing_is_not_kept_and_a_cancelled_waiter_cancels_none() -> None:
    system, _, listing, _ = cloud(1)

    def fail(operation: str, when: str) -> None:
        raise ExternalTransient("away")

    system.on_call = fail
    with pytest.raises(ExternalTransient):
        await listing.get("t-0", max_age=60)
    system.on_call = lambda *_: None
    system.delay = 1
    first, second = (asyncio.create_task(listing.get("t-0", max_age=60)) for _ in range(2))
    await asyncio.sleep(0.5)
    first.cancel()
    assert (await second).size == 0
    assert system.calls.count("list") == 2


@virtual_time
async def test_a_page_held_back_is_waited_for_but_not_for_long() -> None:
    system, _, listing, _ = cloud(3)
    waits = [2.0, 3.0]

    def hold(operation: str, when: str) -> None:
        if waits:
            raise ExternalThrottled("later", retry_after=waits.pop(), local=True)

    system.on_call = hold
    assert (await listing.get("t-2", max_age=60)).size == 2
    listing.invalidate()
    waits.append(100.0)
    with pytest.raises(ExternalThrottled):
        await listing.get("t-2", max_age=60)


@virtual_time
async def test_a_listing_without_an_end_ends() -> None:
    async def again(token: str) -> Page[Observed]:
        return Page((), "more")

    async def longer(token: str) -> Page[Observed]:
        return Page((), token + "x")

    async def get(identity: str) -> Observed:
        raise ExternalNotFound(identity)

    for pages in (again, longer):
        with pytest.raises(ExternalTerminal, match="does not end"):
            await SharedListing[Observed](pages, get).get("x", max_age=60)


@virtual_time
async def test_the_guarded_providers_own_writes_are_known_to_the_listing() -> None:
    system, provider, listing, _ = cloud(2)
    it = guarded(provider, guard_of(), listing=listing, max_age=60)
    seen = await it.get("t-0")
    wanted = Wanted("t-0", size=9)
    await it.update(wanted, seen, it.compare(wanted, seen))
    assert (await it.get("t-0")).size == 9
    await it.delete("t-0", None)
    with pytest.raises(ExternalNotFound):
        await it.get("t-0")
    await it.create(Wanted("t-0", owner=OTHER, size=3))
    assert (await it.get("t-0")).size == 3
    assert (await it.get_now("t-1")).size == 1

    def lost(operation: str, when: str) -> None:
        if when == "after":
            raise ExternalTransient("the answer was lost")

    await asyncio.sleep(120)
    seen = await it.get("t-1")
    system.on_call = lost
    wanted = Wanted("t-1", size=10)
    with pytest.raises(ExternalTransient):
        await it.update(wanted, seen, it.compare(wanted, seen))
    system.on_call = lambda *_: None
    assert (await it.get("t-1")).size == 10


def test_a_guarded_provider_can_what_its_provider_can() -> None:
    system = System()
    plain, lists, finds = (
        guarded(it(system), guard_of()) for it in (Provider, ListingProvider, FindingProvider)
    )
    assert [isinstance(it, Lister) for it in (plain, lists, finds)] == [False, True, False]
    assert [isinstance(it, Finder) for it in (plain, lists, finds)] == [False, False, True]


@virtual_time
async def test_facts_are_loaded_once_and_kept_for_a_while() -> None:
    facts: TtlCache[str, int] = TtlCache(10, most=2)
    loads = 0

    async def load() -> int:
        nonlocal loads
        loads += 1
        await asyncio.sleep(1)
        if loads == 3:
            raise OSError("away")
        return loads

    assert await asyncio.gather(*(facts.get("a", load) for _ in range(3))) == [1, 1, 1]
    await asyncio.sleep(8)
    assert await facts.get("a", load) == 1
    await asyncio.sleep(2)
    assert await facts.get("a", load) == 2
    facts.forget("a")
    with pytest.raises(OSError, match="away"):
        await facts.get("a", load)
    assert await facts.get("a", load) == 4, "a failure is not kept"
    await facts.get("b", load)
    await facts.get("c", load)
    assert len(facts._kept) == 2
