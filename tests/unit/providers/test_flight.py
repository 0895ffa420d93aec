"""Single flight."""

from __future__ import annotations

import asyncio

import pytest

from openclaw.providers.flight import SingleFlight
from tests.unit.kube.virtual_time import virtual_time


class Call:
    def __init__(self, error: BaseException | None = None) -> None:
        self.made = 0
        self.cancelled = 0
        self.error = error

    async def __call__(self) -> int:
        self.made += 1
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error is not None:
            raise self.error
        return self.made


@virtual_time
async def test_those_who_ask_together_share_a_call_and_later_ones_make_another() -> None:
    flights: SingleFlight[str, int] = SingleFlight()
    call = Call()
    assert await asyncio.gather(*(flights.run("a", call) for _ in range(5))) == [1] * 5
    assert await flights.run("a", call) == 2
    assert len(flights) == 0


@virtual_time
async def test_keys_are_told_apart() -> None:
    flights: SingleFlight[str, int] = SingleFlight()
    call = Call()
    await asyncio.gather(flights.run("a", call), flights.run("b", call))
    assert call.made == 2


@virtual_time
async def test_a_failure_is_everybodys_and_is_not_kept() -> None:
    flights: SingleFlight[str, int] = SingleFlight()
    call = Call(OSError("away"))
    got = await asyncio.gather(*(flights.run("a", call) for _ in range(3)), return_exceptions=True)
    assert all(isinstance(it, OSError) for it in got)
    assert call.made == 1
    call.error = None
    assert await flights.run("a", call) == 2


@virtual_time
async def test_a_waiter_that_is_cancelled_does_not_cancel_the_others() -> None:
    flights: SingleFlight[str, int] = SingleFlight()
    call = Call()
    waiters = [asyncio.create_task(flights.run("a", call)) for _ in range(3)]
    await asyncio.sleep(0.5)
    waiters[0].cancel()  # the one that began it
    got = await asyncio.gather(*waiters, return_exceptions=True)
    assert isinstance(got[0], asyncio.CancelledError)
    assert got[1:] == [1, 1]


@virtual_time
async def test_the_last_one_to_go_takes_the_call_with_it() -> None:
    flights: SingleFlight[str, int] = SingleFlight()
    call = Call()
    waiters = [asyncio.create_task(flights.run("a", call)) for _ in range(3)]
    await asyncio.sleep(0.5)
    for waiter in waiters:
        waiter.cancel()
    await asyncio.gather(*waiters, return_exceptions=True)
    await asyncio.sleep(0)
    assert (call.cancelled, len(flights)) == (1, 0)
    assert await flights.run("a", call) == 2, "and the next one makes its own"


@virtual_time
async def test_one_who_comes_while_the_abandoned_call_still_ends_makes_a_new_one() -> None:
    flights: SingleFlight[str, int] = SingleFlight()
    call = Call()
    first = asyncio.create_task(flights.run("a", call))
    await asyncio.sleep(0.5)
    first.cancel()
    second = asyncio.create_task(flights.run("a", call))
    assert await second == 2
    assert first.cancelled()


@virtual_time
async def test_a_call_cancelled_from_within_cancels_nobody() -> None:
    flights: SingleFlight[str, int] = SingleFlight()
    with pytest.raises(RuntimeError, match="from within"):
        await flights.run("a", Call(asyncio.CancelledError()))
    assert len(flights) == 0
