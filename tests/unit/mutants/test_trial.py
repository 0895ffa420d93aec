"""A trial goes through seeds and scenarios, and tells the first that finds something."""

import json
import sys
import time
from pathlib import Path

import pytest

from tests.mutants import trial as module
from tests.mutants.trial import Run, Simulate, by_seeds, main, trial


def _simulate(*bad: tuple[str, int], done: list[Run] | None = None) -> Simulate:
    def simulate(scenario: str, seed: int, plan: str) -> tuple[str, str] | None:
        if done is not None:
            done.append((scenario, seed, plan))
        return ("converges", "it does not") if (scenario, seed) in bad else None

    return simulate


def test_the_first_that_finds_something_ends_it() -> None:
    done: list[Run] = []
    found = trial(_simulate(("b", 1), ("a", 2), done=done), by_seeds(["a", "b"]), seconds=60)
    assert done == [("a", 0, ""), ("b", 0, ""), ("a", 1, ""), ("b", 1, "")]
    assert (found.status, found.scenario, found.seed, found.runs) == ("caught", "b", 1, 4)
    assert (found.invariant, found.text) == ("converges", "it does not")


def test_runs_that_are_left_out_find_nothing() -> None:
    bad = _simulate(("a", 0), ("a", 1))
    found = trial(bad, by_seeds(["a"]), seconds=60, skip=frozenset({("a", 0, "")}))
    assert (found.seed, found.runs) == (1, 1)


def test_a_plan_is_told_with_what_it_has_found() -> None:
    found = trial(_simulate(("a", 0)), [("a", 0, "crash,1,2,0,1,7")], seconds=60)
    assert found.plan == "crash,1,2,0,1,7"


def test_the_seeds_have_an_end() -> None:
    done: list[Run] = []
    found = trial(_simulate(("a", 7), done=done), by_seeds(["a"], first=3, most=2), seconds=60)
    assert done == [("a", 3, ""), ("a", 4, "")]
    assert found.status == "survived"


def test_the_time_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "process_time", lambda: now[0])

    def simulate(scenario: str, seed: int, plan: str) -> tuple[str, str] | None:
        now[0] += 4.0
        return None

    found = trial(simulate, by_seeds(["a"]), seconds=10)
    assert (found.status, found.runs, found.seconds) == ("survived", 3, 12.0)


def test_code_that_cannot_be_run_is_told_apart(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> Simulate:
        raise ImportError("no such name")

    monkeypatch.setattr(module, "_simulator", broken)
    root = str(Path(str(sys.modules["openclaw"].__file__)).parents[2])
    assert main(["a", "--root", root]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["status"] == "broken"
    assert "no such name" in answer["text"]


def test_a_package_from_elsewhere_is_not_taken_for_the_mutated_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["a", "--root", str(tmp_path)])
    assert "openclaw is that of" in json.loads(capsys.readouterr().out)["text"]
