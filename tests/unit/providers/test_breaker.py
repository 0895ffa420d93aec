"""The circuit breaker: what opens it, what does not, and a probe's place that is never lost."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.providers.errors import (
    ExternalConflict,
    ExternalInvalid,
    ExternalNotFound,
    ExternalThrottled,
    ExternalTransient,
    ExternalUnauthorised,
)
from openclaw.providers.resilience.breaker import BreakerOpen, BreakerState, CircuitBreaker
from openclaw.providers.resilience.settings import ResilienceSettings

SETTINGS = ResilienceSettings(breaker_failures=3, breaker_open=10, breaker_longest=40)
OUTAGE = ExternalTransient("gone", code="503")
ANSWERS: list[Exception] = [
    ExternalNotFound("x"),
    ExternalUnauthorised("x"),
    ExternalThrottled("x"),
    ExternalInvalid("x"),
    ExternalConflict("x"),
]
NOTHING: list[BaseException] = [asyncio.CancelledError(), KeyError("a defect"), GeneratorExit()]


class Timed:
    def __init__(self) -> None:
        self.now = 0.0
        self.states: list[BreakerState] = []
        self.breaker = CircuitBreaker(SETTINGS, "it", on_change=self.states.append, clock=lambda: self.now)

    def call(self, error: BaseException | None = None) -> None:
        if error is None:
            with self.breaker.call():
                return
        with suppress(BaseException), self.breaker.call():
            raise error

    def state(self) -> BreakerState:
        return self.breaker.state

    def open(self) -> None:
        for _ in range(SETTINGS.breaker_failures):
            self.call(OUTAGE)
        assert self.state() is BreakerState.OPEN

    def refused(self) -> BreakerOpen | None:
        try:
            self.breaker.check()
        except BreakerOpen as error:
            return error
        return None


def test_outages_in_a_row_open_it() -> None:
    it = Timed()
    for _ in range(2):
        it.call(OUTAGE)
    it.call()
    for _ in range(2):
        it.call(OUTAGE)
    assert it.state() is BreakerState.CLOSED
    it.call(OUTAGE)
    assert it.state() is BreakerState.OPEN
    refusal = it.refused()
    assert refusal is not None
    assert refusal.retry_after is not None
    assert refusal.retry_after >= 10
    assert not refusal.outcome_unknown
    assert "transient 503" in str(refusal)
    assert "gone" not in str(refusal), "it may be about what belongs to others"


@pytest.mark.parametrize("error", ANSWERS, ids=lambda it: type(it).__name__)
def test_an_answer_is_no_outage_whatever_it_says(error: Exception) -> None:
    it = Timed()
    for _ in range(20):
        it.call(error)
    it.call(OUTAGE)
    it.call(OUTAGE)
    it.call(error)
    it.call(OUTAGE)
    assert it.state() is BreakerState.CLOSED


@pytest.mark.parametrize("error", NOTHING, ids=lambda it: type(it).__name__)
def test_what_shows_nothing_counts_neither_way(error: BaseException) -> None:
    it = Timed()
    it.call(OUTAGE)
    it.call(OUTAGE)
    for _ in range(20):
        it.call(error)
    assert it.state() is BreakerState.CLOSED
    it.call(OUTAGE)
    assert it.state() is BreakerState.OPEN


def test_one_probe_at_a_time_and_its_answer_closes_it() -> None:
    it = Timed()
    it.open()
    it.now += 9.9
    assert it.refused()
    it.now += 2.2
    assert it.state() is BreakerState.HALF_OPEN
    with it.breaker.call():
        assert it.refused()
        with pytest.raises(BreakerOpen), it.breaker.call():
            pass
        assert it.refused()
    assert it.state() is BreakerState.CLOSED
    assert it.states == [BreakerState.OPEN, BreakerState.HALF_OPEN, BreakerState.CLOSED]


def test_each_probe_that_fails_opens_it_for_twice_as_long_up_to_a_limit() -> None:
    it = Timed()
    it.open()
    waits = []
    for _ in range(6):
        before = it.now
        while it.state() is BreakerState.OPEN:
            it.now += 0.5
        waits.append(it.now - before)
        it.call(OUTAGE)
        assert it.state() is BreakerState.OPEN
    assert all(10 * 2**n <= wait <= 10 * 2**n * 1.2 + 1 for n, wait in enumerate(waits[:2]))
    assert all(40 <= wait <= 49 for wait in waits[2:])


@pytest.mark.parametrize("error", NOTHING, ids=lambda it: type(it).__name__)
def test_a_probe_that_shows_nothing_leaves_its_place_to_the_next(error: BaseException) -> None:
    it = Timed()
    it.open()
    it.now += 12.1
    for _ in range(5):
        it.call(error)
        assert it.state() is BreakerState.HALF_OPEN
        assert it.refused() is None
    it.call()
    assert it.state() is BreakerState.CLOSED


def test_the_late_end_of_a_call_says_nothing_of_what_came_after_it() -> None:
    it = Timed()
    early = [it.breaker.call() for _ in range(4)]
    for call in early:
        call.__enter__()
    it.open()
    with suppress(ExternalTransient):
        early[0].__exit__(type(OUTAGE), OUTAGE, None)
    it.now += 12.1
    probe = it.breaker.call()
    probe.__enter__()
    early[1].__exit__(None, None, None)  # does not close it, nor free the probe's place
    with suppress(ExternalTransient):
        early[2].__exit__(type(OUTAGE), OUTAGE, None)
    assert it.state() is BreakerState.HALF_OPEN
    assert it.refused()
    probe.__exit__(None, None, None)
    with suppress(ExternalTransient):
        early[3].__exit__(type(OUTAGE), OUTAGE, None)
    it.call(OUTAGE)
    it.call(OUTAGE)
    assert it.state() is BreakerState.CLOSED


STEP = st.one_of(
    st.just(("begin", 0)),
    st.tuples(st.sampled_from(["succeed", "outage", "answer", "nothing"]), st.integers(0, 9)),
    st.tuples(st.just("wait"), st.integers(1, 60)),
)


@given(st.lists(STEP, max_size=80))
def test_whatever_happens_there_is_one_probe_and_a_way_back(steps: list[tuple[str, int]]) -> None:
    it = Timed()
    under_way: list[tuple[AbstractContextManager[None, bool | None], int | None]] = []
    errors: dict[str, BaseException | None] = {
        "succeed": None,
        "outage": OUTAGE,
        "answer": ANSWERS[0],
        "nothing": NOTHING[0],
    }
    opened_with: int | None = None
    outages = 0
    for what, number in steps:
        if what == "wait":
            it.now += number
        elif what == "begin":
            state = it.state()
            call: AbstractContextManager[None, bool | None] = it.breaker.call()
            try:
                call.__enter__()
            except BreakerOpen:
                assert state is not BreakerState.CLOSED
                continue
            assert state is not BreakerState.OPEN
            probe = it.breaker._era if state is BreakerState.HALF_OPEN else None
            assert probe is None or all(era != probe for _, era in under_way)
            under_way.append((call, probe))
        elif under_way:
            call, _ = under_way.pop(number % len(under_way))
            error = errors[what]
            outages += what == "outage"
            before = it.state()
            with suppress(BaseException):
                call.__exit__(type(error) if error else None, error, None)
            if before is BreakerState.CLOSED and it.state() is BreakerState.OPEN and opened_with is None:
                opened_with = outages
    assert opened_with is None or opened_with >= SETTINGS.breaker_failures
    for left, _ in under_way:
        with suppress(BaseException):
            left.__exit__(type(NOTHING[0]), NOTHING[0], None)
    it.now += 100
    it.call()
    assert it.state() is BreakerState.CLOSED
