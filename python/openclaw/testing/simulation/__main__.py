"""`python -m openclaw.testing.simulation`: thousands of bad days, or one of them again."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from openclaw.testing.simulation.contracts import Scenario
from openclaw.testing.simulation.finding import find_scenarios
from openclaw.testing.simulation.many import Failure, Job, Report, run_jobs
from openclaw.testing.simulation.plan import Plan
from openclaw.testing.simulation.run import Outcome, simulate
from openclaw.testing.simulation.shrink import shrink
from openclaw.testing.simulation.systematic import systematic_jobs

_PROGRAM: Final = "python -m openclaw.testing.simulation"
_SHOWN: Final = 5
_LINES: Final = 60
_EVERY_SECONDS: Final = 20.0

Scenarios = Mapping[str, Callable[[], Scenario]]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_PROGRAM,
        description="Runs an operator's shards on an embedded cluster in virtual time, on bad days drawn "
        "from seeds, and checks all along what has to hold.",
    )
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="by name; all where none is named")
    parser.add_argument(
        "--from",
        dest="modules",
        action="append",
        default=[],
        metavar="MODULE",
        help="a module, or a package of modules, with a list SCENARIOS; may be repeated",
    )
    parser.add_argument("--seeds", type=int, default=None, help="runs over all scenarios (default: 1000)")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="where to begin (default: 0)")
    parser.add_argument("--minutes", type=float, default=None, help="begin no run after so long")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs side by side")
    parser.add_argument(
        "--systematic",
        action="store_true",
        help="try every crash, every stale view and every missed event of a run of each scenario instead",
    )
    parser.add_argument("--points", type=int, default=None, metavar="N", help="at most N of each of these")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first failure")
    parser.add_argument("--replay", nargs=2, metavar=("SCENARIO", "SEED"), help="one run, with its history")
    parser.add_argument("--plan", default=None, help="the faults of the run that is replayed")
    parser.add_argument("--shrink", action="store_true", help="look for fewer and milder faults first")
    parser.add_argument("--list", action="store_true", help="print the names of the scenarios")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run simulations; returns 1 when something was wrong in one."""
    parser = _parser()
    options = parser.parse_args(arguments)
    modules = options.modules or ["tests.simulation.scenarios"]
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as `python -m` has it, for children too
    try:
        scenarios = find_scenarios(modules)
        chosen = {name: scenarios[name] for name in options.scenarios or scenarios}
        if options.replay is not None:
            return _replay(scenarios, options.replay[0], int(options.replay[1]), options)
    except (LookupError, ValueError, ImportError) as error:
        parser.error(str(error))
    if options.list:
        _say(*chosen)
        return 0
    jobs = _systematic(chosen, options) if options.systematic else _random(chosen, options)
    began = time.monotonic()
    report = run_jobs(
        jobs,
        modules,
        side_by_side=options.jobs,
        until=None if options.minutes is None else began + 60 * options.minutes,
        stop_at_first=not options.keep_going,
        told=_Progress(began),
    )
    return _tell(report, modules, scenarios, time.monotonic() - began)


def _random(chosen: Scenarios, options: argparse.Namespace) -> Iterator[Job]:
    count = options.seeds
    if count is None and options.minutes is None:
        count = 1000
    numbers: Iterable[int] = itertools.count() if count is None else range(count)
    names = list(chosen)
    for number in numbers:
        yield Job(names[number % len(names)], options.first + number // len(names))


def _systematic(chosen: Scenarios, options: argparse.Namespace) -> Iterator[Job]:
    for name, scenario in chosen.items():
        yield from systematic_jobs(name, scenario, options.first, most=options.points)


class _Progress:
    def __init__(self, began: float) -> None:
        self._began = began
        self._said = began

    def __call__(self, report: Report) -> None:
        """Say how far it is, from time to time."""
        now = time.monotonic()
        if now - self._said >= _EVERY_SECONDS:
            self._said = now
            runs = report.summary.counts["runs"]
            _say(f"[{now - self._began:5.0f} s] {runs:,} runs, {len(report.failures)} with a violation")


def _tell(report: Report, modules: Sequence[str], scenarios: Scenarios, seconds: float) -> int:
    _say(*report.summary.lines())
    parts = ", ".join(f"{name} {count:,}" for name, count in sorted(report.runs.items()))
    _say(f"scenarios: {parts}", f"{report.cpu_seconds:.0f} s of CPU time in {seconds:.0f} s")
    if not report.failures:
        _say("every invariant held in every run")
        return 0
    _say("", f"{len(report.failures)} runs with a violation:")
    for failure in report.failures[:_SHOWN]:
        _tell_failure(failure, modules, scenarios)
    return 1


def _tell_failure(failure: Failure, modules: Sequence[str], scenarios: Scenarios) -> None:
    job = failure.job
    _say("", f"{job.scenario}, seed {job.seed}{f', {job.label}' if job.label else ''}")
    _say(f"  {failure.invariant}: {failure.text}")
    plan = failure.plan
    if failure.invariant not in {"scenario", "ends"}:
        outcome = simulate(scenarios[job.scenario](), job.seed, Plan.parse(plan))
        plan = str(shrink(scenarios[job.scenario], outcome).plan)
    _say("  the faults that it takes:", *(f"  {line}" for line in _described(plan)))
    sources = " ".join(f"--from {module}" for module in modules)
    _say(f"  again: {_PROGRAM} {sources} --replay {job.scenario} {job.seed} --plan '{plan}'")


def _described(plan: str) -> list[str]:
    try:
        return Plan.parse(plan).describe() or ["none"]
    except ValueError:
        return [plan]


def _replay(scenarios: Scenarios, name: str, seed: int, options: argparse.Namespace) -> int:
    scenario = scenarios[name]
    plan = None if options.plan is None else Plan.parse(options.plan)
    outcome: Outcome = simulate(scenario(), seed, plan)
    if options.shrink:
        outcome = shrink(scenario, outcome)
    _say(*outcome.history.lines(), "", "faults:", *(outcome.plan.describe() or ["none"]), "")
    _say(*outcome.summary.lines())
    if outcome.violation is None:
        _say("every invariant held")
        return 0
    _say(f"VIOLATION {outcome.violation}", f"--plan '{outcome.plan}'")
    return 1


def _say(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _with_fixed_hashes() -> None:
    """Begin anew with hashes of texts that are the same each time, which the order of sets follows."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        command = [sys.executable, "-m", "openclaw.testing.simulation", *sys.argv[1:]]
        os.execve(sys.executable, command, environment)  # noqa: S606 - ourselves, as we were called


if __name__ == "__main__":
    _with_fixed_hashes()
    sys.exit(main())
