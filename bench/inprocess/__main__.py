"""Runs all in-process benchmarks and writes the results: `make bench`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import environment
from bench.inprocess import corpus, instructions, memory, native, report
from bench.inprocess.sizes import HELD, OBJECTS
from bench.tables import Spread

ROUNDS = 5
COUNTED = 200
"""Events a round where instructions are counted, which is slow."""

_START = time.monotonic()


def say(text: str) -> None:
    """Show what is being done."""
    print(f"    [{time.monotonic() - _START:4.0f}s] {text}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.inprocess", description=__doc__)
    parser.add_argument(
        "--select", default="", help="only the Python benchmarks that pytest -k selects; writes nothing"
    )
    selected = parser.parse_args().select
    environment.refuse_debug_build()
    where = environment.describe()
    if selected:
        run_suites(selected)
        return
    missing = build()
    result: dict[str, Any] = {"environment": where, "missing": missing, "records": run_suites("")}
    with tempfile.TemporaryDirectory() as folder:
        result["records"] += run_natives(Path(folder), missing)
        result["instructions"] = count_instructions(Path(folder), missing)
    result["memory"] = memory.measure(HELD, say, missing)
    environment.RESULTS.mkdir(exist_ok=True)
    (environment.RESULTS / "inprocess.json").write_text(json.dumps(result, indent=1) + "\n")
    report.write(result, environment.RESULTS)
    say(f"written: {environment.RESULTS.relative_to(environment.ROOT)}/inprocess.md")


def build() -> dict[str, str]:
    """Build the programs in Go and Rust; returns those that are missing, and why."""
    missing = {}
    for name, program in native.PROGRAMS.items():
        say(f"building {program.name}")
        problem = native.build(program)
        if problem:
            say(f"left out: {problem}")
            missing[name] = problem
    return missing


def run_suites(selected: str) -> list[dict[str, Any]]:
    """Run the pytest-benchmark suites, timed by CPU time; returns a record a benchmark.

    Raises SystemExit when one fails.
    """
    say("the suites in Python")
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "results.json"
        command = [sys.executable, "-m", "pytest", "bench", "--benchmark-only", "-p", "no:xdist", "-q"]
        command += ["-o", "timeout=0", "-o", "python_files=bench_*.py", "--benchmark-timer=time.process_time"]
        command += ["--benchmark-columns=min,median,max,rounds", "--benchmark-sort=name"]
        command += [f"--benchmark-json={output}", *(["-k", selected] if selected else [])]
        command += os.environ.get("PYTEST_ARGS", "").split()
        done = subprocess.run(command, cwd=environment.ROOT, check=False)
        if done.returncode:
            raise SystemExit(done.returncode)
        benchmarks = json.loads(output.read_text())["benchmarks"]
    return [record(item["extra_info"], item["stats"]) for item in benchmarks]


def record(about: dict[str, Any], stats: dict[str, Any]) -> dict[str, Any]:
    """Nanoseconds an operation, from seconds a round."""
    scale = 1e9 / about["operations"]
    spread = {name: round(stats[name] * scale, 1) for name in ("min", "median", "max")}
    return about | {"ns": spread, "rounds": stats["rounds"]}


def run_natives(folder: Path, missing: dict[str, str]) -> list[dict[str, Any]]:
    """Time the programs in Go and Rust on irrelevant events."""
    found = []
    for kind in corpus.KINDS:
        first, rounds = write_events(folder, kind, OBJECTS, ROUNDS)
        for name, one in native.NATIVE.items():
            if one.program in missing or kind not in one.kinds:
                continue
            say(f"irrelevant events: {kind} in {name}")
            result = native.feed(one, kind, first, rounds, OBJECTS)
            if result["keys"] or result["objects"] != OBJECTS:
                raise RuntimeError(f"{name} did other work: {result}")
            spread = Spread.of(ns / OBJECTS for ns in result["cpu_ns"])
            ns = {
                "min": round(spread.low, 1),
                "median": round(spread.median, 1),
                "max": round(spread.high, 1),
            }
            about: dict[str, Any] = {"suite": "feed", "case": "irrelevant", "kind": kind, "contestant": name}
            about |= {"bytes": rounds.stat().st_size // (OBJECTS * ROUNDS)}
            found.append(about | {"operations": OBJECTS, "ns": ns, "rounds": ROUNDS})
    return found


def count_instructions(folder: Path, missing: dict[str, str]) -> dict[str, Any]:
    """Instructions an irrelevant event, or why there are none."""
    try:
        counts = []
        for kind in ("Widget", "Deployment"):
            first, rounds = write_events(folder, kind, COUNTED, 2)
            counts += instructions.measure(kind, first, rounds, lines=COUNTED, say=say, missing=missing)
    except RuntimeError as error:
        say(f"no instruction counts: {error}")
        return {"missing": str(error)}
    return {"counts": counts}


def write_events(folder: Path, kind: str, count: int, rounds: int) -> tuple[Path, Path]:
    """Files of events: each object once, and `rounds` irrelevant changes of each."""
    step = 2 if kind == "ConfigMap" else 1
    templates = [corpus.template(kind, n * step) for n in range(count)]
    first, changes = folder / f"{kind}.first", folder / f"{kind}.rounds"
    first.write_bytes(b"".join(t.event("ADDED", n + 1) for n, t in enumerate(templates)))
    with changes.open("wb") as file:
        for beat in range(1, rounds + 1):
            file.writelines(
                t.event("MODIFIED", 1_000_000 * beat + n, beat=beat) for n, t in enumerate(templates)
            )
    return first, changes


if __name__ == "__main__":
    main()
