"""The benchmarks run: each once, over a few objects. How long they take is not looked at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.inprocess import corpus, hold, memory, native
from bench.inprocess.__main__ import record
from openclaw import _core

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def benchmarks(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    """What pytest-benchmark wrote of one tiny round of each benchmark."""
    output = tmp_path_factory.mktemp("bench") / "results.json"
    command = [sys.executable, "-m", "pytest", "bench", "--benchmark-only", "-p", "no:xdist", "-q"]
    command += ["-o", "python_files=bench_*.py", "-k", "not kubernetes-asyncio", f"--benchmark-json={output}"]
    environment = os.environ | {"OPENCLAW_BENCH_QUICK": "1"}
    # A worker of pytest-xdist must not make its child one.
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    if _core.build_profile != "release":
        pytest.skip("a debug build is refused")
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found: list[dict[str, object]] = json.loads(output.read_text())["benchmarks"]
    return found


def test_every_suite_is_there(benchmarks: list[dict[str, object]]) -> None:
    suites = {item["extra_info"]["suite"] for item in benchmarks}  # type: ignore[index]
    assert suites == {"feed", "chunks", "relist", "index", "diff", "decode"}


def test_each_benchmark_says_what_it_measured(benchmarks: list[dict[str, object]]) -> None:
    for item in benchmarks:
        said = record(item["extra_info"], item["stats"])  # type: ignore[arg-type]
        assert {"suite", "case", "kind", "contestant", "operations", "bytes", "ns"} <= set(said), item["name"]
        assert 0 < said["ns"]["min"] <= said["ns"]["median"] <= said["ns"]["max"]


def test_every_kind_is_read_by_ours_and_by_a_baseline(benchmarks: list[dict[str, object]]) -> None:
    about = [item["extra_info"] for item in benchmarks]
    for kind in corpus.KINDS:
        names = {a["contestant"] for a in about if (a["case"], a["kind"]) == ("irrelevant", kind)}  # type: ignore[index]
        assert {"openclaw", "orjson", "json", "msgspec"} <= names, kind


@pytest.mark.parametrize("name", memory.PYTHON)
def test_memory_is_measured_in_a_process_of_its_own(name: str) -> None:
    events = [corpus.template("Widget", n).event("ADDED", n + 1) for n in range(5)]
    found = native.piped([sys.executable, "-m", hold.__name__, name, "Widget"], events)
    assert found["objects"] == 5
    assert 0 < found["before"] <= found["peak"]
