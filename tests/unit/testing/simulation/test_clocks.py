"""Production code reads simulated time while a simulation runs, and the machine's before and after."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from openclaw.kube.listwatch import ListWatch
from openclaw.sharding.fence import boot_clock
from openclaw.testing.simulation.clocks import EPOCH, simulated_clocks
from openclaw.testing.simulation.loop import Process, SimulatedLoop

_CONDITIONS: Any = sys.modules["openclaw.api.conditions"]


def test_each_process_has_its_own_clock() -> None:
    loop = SimulatedLoop(random.Random(0))
    seen = {}

    async def read(name: str) -> None:
        await asyncio.sleep(100)
        now = _CONDITIONS.datetime.now(UTC)
        seen[name] = (time.monotonic(), boot_clock(), time.time() - EPOCH, now.timestamp() - EPOCH)

    async def main() -> None:
        processes = [
            Process("right"),
            loop.add_process("fast", rate=1.01),
            loop.add_process("ahead", offset=7),
        ]
        loop._processes[1:1] = processes[:1]
        await asyncio.gather(*(loop.create_task(read(it.name), context=it.context()) for it in processes))

    with simulated_clocks(loop):
        loop.run(main())
    assert seen["right"] == pytest.approx((100.0, 100.0, 100.0, 100.0), abs=1e-3)
    assert seen["fast"] == pytest.approx((101.0, 101.0, 101.0, 101.0), abs=1e-3)
    assert seen["ahead"] == pytest.approx((107.0, 107.0, 107.0, 107.0), abs=1e-3)


def _watch_clock() -> Any:
    return (ListWatch.__init__.__kwdefaults__ or {})["clock"]


def test_afterwards_all_is_as_before() -> None:
    def clocks() -> tuple[Any, ...]:
        return (
            time.monotonic,
            time.time,
            time.time_ns,
            time.clock_gettime,
            _CONDITIONS.datetime,
            _watch_clock(),
        )

    before = clocks()
    loop = SimulatedLoop(random.Random(0))

    def fail_within() -> None:
        with simulated_clocks(loop):
            assert time.monotonic() == _watch_clock()() == 0.0
            raise KeyError

    with pytest.raises(KeyError):
        fail_within()
    loop.close()
    assert clocks() == before
    assert _CONDITIONS.datetime is datetime
