"""Brings generated files to disk, and tells whether they are up to date."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

from openclaw.manifests.yaml import HEADER


def write(files: Mapping[str, str], root: Path) -> list[str]:
    """Write what differs, and remove generated files beside them that are generated no more.

    So a folder belongs to one operator. A file without the header of generated files is never removed.

    Args:
        files: relative path -> text, as `generate` gives it.
        root: the folder to which the paths are relative.

    Returns:
        The relative paths that were written or removed, in order; empty when all was up to date.
    """
    changed: list[str] = []
    for path, text in sorted(files.items()):
        target = root / path
        if _read(target) != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="\n")
            changed.append(path)
    for path in _stale(files, root):
        (root / path).unlink()
        changed.append(path)
    return sorted(changed)


def check(files: Mapping[str, str], root: Path) -> list[str]:
    """What `write` would change: a text for each file, with a unified diff; empty when up to date."""
    differences: list[str] = []
    for path, text in sorted(files.items()):
        present = _read(root / path)
        if present is None:
            differences.append(f"{path}: is missing")
        elif present != text:
            diff = difflib.unified_diff(
                present.splitlines(),
                text.splitlines(),
                f"{path} (on disk)",
                f"{path} (generated)",
                lineterm="",
            )
            differences.append("\n".join([f"{path}: is out of date", *diff]))
    differences.extend(f"{path}: is generated no more" for path in _stale(files, root))
    return differences


def _read(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _stale(files: Mapping[str, str], root: Path) -> list[str]:
    folders = sorted({Path(path).parent for path in files})
    present = [folder / file.name for folder in folders for file in sorted((root / folder).glob("*.yaml"))]
    return [
        path.as_posix()
        for path in present
        if path.as_posix() not in files and (_read(root / path) or "").startswith(HEADER)
    ]
