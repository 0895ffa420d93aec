import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.kube.backoff import Backoff


def test_delays_double_up_to_the_cap_and_are_drawn_from_the_upper_half() -> None:
    backoff = Backoff(1.0, 10.0)
    steps = [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    delays = [backoff.next() for _ in steps]
    assert all(step / 2 <= delay <= step for step, delay in zip(steps, delays, strict=True))
    assert backoff.failures == len(steps)


def test_a_success_begins_anew() -> None:
    backoff = Backoff(1.0, 10.0)
    for _ in range(5):
        backoff.next()
    backoff.reset()
    assert backoff.failures == 0
    assert backoff.next() <= 1.0


def test_delays_are_spread() -> None:
    delays = {Backoff(1.0, 1.0).next() for _ in range(50)}
    assert len(delays) > 40
    assert max(delays) - min(delays) > 0.2


def test_the_same_seed_gives_the_same_delays() -> None:
    first, second = (Backoff(rng=random.Random(7)) for _ in range(2))
    assert [first.next() for _ in range(5)] == [second.next() for _ in range(5)]


@given(st.floats(1e-3, 1e3), st.floats(1.0, 1e3), st.integers(0, 5000))
def test_no_number_of_failures_breaks_the_bounds(base: float, factor: float, failures: int) -> None:
    backoff = Backoff(base, base * factor)
    backoff.failures = failures
    assert base / 2 <= backoff.next() <= base * factor


@pytest.mark.parametrize(("base", "cap"), [(0.0, 1.0), (-1.0, 1.0), (2.0, 1.0)])
def test_bounds_that_make_no_sense_are_refused(base: float, cap: float) -> None:
    with pytest.raises(ValueError, match="base"):
        Backoff(base, cap)


def test_a_backoff_is_small_for_there_is_one_for_each_failing_key() -> None:
    # A `random.Random` of its own would be 2.5 KB.
    assert sum(sys.getsizeof(value) for value in vars(Backoff()).values()) < 500
