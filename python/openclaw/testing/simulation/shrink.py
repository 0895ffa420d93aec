"""From a plan that shows a violation to a short one that shows the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from openclaw.testing.simulation.contracts import Scenario
from openclaw.testing.simulation.plan import Plan, PlannedFault
from openclaw.testing.simulation.run import Outcome, simulate

__all__ = ["shrink"]


def shrink(scenario: Callable[[], Scenario], outcome: Outcome, *, most: int = 60) -> Outcome:
    """Leave out faults, then shorten and weaken those that are left, while the same invariant is violated.

    Args:
        scenario: makes the scenario anew.
        outcome: of a run with a violation.
        most: runs that it may take.
    """
    if outcome.violation is None:
        return outcome
    invariant, best = outcome.violation.invariant, outcome
    again = True
    while again:
        again = False
        for plan in _smaller(best.plan):
            if most <= 0:
                return best
            most -= 1
            found = simulate(scenario(), outcome.seed, plan)
            if found.violation is not None and found.violation.invariant == invariant:
                best, again = found, True
                break
    return best


def _smaller(plan: Plan) -> Iterator[Plan]:
    faults = list(plan.faults)
    if len(faults) > 1:
        half = len(faults) // 2
        yield Plan(faults[:half])
        yield Plan(faults[half:])
    for fault in faults:
        yield plan.without([fault])
    for fault in faults:
        for milder in _milder(fault):
            yield Plan([milder if it is fault else it for it in faults])


def _milder(fault: PlannedFault) -> Iterator[PlannedFault]:
    if fault.seconds > 1:
        yield dataclasses.replace(fault, seconds=round(fault.seconds / 2, 3))
    if fault.strength > 0.05:  # noqa: PLR2004 - as weak as it gets
        yield dataclasses.replace(fault, strength=round(fault.strength / 2, 3))
