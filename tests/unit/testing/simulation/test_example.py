"""The simulation finds the bug of the one, and lets the other pass."""

from __future__ import annotations

from examples.simulation.receipts import Careful, Hasty
from openclaw.testing.simulation.plan import Plan
from openclaw.testing.simulation.run import simulate
from openclaw.testing.simulation.shrink import shrink

SEEDS = range(30)


def test_on_a_good_day_both_are_right() -> None:
    for scenario in (Hasty, Careful):
        assert simulate(scenario(), 1, Plan()).violation is None


def test_on_bad_days_the_hasty_one_makes_two() -> None:
    found = next(it for it in (simulate(Hasty(), seed) for seed in SEEDS) if it.violation is not None)
    assert found.violation is not None
    assert found.violation.invariant == "one-number-each"
    assert len(shrink(Hasty, found, most=10).plan.faults) == 1


def test_the_careful_one_stands_them() -> None:
    assert [it.violation for it in (simulate(Careful(), seed) for seed in SEEDS) if it.violation] == []
