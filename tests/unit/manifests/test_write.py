"""Files on disk follow what is generated."""

from pathlib import Path

import pytest

from openclaw.manifests import HEADER, check, write

FILES = {"crds/a.yaml": HEADER + "---\na: 1\n", "deploy/base/b.yaml": HEADER + "---\nb: 1\n"}


def test_write_then_check(tmp_path: Path) -> None:
    assert check(FILES, tmp_path) == ["crds/a.yaml: is missing", "deploy/base/b.yaml: is missing"]
    assert not list(tmp_path.iterdir())  # a check writes nothing
    assert write(FILES, tmp_path) == ["crds/a.yaml", "deploy/base/b.yaml"]
    assert check(FILES, tmp_path) == []
    assert (tmp_path / "crds/a.yaml").read_text() == FILES["crds/a.yaml"]


def test_what_is_current_is_not_touched(tmp_path: Path) -> None:
    write(FILES, tmp_path)
    before = (tmp_path / "crds/a.yaml").stat().st_mtime_ns
    assert write(FILES, tmp_path) == []
    assert (tmp_path / "crds/a.yaml").stat().st_mtime_ns == before


def test_a_difference_is_shown(tmp_path: Path) -> None:
    write(FILES, tmp_path)
    (tmp_path / "crds/a.yaml").write_text(HEADER + "---\na: 2\n")
    (difference,) = check(FILES, tmp_path)
    assert difference.startswith("crds/a.yaml: is out of date\n--- crds/a.yaml (on disk)\n")
    assert "\n-a: 2\n+a: 1" in difference
    assert write(FILES, tmp_path) == ["crds/a.yaml"]
    assert check(FILES, tmp_path) == []


@pytest.mark.parametrize("change", ["\r\n", "no final newline"])
def test_every_byte_counts(tmp_path: Path, change: str) -> None:
    write(FILES, tmp_path)
    text = FILES["crds/a.yaml"]
    text = text.replace("\n", "\r\n") if change == "\r\n" else text.removesuffix("\n")
    (tmp_path / "crds/a.yaml").write_bytes(text.encode())
    assert len(check(FILES, tmp_path)) == 1


def test_stale_files_go_but_only_generated_ones(tmp_path: Path) -> None:
    write(FILES, tmp_path)
    (tmp_path / "crds/old.yaml").write_text(HEADER + "---\nold: 1\n")
    (tmp_path / "crds/own.yaml").write_text("own: 1\n")
    (tmp_path / "crds/README.md").write_text(HEADER)
    (tmp_path / "deploy/other.yaml").write_text(HEADER)
    assert check(FILES, tmp_path) == ["crds/old.yaml: is generated no more"]
    assert write(FILES, tmp_path) == ["crds/old.yaml"]
    assert sorted(path.name for path in (tmp_path / "crds").iterdir()) == ["README.md", "a.yaml", "own.yaml"]
    assert (tmp_path / "deploy/other.yaml").exists()
