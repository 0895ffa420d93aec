"""Workers whose runs await nothing, and everybody else on the event loop."""

from __future__ import annotations

import asyncio

from openclaw.runtime.turn import Turn


class Clock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def others_had_a_turn_after(turn: Turn, clock: Clock, seconds: float, runs: int) -> list[int]:
    """The numbers of the runs before which others had the loop; each takes so long and awaits nothing."""
    turns: list[int] = []
    done = 0

    async def other() -> None:
        while done < runs:
            turns.append(done)
            await asyncio.sleep(0)

    waiting = asyncio.create_task(other())
    await asyncio.sleep(0)
    turns.clear()
    for _ in range(runs):
        clock.now += seconds
        done += 1
        await turn.pause()
    await waiting
    return turns


async def test_short_runs_do_not_pause_each_time() -> None:
    clock = Clock()
    turns = await others_had_a_turn_after(Turn(clock), clock, 0.001, 20)
    assert 2 <= len(turns) <= 4


async def test_after_a_long_run_others_have_a_turn() -> None:
    clock = Clock()
    assert await others_had_a_turn_after(Turn(clock), clock, 1.0, 3) == [1, 2]


async def test_time_without_work_is_no_turn() -> None:
    clock = Clock()
    turn = Turn(clock)
    clock.now += 100.0
    turn.begin()
    assert await others_had_a_turn_after(turn, clock, 0.001, 3) == []


async def test_all_workers_pause_before_one_goes_on() -> None:
    clock = Clock()
    turn = Turn(clock)
    order: list[str] = []

    async def worker(name: str) -> None:
        for number in range(2):
            clock.now += 0.006
            order.append(f"{name}{number}")
            await turn.pause()

    async with asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(worker(name))
    assert order == ["a0", "b0", "c0", "a1", "b1", "c1"]
