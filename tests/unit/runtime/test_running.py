"""Runs under way, and how they are ended without ending the worker that does them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from openclaw.runtime.queue import Key
from openclaw.runtime.running import Running

A, B = Key("shop", "a"), Key("shop", "b")


class Workers:
    """Workers that each do one run and then say so."""

    def __init__(self) -> None:
        self.running = Running()
        self.after: list[Key] = []
        self.tasks: dict[Key, asyncio.Task[None]] = {}

    async def begin(self, key: Key, slot: int | None, run: Callable[[], Awaitable[object]]) -> None:
        begun = asyncio.Event()

        async def work() -> None:
            with self.running.during(key, slot):
                begun.set()
                await run()
            self.after.append(key)

        self.tasks[key] = asyncio.create_task(work())
        await begun.wait()


@pytest.fixture
def workers() -> Workers:
    return Workers()


async def test_runs_of_other_slots_go_on(workers: Workers) -> None:
    gate = asyncio.Event()
    await workers.begin(A, 1, asyncio.Event().wait)
    await workers.begin(B, 2, gate.wait)
    assert workers.running.cut({1}) == [A]
    await workers.tasks[A]
    assert (workers.after, len(workers.running)) == ([A], 1)
    gate.set()
    await workers.tasks[B]
    assert not workers.tasks[A].cancelling()


async def test_the_end_is_waited_for(workers: Workers) -> None:
    gate = asyncio.Event()
    await workers.begin(A, 1, gate.wait)
    ending = asyncio.create_task(workers.running.end({1}, 60))
    await asyncio.sleep(0)
    assert not ending.done()
    gate.set()
    assert await ending == []


async def test_what_does_not_end_is_cut_off(workers: Workers) -> None:
    await workers.begin(A, 1, asyncio.Event().wait)
    assert await workers.running.end({1}, 0) == [A]
    await workers.tasks[A]
    assert workers.after == [A]


async def test_a_run_that_swallows_its_end_leaves_no_cancellation_behind(workers: Workers) -> None:
    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)

    await workers.begin(A, 1, stubborn)
    workers.running.cut()
    await workers.tasks[A]
    assert not workers.tasks[A].cancelling()


async def test_a_worker_that_is_cancelled_ends(workers: Workers) -> None:
    await workers.begin(A, 1, asyncio.Event().wait)
    workers.tasks[A].cancel()
    workers.running.cut()
    with pytest.raises(asyncio.CancelledError):
        await workers.tasks[A]


async def test_runs_are_told_with_their_beginning(workers: Workers) -> None:
    await workers.begin(A, None, asyncio.Event().wait)
    [(key, since)] = workers.running.items()
    assert key == A
    assert since > 0
    workers.tasks[A].cancel()
    assert workers.running.cut({1}) == []
