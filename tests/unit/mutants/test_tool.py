"""What counts as caught: what fails with the mutant and passes without."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.mutants.mutant import Mutant, PatchError
from tests.mutants.trial import Found
from tools.mutants import Campaign, Result, examine_all, table

BASE = Path("base")
PATCH = """\
--- a/python/one.py
+++ b/python/one.py
@@ -1 +1 @@
-ONE = 1
+ONE = 2
"""


def _mutant(name: str = "two", patch: str = PATCH, files: tuple[str, ...] = ("python/one.py",)) -> Mutant:
    return Mutant(name, "It says two.", "They are near.", "converges", ("life",), patch, files)


class Runner:
    """Finds each seed in `caught` with a mutant, and each in `unsound` without one, too."""

    def __init__(self, caught: Sequence[int] = (), unsound: Sequence[int] = ()) -> None:
        self.caught, self.unsound = caught, unsound
        self.asked: list[tuple[Path, list[str]]] = []

    def __call__(self, root: Path, arguments: Sequence[str]) -> Found:
        self.asked.append((root, list(arguments)))
        seeds = sorted(self.unsound if root == BASE else {*self.caught, *self.unsound})
        skipped = []
        if "--skip" in arguments:
            skipped = [seed for _, seed, _ in json.loads(arguments[arguments.index("--skip") + 1])]
        if "--run" in arguments:
            only = json.loads(arguments[arguments.index("--run") + 1])[1]
            seeds = [it for it in seeds if it == only]
        for seed in seeds:
            if seed not in skipped:
                return Found("caught", "life", seed, "", "converges", "not well", runs=2, seconds=1.0)
        return Found("survived", runs=3, seconds=1.0)


def test_what_fails_only_with_the_mutant_is_caught() -> None:
    runner = Runner(caught=(4,))
    found = Campaign(BASE, 60.0, runner).examine(_mutant(), Path("mutated")).found
    assert (found.status, found.seed, found.runs, found.seconds) == ("caught", 4, 2, 1.0)
    assert [root for root, _ in runner.asked] == [Path("mutated"), BASE]
    assert runner.asked[0][1][0] == "life"


def test_what_fails_without_it_too_does_not_count() -> None:
    campaign = Campaign(BASE, 60.0, Runner(caught=(9,), unsound=(2, 4)))
    found = campaign.examine(_mutant(), Path("mutated")).found
    assert (found.status, found.seed) == ("caught", 9)
    assert sorted(campaign.unsound) == [("life", 2, ""), ("life", 4, "")]


def test_a_mutant_that_nothing_catches_survives() -> None:
    assert Campaign(BASE, 60.0, Runner()).examine(_mutant(), Path("mutated")).found.status == "survived"


def test_the_baseline_goes_on_after_what_fails() -> None:
    campaign = Campaign(BASE, 60.0, Runner(unsound=(0, 3)))
    campaign.baseline(seeds=5)
    assert sorted(campaign.unsound) == [("life", 0, ""), ("life", 3, "")]


def test_a_tree_that_does_not_run_is_no_baseline() -> None:
    campaign = Campaign(BASE, 60.0, lambda *_: Found("broken", text="no module"))
    with pytest.raises(PatchError, match="no module"):
        campaign.baseline(seeds=1)


def test_each_mutant_is_in_a_copy_of_its_own(tmp_path: Path) -> None:
    base = tmp_path / "base"
    (base / "python").mkdir(parents=True)
    (base / "python/one.py").write_text("ONE = 1\n")
    seen: list[str] = []

    def run(root: Path, arguments: Sequence[str]) -> Found:
        if root == base:
            return Found("survived")
        seen.append((root / "python/one.py").read_text())
        return Found("caught", "life", 0, "", "converges", "not well")

    unfit = _mutant("unfit", PATCH.replace("-ONE = 1", "-ONE = 3"))
    results = examine_all(tmp_path, [_mutant(), unfit], Campaign(base, 60.0, run), jobs=2)
    assert [(it.mutant.name, it.found.status) for it in results] == [("two", "caught"), ("unfit", "broken")]
    assert "does not apply" in results[1].found.text
    assert seen == ["ONE = 2\n"]
    assert (base / "python/one.py").read_text() == "ONE = 1\n"


def test_the_table_tells_caught_and_survivors() -> None:
    caught = Found("caught", "life", 3, "", "converges", "not well", runs=7, seconds=1.25)
    text = table([Result(_mutant(), caught), Result(_mutant("three"), Found("survived", runs=9))])
    assert "1 of 2 are caught" in text
    assert "| two | It says two. | `converges` | life | 3 | 7 | 1.2 |" in text
    assert "| three | It says two. | **survived** | |  | 9 | 0.0 |" in text


def test_rows_of_mutants_that_were_not_examined_stay() -> None:
    former = table([Result(_mutant(name), Found("survived", runs=9)) for name in ("gone", "three", "two")])
    caught = Found("caught", "life", 3, "crash,1,2,0,1,7", "converges", "not well", runs=7, seconds=1.25)
    text = table([Result(_mutant(), caught)], former, known={"two", "three"})
    assert "1 of 2 are caught" in text
    assert "| two | It says two. | `converges` | life | 3, single fault | 7 | 1.2 |" in text
    assert "| three | It says two. | **survived** | |  | 9 | 0.0 |" in text
    assert "gone" not in text
