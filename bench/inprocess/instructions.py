"""Instructions an event, counted by valgrind: a figure without noise, where there is one.

Two runs that differ by one round of events, and nothing else: the difference is what the round took.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import orjson

from bench.inprocess.memory import Say
from bench.inprocess.native import NATIVE, PROGRAMS
from openclaw import _core

PYTHON: Final = ("openclaw", "orjson", "json")
RUST: Final = "rust-typed"
SCRIPT: Final = Path(__file__).with_name("counted.py")
_TOTAL: Final = re.compile(r"I\s+refs:\s+([\d,]+)")


def measure(
    kind: str, first: Path, rounds: Path, *, lines: int, say: Say, missing: dict[str, str]
) -> list[dict[str, Any]]:
    """Count for each contestant; `rounds` must hold at least two rounds of `lines` events.

    Go's run time does not start under valgrind, so its programs are left out.

    Raises:
        RuntimeError: there is no valgrind, or it failed.
    """
    if not shutil.which("valgrind"):
        raise RuntimeError("valgrind is not on PATH")
    found = []
    for name in (*PYTHON, RUST):
        if name == RUST and "rust" in missing:
            continue
        say(f"instructions: {kind} in {name}")
        totals = [_count(_command(name, kind, first, rounds, lines=lines, times=times)) for times in (1, 2)]
        found.append(
            {"kind": kind, "contestant": name, "instructions": round((totals[1] - totals[0]) / lines)}
        )
    return found


def _command(name: str, kind: str, first: Path, rounds: Path, *, lines: int, times: int) -> list[str]:
    if name == RUST:
        program = str(PROGRAMS["rust"].binary)
        cut = rounds.with_suffix(f".{times}")
        events = rounds.read_bytes().splitlines(keepends=True)[: lines * times]
        cut.write_bytes(b"".join(events))
        return [program, "feed", NATIVE[name].mode, kind, str(first), str(cut), str(lines)]
    arguments = [str(_core.__file__), str(first), str(rounds), str(lines), str(times)]
    return [sys.executable, "-S", str(SCRIPT), name, *arguments]


def _count(command: list[str]) -> int:
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    # Hashes of strings in a fixed order, so that two runs do the same.
    environment = {"PYTHONHASHSEED": "0", "PYTHONPATH": str(Path(orjson.__file__).parents[1])}
    done = subprocess.run([*valgrind, *command], env=environment, capture_output=True, text=True, check=False)
    match = _TOTAL.search(done.stderr)
    if done.returncode or match is None:
        # The program's name and not its path: the text goes into a report that is committed.
        raise RuntimeError(f"{Path(command[0]).name} under valgrind ended with {done.returncode}")
    return int(match.group(1).replace(",", ""))
