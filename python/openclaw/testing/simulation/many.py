"""Many runs, side by side in processes of their own."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from types import FrameType
from typing import Final

from openclaw.testing.simulation.contracts import Scenario, Violation
from openclaw.testing.simulation.finding import find_scenarios
from openclaw.testing.simulation.plan import Plan
from openclaw.testing.simulation.run import ScenarioFailed, simulate
from openclaw.testing.simulation.summary import Summary

__all__ = ["Failure", "Job", "Report", "run_job", "run_jobs"]

_LONGEST_CPU_SECONDS: Final = 60.0
_RUNS_PER_CHILD: Final = 250
_AHEAD: Final = 4
"""Jobs that wait for each process."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run.

    Attributes:
        plan: of faults; None for the one that the seed draws.
        label: what a systematic run tries; "" for a random one.
    """

    scenario: str
    seed: int
    plan: str | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """A run in which something was wrong."""

    job: Job
    invariant: str
    text: str
    plan: str


@dataclass(slots=True)
class Result:
    """What came of one run."""

    job: Job
    failure: Failure | None
    summary: Summary
    cpu_seconds: float


@dataclass(slots=True)
class Report:
    """What came of many."""

    summary: Summary = field(default_factory=Summary)
    runs: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    cpu_seconds: float = 0.0

    def add(self, result: Result) -> None:
        """Count one more."""
        self.summary.add(result.summary)
        self.runs[result.job.scenario] = self.runs.get(result.job.scenario, 0) + 1
        self.cpu_seconds += result.cpu_seconds
        if result.failure is not None:
            self.failures.append(result.failure)


class _TooLong(Exception):
    """A run took more CPU time than a run may."""


def run_job(job: Job, scenario: Callable[[], Scenario]) -> Result:
    """One run in this process. One that spins is ended, and is a failure."""

    def too_long(_number: int, _frame: FrameType | None) -> None:
        raise _TooLong

    began = time.process_time()
    former = signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, _LONGEST_CPU_SECONDS)
    plan, summary = job.plan or "drawn from the seed", Summary()
    violation: Violation | None
    try:
        outcome = simulate(scenario(), job.seed, None if job.plan is None else Plan.parse(job.plan))
    except _TooLong:
        violation = Violation("ends", f"takes more than {_LONGEST_CPU_SECONDS:g} s of CPU time")
    except ScenarioFailed as error:
        violation = Violation("scenario", str(error))
    else:
        violation, plan, summary = outcome.violation, str(outcome.plan), outcome.summary
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, former)
    failure = None if violation is None else Failure(job, violation.invariant, violation.text, plan)
    return Result(job, failure, summary, time.process_time() - began)


_scenarios: dict[str, Callable[[], Scenario]] = {}


def _begin(modules: Sequence[str]) -> None:
    _scenarios.update(find_scenarios(modules))
    # What is loaded by now stays, and need not be looked at after each run.
    gc.collect()
    gc.freeze()


def _work(job: Job) -> Result:
    return run_job(job, _scenarios[job.scenario])


def run_jobs(
    jobs: Iterable[Job],
    modules: Sequence[str],
    *,
    side_by_side: int,
    until: float | None = None,
    stop_at_first: bool = False,
    told: Callable[[Report], None] | None = None,
) -> Report:
    """Run jobs in child processes.

    Args:
        jobs: taken as they are needed; there may be no end of them.
        modules: where the scenarios are.
        side_by_side: how many processes.
        until: no run is begun after this moment of the monotonic clock.
        stop_at_first: no run is begun after a failure.
        told: called after each run.
    """
    report = Report()

    def more() -> Iterator[Job]:
        for job in jobs:
            if (until is not None and time.monotonic() >= until) or (stop_at_first and report.failures):
                return
            yield job

    waiting = more()
    with ProcessPoolExecutor(
        side_by_side,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(modules,),
        max_tasks_per_child=_RUNS_PER_CHILD,
    ) as pool:
        running: set[Future[Result]] = {
            pool.submit(_work, job) for job in islice(waiting, side_by_side * _AHEAD)
        }
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                report.add(one.result())
                if told is not None:
                    told(report)
            running |= {pool.submit(_work, job) for job in islice(waiting, len(done))}
    return report
