"""One fault at every point of a run, in turn: every crash, every stale view, every missed event.

After Sieve (Sun et al., OSDI 2022): a run without faults says which points there are; then each is tried by a
run of its own, with the same seed, so that everything is as before until then.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Final

from openclaw.testing.simulation.contracts import Scenario
from openclaw.testing.simulation.many import Job
from openclaw.testing.simulation.plan import Plan, PlannedFault
from openclaw.testing.simulation.run import Outcome, simulate

__all__ = ["systematic_jobs"]

_AWAY: Final = 3.0
_STALE: Final = 15.0


def systematic_jobs(
    name: str, scenario: Callable[[], Scenario], seed: int, *, most: int | None = None
) -> Iterator[Job]:
    """The runs that try each point of one scenario.

    Args:
        name: of the scenario.
        scenario: makes it anew.
        seed: of the run whose points are tried.
        most: of each kind: where there are more points, so many are drawn from them; None: all of them.
    """
    quiet = simulate(scenario(), seed, Plan())
    yield Job(name, seed, "none", "nothing")
    shards = max(1, scenario().setting().shards)
    for kind, label, points in (
        ("crash-at-request", "crash", _numbers(quiet, "requests")),
        ("stale-from-event", "stale view", _numbers(quiet, "events")),
        ("missed-event", "missed event", _numbers(quiet, "events")),
        ("forgotten-event", "forgotten event", _numbers(quiet, "events")),
    ):
        chosen = points
        if most is not None and len(points) > most:
            chosen = sorted(random.Random(f"{name} {seed} {kind}").sample(points, most))
        for point in chosen:
            seconds = _STALE if kind == "stale-from-event" else _AWAY
            fault = PlannedFault(kind, 0.0, seconds, -1, 1.0, point)
            yield Job(name, seed, str(Plan([fault])), f"{label} {point} of {len(points)}, {shards} shards")


def _numbers(outcome: Outcome, what: str) -> list[int]:
    return list(range(1, outcome.summary.counts[what] + 1))
