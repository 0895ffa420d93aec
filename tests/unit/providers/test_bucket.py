"""The token bucket: never more than it may let through, and everybody who comes back as told is served."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.providers.resilience.bucket import TokenBucket
from openclaw.providers.resilience.polls import jittered
from openclaw.providers.resilience.settings import ResilienceSettings
from tests.unit.kube.virtual_time import run, virtual_time

SETTINGS = ResilienceSettings(rate=5, burst=10, penalty=2, longest_penalty=20)


def now() -> float:
    return asyncio.get_running_loop().time()


async def taken(bucket: TokenBucket, most: int = 1000) -> int:
    count = 0
    while count < most and await bucket.take() == 0:
        count += 1
    return count


@virtual_time
async def test_a_burst_and_then_the_rate() -> None:
    bucket = TokenBucket(SETTINGS)
    assert await taken(bucket) == 10
    await asyncio.sleep(1.001)
    assert await taken(bucket) == 5
    await asyncio.sleep(60)
    assert await taken(bucket) == 10


@virtual_time
async def test_to_ask_takes_nothing_and_promises_nothing() -> None:
    bucket = TokenBucket(SETTINGS)
    for _ in range(100):
        assert bucket.would_wait() == 0
    assert await taken(bucket) == 10
    waits = {bucket.would_wait() for _ in range(100)}
    assert waits == {0.2}


@virtual_time
async def test_those_turned_away_are_told_different_times_at_the_rate() -> None:
    bucket = TokenBucket(SETTINGS)
    await taken(bucket, 10)
    waits = [await bucket.take() for _ in range(50)]
    assert waits == sorted(set(waits))
    assert waits[0] > 0
    assert waits[-1] == pytest.approx(50 / 5, rel=0.05)


@virtual_time
async def test_nobody_is_told_to_stay_away_for_ever() -> None:
    bucket = TokenBucket(SETTINGS)
    for _ in range(5000):
        assert await bucket.take() <= 301


@virtual_time
async def test_a_complaint_pauses_and_halves_and_time_heals() -> None:
    bucket = TokenBucket(SETTINGS)
    await taken(bucket, 3)
    wait = await bucket.complained()
    assert 2 <= wait <= 2.4 + 0.4 + 0.001
    assert bucket.rate == 2.5
    assert await bucket.take() > 0
    await asyncio.sleep(3)
    # After the pause there is no burst.
    assert 1 <= await taken(bucket) <= 8
    await asyncio.sleep(31)
    await bucket.take()
    assert bucket.rate == 5


@virtual_time
async def test_complaints_of_calls_under_way_together_are_one() -> None:
    bucket = TokenBucket(SETTINGS)
    for _ in range(16):
        await bucket.complained()
    assert bucket.rate == 2.5
    assert bucket.would_wait() <= 2.4


@virtual_time
async def test_complaints_again_and_again_pause_for_longer_up_to_a_limit() -> None:
    bucket = TokenBucket(SETTINGS)
    pauses = []
    for _ in range(8):
        await bucket.complained()
        pauses.append(bucket.would_wait())
        await asyncio.sleep(bucket.would_wait() + 0.01)
    assert pauses[:3] == sorted(pauses[:3])
    assert 20 <= pauses[-1] <= 24
    assert bucket.rate == 5 / 8


@virtual_time
async def test_a_wait_that_the_system_names_is_kept() -> None:
    bucket = TokenBucket(SETTINGS)
    assert await bucket.complained(retry_after=42) >= 42
    await asyncio.sleep(41)
    assert await bucket.take() > 0
    await asyncio.sleep(2)
    assert await taken(bucket) >= 1


@virtual_time
async def test_a_wait_without_end_is_not() -> None:
    bucket = TokenBucket(SETTINGS)
    await bucket.complained(retry_after=1e9)
    assert bucket.would_wait() <= 300


def test_each_event_loop_begins_anew() -> None:
    bucket = TokenBucket(SETTINGS)
    assert run(taken(bucket)) == 10
    assert run(taken(bucket)) == 10


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.floats(0, 3), st.integers(1, 30)), min_size=1, max_size=30))
def test_never_more_than_the_burst_and_the_rate_in_any_stretch_of_time(
    asked: list[tuple[float, int]],
) -> None:
    async def check() -> None:
        bucket = TokenBucket(SETTINGS)
        granted: list[float] = []
        for pause, times in asked:
            await asyncio.sleep(pause)
            granted += [now() for _ in range(times) if await bucket.take() == 0]
        for first in range(len(granted)):
            for last in range(first, len(granted)):
                stretch = granted[last] - granted[first]
                assert last - first + 1 <= SETTINGS.burst + SETTINGS.rate * stretch + 1e-6

    run(check())


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 200))
def test_everybody_who_comes_back_as_told_is_served_without_a_stampede(callers: int) -> None:
    async def check() -> None:
        bucket = TokenBucket(SETTINGS)
        asked = 0

        async def caller() -> None:
            nonlocal asked
            while True:
                asked += 1
                if (wait := await bucket.take()) == 0:
                    return
                await asyncio.sleep(wait)

        start = now()
        async with asyncio.TaskGroup() as group:
            for _ in range(callers):
                group.create_task(caller())
        assert now() - start <= callers / SETTINGS.rate + 1
        assert asked <= 3 * callers

    run(check())


def test_polls_drift_apart_and_stay_near() -> None:
    values = {jittered(60) for _ in range(100)}
    assert len(values) > 90
    assert all(51 <= it <= 69 for it in values)
    with pytest.raises(ValueError, match="spread"):
        jittered(60, 1.0)


@pytest.mark.parametrize("name", ["rate", "burst", "concurrency", "read_deadline", "breaker_open", "penalty"])
def test_settings_that_could_not_work_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        ResilienceSettings(**{name: 0})


def test_settings_from_the_environment() -> None:
    variables = {"X_RATE": "20", "X_BURST": "7", "X_READ_DEADLINE": "1.5", "RATE": "1"}
    assert ResilienceSettings.from_environment("X_", variables) == ResilienceSettings(
        rate=20, burst=7, read_deadline=1.5
    )
    for name, text in (("X_RATE", "many"), ("X_BURST", "1.5"), ("X_CONCURRENCY", "0"), ("X_PENALTY", "inf")):
        with pytest.raises(ValueError, match=f"{name}={text}: "):
            ResilienceSettings.from_environment("X_", {name: text})
