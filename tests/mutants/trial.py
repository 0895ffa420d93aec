"""Runs scenarios until an invariant is violated or the time is used up, and prints what came of it as JSON.

Started by `tools/mutants.py` in a copy of the tree, so that what is imported is what was mutated.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import itertools
import json
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

__all__ = ["Found", "Run", "Simulate", "by_seeds", "scenarios", "single_faults", "trial"]


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a trial.

    Attributes:
        status: `caught`, `survived`, or `broken` where the code could not be run at all.
        scenario: in which it was caught.
        seed: with which.
        plan: of faults; "" for the one that is drawn from the seed.
        invariant: that was violated.
        text: what it says, or why the code could not be run.
        runs: how many there were.
        seconds: of CPU.
    """

    status: str
    scenario: str = ""
    seed: int = -1
    plan: str = ""
    invariant: str = ""
    text: str = ""
    runs: int = 0
    seconds: float = 0.0


Run = tuple[str, int, str]
"""A scenario, a seed, and a plan of faults, or "" for the one that is drawn from the seed."""


class Simulate(Protocol):
    """Runs a scenario once; the violation's invariant and text, or None."""

    def __call__(self, scenario: str, seed: int, plan: str) -> tuple[str, str] | None:
        """Run it."""


def trial(
    simulate: Simulate, runs: Iterable[Run], *, seconds: float, skip: frozenset[Run] = frozenset()
) -> Found:
    """Do the runs in turn, until one finds something.

    Args:
        simulate: does one.
        runs: what is to be run.
        seconds: of CPU, after which no run is begun.
        skip: runs that are left out.
    """
    began, count = time.process_time(), 0
    for run in runs:
        if time.process_time() - began >= seconds:
            break
        if run in skip:
            continue
        count += 1
        violation = simulate(*run)
        if violation is not None:
            spent = time.process_time() - began
            return Found("caught", *run, violation[0], violation[1][:2000], count, spent)
    return Found("survived", runs=count, seconds=time.process_time() - began)


def by_seeds(names: Sequence[str], first: int = 0, most: int | None = None) -> Iterator[Run]:
    """Each scenario with each seed in turn; without end unless `most` says how many seeds."""
    for seed in itertools.count(first) if most is None else range(first, first + most):
        for name in names:
            yield name, seed, ""


def scenarios() -> Mapping[str, Any]:
    """What makes each scenario of this tree, by its name: those that `make simulate` runs."""
    finding = importlib.import_module("openclaw.testing.simulation.finding")
    found: Mapping[str, Any] = finding.find_scenarios(["tests.simulation.scenarios"])
    return found


def single_faults(names: Sequence[str], points: int) -> Iterator[Run]:
    """One fault of each kind at some points of each scenario, as the systematic mode has them."""
    known = scenarios()
    systematic = importlib.import_module("openclaw.testing.simulation.systematic")
    for name in names:
        for job in systematic.systematic_jobs(name, known[name], 0, most=points):
            yield name, job.seed, job.plan


def _simulator() -> Simulate:
    known = scenarios()
    run = importlib.import_module("openclaw.testing.simulation.run")
    parse = importlib.import_module("openclaw.testing.simulation.plan").Plan.parse

    def simulate(scenario: str, seed: int, plan: str) -> tuple[str, str] | None:
        violation = run.simulate(known[scenario](), seed, parse(plan) if plan else None).violation
        return None if violation is None else (violation.invariant, violation.text)

    return simulate


def main(argv: Sequence[str] | None = None) -> int:
    """Run a trial, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", help="names; none: all")
    parser.add_argument("--seconds", type=float, default=60.0, help="of CPU")
    parser.add_argument("--most", type=int, help="seeds of each scenario")
    parser.add_argument("--points", type=int, default=0, help="single faults, in the last third of the time")
    parser.add_argument("--run", type=json.loads, help="this one only: [SCENARIO, SEED, PLAN]")
    parser.add_argument("--skip", type=json.loads, default=[], help="runs that are left out")
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="where the package has to come from")
    args = parser.parse_args(argv)
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        try:
            found = _tried(args)
        except Exception:  # noqa: BLE001 - a mutant that is no program is told apart from one that is caught
            found = Found("broken", text=traceback.format_exc(limit=-3))
    print(json.dumps(asdict(found)), file=out)
    return 0


def _tried(args: argparse.Namespace) -> Found:
    where = Path(str(importlib.import_module("openclaw").__file__))
    if not where.is_relative_to(args.root.resolve()):
        raise ImportError(f"openclaw is that of {where}")
    simulate, skip = _simulator(), frozenset((str(a), int(b), str(c)) for a, b, c in args.skip)
    if args.run:
        return trial(simulate, [tuple(args.run)], seconds=args.seconds)
    names = args.scenarios or sorted(scenarios())
    seconds = args.seconds * 2 / 3 if args.points else args.seconds
    found = trial(simulate, by_seeds(names, most=args.most), seconds=seconds, skip=skip)
    if found.status != "survived" or not args.points:
        return found
    rest = args.seconds - found.seconds
    then = trial(simulate, single_faults(names, args.points), seconds=rest, skip=skip)
    return replace(then, runs=found.runs + then.runs, seconds=found.seconds + then.seconds)


if __name__ == "__main__":
    sys.exit(main())
