"""Seeds bugs into copies of the package, one at a time, and has the simulation find them: `make mutants`.

For each patch in tests/mutants: does it apply, does its code run, and which scenario, seed and invariant
catch it within the budget? What catches it must pass without it. The table goes to tests/mutants/RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.mutants.mutant import FOLDER, Mutant, PatchError, overlay, read_mutants
from tests.mutants.trial import Found, Run

RESULTS = FOLDER / "RESULTS.md"
BUILD = Path("target/mutants")
_BASELINE_SECONDS = 60.0
_SLOWEST = 30.0
"""Seconds of wall time for one of CPU, at the most: other work may go on beside."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a mutant."""

    mutant: Mutant
    found: Found


Trial = Callable[[Path, Sequence[str]], Found]
"""Runs `tests.mutants.trial` with arguments in a copy of the tree."""


def run_trial(root: Path, arguments: Sequence[str]) -> Found:
    """Run a trial in a process of its own, which imports what is under `root` and nothing of this tree."""
    paths = os.pathsep.join((str(root / "python"), str(root)))
    seconds = float(arguments[arguments.index("--seconds") + 1])
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter, a module of ours
            [sys.executable, "-W", "ignore", "-m", "tests.mutants.trial", "--root", str(root), *arguments],
            cwd=root,
            env={**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
            timeout=120.0 + seconds * _SLOWEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Found("broken", text="does not end")
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        return Found("broken", text=done.stderr[-1000:] or f"ended with status {done.returncode}")
    return Found(**json.loads(lines[-1]))


@dataclass(slots=True)
class Campaign:
    """All mutants, against one unmutated copy of the tree.

    Attributes:
        base: the copy.
        seconds: of CPU for each mutant; the last third for single faults at points of the scenarios.
        points: of each kind of single faults.
        trial: runs a trial.
        unsound: runs that the unmutated tree does not pass; they do not count.
    """

    base: Path
    seconds: float
    trial: Trial = run_trial
    points: int = 5
    unsound: dict[Run, Found] = field(default_factory=dict)
    _sound: set[Run] = field(default_factory=set)
    _asking: threading.Lock = field(default_factory=threading.Lock)

    def baseline(self, seeds: int) -> None:
        """Run every scenario with some seeds on the unmutated tree.

        Raises:
            PatchError: it does not run at all.
        """
        while True:
            asked = [*self._skip(), "--seconds", f"{_BASELINE_SECONDS * 2:g}", "--most", str(seeds)]
            found = self.trial(self.base, asked)
            if found.status == "broken":
                raise PatchError(f"the unmutated tree does not run: {found.text}")
            if found.status == "survived":
                return
            self.unsound[_run_of(found)] = found

    def examine(self, mutant: Mutant, root: Path) -> Result:
        """Have a mutant caught that was applied to the copy `root`; `survived` where nothing does."""
        runs = 0
        while True:
            asked = [*mutant.scenarios, *self._skip(), "--seconds", f"{self.seconds:g}"]
            found = self.trial(root, [*asked, "--points", str(self.points)])
            runs += found.runs
            if found.status != "caught" or self._passes_without(_run_of(found)):
                return Result(mutant, replace(found, runs=runs))

    def _skip(self) -> list[str]:
        skipped = json.dumps(list(self.unsound))
        return ["--skip", skipped] if self.unsound else []

    def _passes_without(self, run: Run) -> bool:
        """Whether the unmutated tree passes a run: only then has the mutant been caught by it."""
        with self._asking:
            if run not in self._sound and run not in self.unsound:
                asked = ["--run", json.dumps(run), "--seconds", f"{_BASELINE_SECONDS:g}"]
                found = self.trial(self.base, asked)
                if found.status == "survived":
                    self._sound.add(run)
                else:
                    self.unsound[run] = found
            return run in self._sound


def _run_of(found: Found) -> Run:
    return found.scenario, found.seed, found.plan


class Builder:
    """Builds the extension module of mutants in Rust, one after the other, in a folder of its own.

    Args:
        tree: the project.
        folder: where it builds; kept, so that only what a mutant changes is compiled again.
    """

    def __init__(self, tree: Path, folder: Path) -> None:
        self._tree = tree
        self._folder = folder.resolve()
        self._building = threading.Lock()

    def build(self, mutant: Mutant, into: Path) -> None:
        """Put the extension module of `mutant` at `into`.

        Raises:
            PatchError: it does not apply, or does not compile.
        """
        with self._building, tempfile.TemporaryDirectory(prefix="openclaw-mutant-") as scratch:
            source = Path(scratch)
            for name in mutant.files:
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self._tree / name, source / name)
            mutant.apply(source)
            work = self._folder / "tree"
            self._refresh(work, source)
            done = subprocess.run(  # noqa: S603 - cargo, as PATH has it
                [
                    shutil.which("cargo") or "cargo",
                    "build",
                    "--locked",
                    "--package",
                    "openclaw-python",
                    "--features",
                    "pyo3/abi3-py311",
                ],
                cwd=work,
                env={
                    **os.environ,
                    "CARGO_TARGET_DIR": str(self._folder),
                    "CARGO_PROFILE_DEV_OPT_LEVEL": "1",
                    "CARGO_PROFILE_DEV_DEBUG": "0",
                    "RUSTFLAGS": "--cap-lints warn",
                    "PYO3_PYTHON": sys.executable,
                },
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise PatchError(f"{mutant.name}: does not compile: {done.stderr[-1500:]}")
            built = [*self._folder.glob("debug/lib_core.so"), *self._folder.glob("debug/lib_core.dylib")]
            into.unlink()
            shutil.copy(built[0], into)

    def _refresh(self, work: Path, changed: Path) -> None:
        """Make `work` the tree with what was changed; what stays the same keeps its time, for cargo."""
        work.mkdir(parents=True, exist_ok=True)
        files = [Path("Cargo.toml"), Path("Cargo.lock")]
        files += [it.relative_to(self._tree) for it in (self._tree / "rust").rglob("*") if it.is_file()]
        for name in files:
            mine = changed / name
            content = (mine if mine.exists() else self._tree / name).read_bytes()
            target = work / name
            if not target.exists() or target.read_bytes() != content:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)


def examine_all(tree: Path, mutants: Sequence[Mutant], campaign: Campaign, *, jobs: int) -> list[Result]:
    """Each mutant in a copy of its own; those in Rust begin: others go on while one is built."""
    builder = Builder(tree, tree / BUILD)

    def examine(mutant: Mutant) -> Result:
        with tempfile.TemporaryDirectory(prefix="openclaw-mutant-") as scratch:
            root = Path(scratch)
            began = time.monotonic()
            try:
                shutil.copytree(campaign.base, root, dirs_exist_ok=True)
                if mutant.in_rust:
                    builder.build(mutant, root / "python/openclaw/_core.abi3.so")
                else:
                    mutant.apply(root)
                result = campaign.examine(mutant, root)
            except PatchError as error:
                result = Result(mutant, Found("broken", text=str(error)))
            found = result.found
            print(
                f"{time.monotonic() - began:6.1f} s  {found.status:8} {mutant.name}  "
                f"{found.invariant or found.text} {found.scenario} {found.seed if found.scenario else ''}",
                flush=True,
            )
            return result

    ordered = sorted(mutants, key=lambda it: (not it.in_rust, it.name))
    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(examine, ordered))
    return sorted(results, key=lambda it: it.mutant.name)


def table(results: Sequence[Result], former: str = "", *, known: Collection[str] = ()) -> str:
    """The results in Markdown.

    Args:
        results: of this time.
        former: a former table; of mutants that were not examined this time its rows stay.
        known: the names of all mutants that there are.
    """
    rows = {name: row for row in former.splitlines() if (name := _name_of(row)) in known}
    rows |= {it.mutant.name: _row(it) for it in results}
    caught = sum("**" not in row for row in rows.values())
    lines = [
        "# Seeded bugs, and what catches them",
        "",
        "Written by `make mutants`. Each bug is a patch here; each run that catches one passes without it.",
        "",
        f"{caught} of {len(rows)} are caught.",
        "",
        "| bug | what it breaks | caught by | scenario | seed | runs | CPU s |",
        "|---|---|---|---|---:|---:|---:|",
        *(rows[name] for name in sorted(rows)),
    ]
    return "\n".join(lines) + "\n"


def _name_of(row: str) -> str:
    return row.split("|")[1].strip() if row.startswith("| ") else ""


def _row(result: Result) -> str:
    found = result.found
    by, where = f"**{found.status}**", "| "
    if found.status == "caught":
        seed = f"{found.seed}, single fault" if found.plan else str(found.seed)
        by, where = f"`{found.invariant}`", f"{found.scenario} | {seed}"
    mutant = result.mutant
    return f"| {mutant.name} | {mutant.breaks} | {by} | {where} | {found.runs} | {found.seconds:.1f} |"


def main(argv: Sequence[str] | None = None) -> int:
    """Examine the mutants; 1 when one survives or is broken, or the unmutated tree fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="words in the names of mutants; none: all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at once")
    parser.add_argument("--seconds", type=float, default=60.0, help="of CPU for each mutant")
    parser.add_argument("--baseline", type=int, default=5, help="seeds of each scenario without a mutant")
    args = parser.parse_args(argv)
    mutants = read_mutants(args.only)
    if not mutants:
        print("no mutant has such a name", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="openclaw-unmutated-") as scratch:
        base = Path(scratch)
        overlay(Path.cwd(), base)
        campaign = Campaign(base, args.seconds)
        campaign.baseline(args.baseline)
        results = examine_all(Path.cwd(), mutants, campaign, jobs=args.jobs)
    former = RESULTS.read_text() if RESULTS.exists() else ""
    text = table(results, former, known={it.name for it in read_mutants()})
    print(f"\n{text}")
    RESULTS.write_text(text)
    for run, found in sorted(campaign.unsound.items()):
        print(f"without a mutant: {run}: {found.invariant}: {found.text}", file=sys.stderr)
    uncaught = [it for it in results if it.found.status != "caught"]
    for it in uncaught:
        print(f"{it.found.status}: {it.mutant.name} {it.found.text}", file=sys.stderr)
    return 1 if uncaught or campaign.unsound else 0


if __name__ == "__main__":
    sys.exit(main())
