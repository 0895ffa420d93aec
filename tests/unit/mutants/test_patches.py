"""The seeded bugs stay what they are: patches that apply, and whose code can be run."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.mutant import FOLDER, Mutant, PatchError, read_mutants
from tests.mutants.trial import scenarios

TREE = FOLDER.parents[1]
MUTANTS = read_mutants()


def _copied(mutant: Mutant, folder: Path) -> None:
    for name in mutant.files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TREE / name, folder / name)


def test_there_are_as_many_as_were_asked_for() -> None:
    assert len(MUTANTS) >= 24
    assert len({it.breaks for it in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda it: it.name)
def test_it_applies_and_compiles(mutant: Mutant, tmp_path: Path) -> None:
    _copied(mutant, tmp_path)
    mutant.apply(tmp_path)


def test_its_code_uses_no_name_that_is_not_there(tmp_path: Path) -> None:
    for mutant in MUTANTS:
        _copied(mutant, tmp_path / mutant.name)
        mutant.apply(tmp_path / mutant.name)
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821,F823", str(tmp_path)]
    done = subprocess.run(ruff, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_it_changes_production_code_only() -> None:
    for mutant in MUTANTS:
        for name in mutant.files:
            assert name.startswith(("python/openclaw/", "rust/core/src/")), mutant.name
            assert "openclaw/testing" not in name, mutant.name


def test_its_scenarios_are_there() -> None:
    known = scenarios()
    for mutant in MUTANTS:
        assert set(mutant.scenarios) <= known.keys(), mutant.name


PATCH = """\
Breaks: It says two.
Plausible: One and two are near.
Seen by: nobody
Scenarios: one, two

--- a/python/one.py
+++ b/python/one.py
@@ -1,2 +1,2 @@
 def one():
-    return 1
+    return 2
"""


def _mutant(tmp_path: Path, text: str = PATCH) -> Mutant:
    path = tmp_path / "two.patch"
    path.write_text(text)
    return Mutant.read(path)


def _tree(tmp_path: Path, text: str = "def one():\n    return 1\n") -> Path:
    root = tmp_path / "tree"
    (root / "python").mkdir(parents=True)
    (root / "python/one.py").write_text(text)
    return root


def test_a_patch_is_read_and_applied(tmp_path: Path) -> None:
    mutant, root = _mutant(tmp_path), _tree(tmp_path)
    assert (mutant.name, mutant.scenarios, mutant.files) == ("two", ("one", "two"), ("python/one.py",))
    assert not mutant.in_rust
    mutant.apply(root)
    assert "return 2" in (root / "python/one.py").read_text()


def test_a_patch_that_does_not_fit_is_an_error_and_changes_nothing(tmp_path: Path) -> None:
    root = _tree(tmp_path, "def one():\n    return 3\n")
    with pytest.raises(PatchError, match="two: does not apply"):
        _mutant(tmp_path).apply(root)
    assert "return 3" in (root / "python/one.py").read_text()


def test_a_patch_that_makes_no_program_is_an_error(tmp_path: Path) -> None:
    broken = PATCH.replace("+    return 2", "+    return (2")
    with pytest.raises(PatchError, match="does not compile"):
        _mutant(tmp_path, broken).apply(_tree(tmp_path))


@pytest.mark.parametrize("line", PATCH.splitlines()[:4])
def test_a_header_has_all_its_lines(tmp_path: Path, line: str) -> None:
    with pytest.raises(PatchError, match=line.partition(":")[0]):
        _mutant(tmp_path, PATCH.replace(line + "\n", ""))


def test_a_patch_without_a_diff_is_none(tmp_path: Path) -> None:
    with pytest.raises(PatchError, match="a diff"):
        _mutant(tmp_path, PATCH.partition("\n\n")[0] + "\n\n")


def test_mutants_are_found_by_words_in_their_names(tmp_path: Path) -> None:
    for name in ("fence-a", "fence-b", "queue"):
        (tmp_path / f"{name}.patch").write_text(PATCH)
    assert [it.name for it in read_mutants(["fence"], tmp_path)] == ["fence-a", "fence-b"]
