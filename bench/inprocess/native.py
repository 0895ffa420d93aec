"""The contestants in Go and Rust: programs of their own, built here, which are given the same bytes."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
BUILT: Final = ROOT / "target" / "bench"
"""Everything that is built for the benchmarks goes here."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program and how it is built."""

    name: str
    folder: Path
    command: tuple[str, ...]
    binary: Path


PROGRAMS: Final = {
    "go": Program(
        "go-decode",
        ROOT / "bench" / "peers" / "go-decode",
        ("go", "build", "-o", str(BUILT / "go-decode"), "."),
        BUILT / "go-decode",
    ),
    "rust": Program(
        "rust-decode",
        ROOT / "bench" / "peers" / "rust-decode",
        ("cargo", "build", "--release", "--locked", "--target-dir", str(BUILT / "rust")),
        BUILT / "rust" / "release" / "rust-decode",
    ),
}


@dataclass(frozen=True, slots=True)
class Native:
    """A program in one of its modes."""

    title: str
    program: str
    mode: str
    leaves_out: str
    kinds: frozenset[str] = frozenset({"Widget", "Deployment", "Pod", "ConfigMap"})


_LESS: Final = "no indexes, no own writes"
NATIVE: Final = {
    "go-typed": Native("controller-runtime's decoder, typed", "go", "typed", _LESS),
    "go-protobuf": Native(
        "controller-runtime's decoder, typed, protobuf",
        "go",
        "protobuf",
        _LESS + "; other bytes than the rest: what it asks for where it can",
        frozenset({"Deployment", "Pod", "ConfigMap"}),
    ),
    "go-unstructured": Native("controller-runtime's decoder, unstructured", "go", "unstructured", _LESS),
    "rust-typed": Native("kube-rs' decoder, typed", "rust", "typed", _LESS),
    "rust-dynamic": Native("kube-rs' decoder, DynamicObject", "rust", "dynamic", _LESS),
}


def build(program: Program) -> str | None:
    """Build a program unless it is current; returns why it can't be, or None."""
    if not shutil.which(program.command[0]):
        return f"{program.command[0]} is not on PATH"
    BUILT.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(program.command, cwd=program.folder, capture_output=True, text=True, check=False)
    return (
        None if done.returncode == 0 else f"{' '.join(program.command)} failed: {done.stderr.strip()[-800:]}"
    )


def feed(native: Native, kind: str, first: Path, rounds: Path, lines: int) -> dict[str, Any]:
    """Let it read the events that are known (`first`), then time it over `rounds` of `lines` events each."""
    arguments = ["feed", native.mode, kind, str(first), str(rounds), str(lines)]
    return _run(native, arguments, ())


def hold(native: Native, kind: str, chunks: Iterable[bytes]) -> dict[str, Any]:
    """Let it keep the objects of a stream; says how much memory it has before and after."""
    return _run(native, ["hold", native.mode, kind], chunks)


def _run(native: Native, arguments: list[str], chunks: Iterable[bytes]) -> dict[str, Any]:
    return piped([str(PROGRAMS[native.program].binary), *arguments], chunks)


def piped(command: list[str], chunks: Iterable[bytes]) -> dict[str, Any]:
    """Run a command with a stream on its standard input; returns the JSON object that it prints."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        for chunk in chunks:
            process.stdin.write(chunk)
        process.stdin.close()
        text = process.stdout.read()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with status {process.returncode}")
    result: dict[str, Any] = json.loads(text)
    return result
