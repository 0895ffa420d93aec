"""The loop on which simulated processes live."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from typing import Any

import pytest

from openclaw.testing.simulation.loop import Process, RunsAway, SimulatedLoop


def _loop(seed: int = 0) -> SimulatedLoop:
    return SimulatedLoop(random.Random(seed))


def _in(process: Process, loop: SimulatedLoop, main: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return loop.create_task(main, context=process.context())


async def _steps(said: list[str], name: str, count: int = 5) -> None:
    for number in range(count):
        said.append(f"{name}{number}")
        await asyncio.sleep(0)


def test_time_passes_only_when_nobody_can_go_on() -> None:
    loop = _loop()
    said = []

    async def sleeper(seconds: float) -> None:
        await asyncio.sleep(seconds)
        said.append((seconds, loop.time()))

    async def main() -> None:
        await asyncio.gather(sleeper(7200.0), sleeper(0.5), sleeper(3.0))

    loop.run(main())
    assert said == [(0.5, 0.5), (3.0, 3.0), (7200.0, 7200.0)]


def test_within_a_process_first_in_is_first_out() -> None:
    for seed in range(10):
        loop = _loop(seed)
        said: list[str] = []

        async def main(said: list[str] = said) -> None:
            await asyncio.gather(_steps(said, "a"), _steps(said, "b"))

        loop.run(main())
        assert said == [f"{name}{number}" for number in range(5) for name in "ab"]


def _interleaved(seed: int) -> list[str]:
    loop = _loop(seed)
    said: list[str] = []

    async def main() -> None:
        await asyncio.gather(*(_in(loop.add_process(name), loop, _steps(said, name)) for name in "ab"))

    loop.run(main())
    return said


def test_between_processes_the_order_is_the_seeds() -> None:
    orders = {tuple(_interleaved(seed)) for seed in range(20)}
    assert len(orders) > 10
    assert _interleaved(3) == _interleaved(3)
    for order in orders:
        assert [it for it in order if it[0] == "a"] == [f"a{number}" for number in range(5)]


def test_what_falls_due_while_a_process_is_paused_waits_for_it() -> None:
    loop = _loop()
    process = loop.add_process("p")
    woken = []

    async def sleeper() -> None:
        for _ in range(3):
            await asyncio.sleep(1)
            woken.append(loop.time())

    async def main() -> None:
        task = _in(process, loop, sleeper())
        await asyncio.sleep(1.5)
        loop.pause(process)
        await asyncio.sleep(60)
        loop.resume(process)
        await task

    loop.run(main())
    assert woken == [1.0, 61.5, 62.5]


def test_nothing_of_a_killed_process_runs_any_more() -> None:
    loop = _loop()
    process = loop.add_process("p")
    said = []

    async def dying() -> None:
        try:
            said.append("begun")
            await asyncio.sleep(10)
            said.append("went on")
        finally:
            said.append("finally")

    async def main() -> None:
        _in(process, loop, dying())
        await asyncio.sleep(1)
        loop.kill(process)
        await asyncio.sleep(60)

    loop.run(main())
    assert said == ["begun"]


def test_a_process_is_killed_before_the_step_that_is_said() -> None:
    for step in range(2, 6):
        loop = _loop()
        process = loop.add_process("p")
        said: list[str] = []
        process.crash_at = step
        process.on_crash = lambda loop=loop, process=process: loop.kill(process)

        async def main(
            loop: SimulatedLoop = loop, process: Process = process, said: list[str] = said
        ) -> None:
            _in(process, loop, _steps(said, "a"))
            await asyncio.sleep(1)

        loop.run(main())
        assert len(said) == step - 1


def test_a_loop_that_spins_runs_away() -> None:
    async def spin() -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(RunsAway, match="does not come to rest"):
        _loop().run(spin())


def test_waiting_for_what_never_comes_is_told() -> None:
    async def wait() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(RunsAway, match="waits for something that never comes, at 5"):
        _loop().run(_after(5, wait()))


async def _after(seconds: float, then: Coroutine[Any, Any, None]) -> None:
    await asyncio.sleep(seconds)
    await then


def test_threads_run_in_place() -> None:
    def failing() -> None:
        raise ValueError("no")

    async def main() -> list[int]:
        with pytest.raises(ValueError, match="no"):
            await asyncio.to_thread(failing)
        return [await asyncio.to_thread(sum, (1, 2)) for _ in range(2)]

    assert _loop().run(main()) == [3, 3]


def test_a_callback_that_fails_is_noted() -> None:
    loop = _loop()

    async def main() -> None:
        loop.call_soon(lambda: 1 / 0)
        await asyncio.sleep(1)

    loop.run(main())
    assert ["division by zero" in it for it in loop.failures] == [True]


def test_a_clock_that_runs_at_another_rate_does_not_jump() -> None:
    process = Process("p", offset=5.0)
    assert process.clock(100.0) == 105.0
    process.set_rate(100.0, 1.01)
    assert process.clock(100.0) == pytest.approx(105.0)
    assert process.clock(200.0) == pytest.approx(206.0)
