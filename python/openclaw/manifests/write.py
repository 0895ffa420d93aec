"""Brings generated files to disk, and tells whether they are up to date."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from openclaw.manifests.errors import ManifestError
from openclaw.manifests.yaml import is_generated, operator_of

Change = Literal["wrote", "unchanged", "removed"]
"""What became of a file."""


def write(files: Mapping[str, str], root: Path) -> dict[str, Change]:
    """Write what differs, and remove files that were generated for the same operator and are no more.

    Several operators may share a folder as long as their files have names of their own.

    Args:
        files: relative path -> text, as `generate` gives it.
        root: the folder to which the paths are relative.

    Returns:
        What became of each file, by its relative path, in order.

    Raises:
        ManifestError: a file there is not generated, or is another operator's. Nothing was written then.
    """
    foreign = [f"{root / path} {why}" for path in sorted(files) if (why := _foreign(files, root, path))]
    if foreign:
        raise ManifestError(
            f"nothing was written: {'; '.join(foreign)}. Choose another folder with --output, "
            "or move what is there"
        )
    changes: dict[str, Change] = {}
    for path, text in files.items():
        target = root / path
        if _read(target) == text:
            changes[path] = "unchanged"
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")
        changes[path] = "wrote"
    for path in _stale(files, root):
        (root / path).unlink()
        changes[path] = "removed"
    return dict(sorted(changes.items()))


def check(files: Mapping[str, str], root: Path) -> list[str]:
    """What `write` would change, or refuse: a text for each file, with a diff; empty when up to date."""
    differences: list[str] = []
    for path, text in sorted(files.items()):
        present = _read(root / path)
        foreign = _foreign(files, root, path)
        if present is None:
            differences.append(f"{path}: is missing")
        elif foreign:
            differences.append(f"{path}: {foreign}")
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
    except UnicodeDecodeError:
        return ""  # whatever it is, it was not generated


def _foreign(files: Mapping[str, str], root: Path, path: str) -> str | None:
    """Why the file that is there may not be written over; None where it may, or there is none."""
    present = _read(root / path)
    if present is None or present == files[path]:
        return None
    if not is_generated(present):
        return "was not generated"
    ours, theirs = operator_of(files[path]), operator_of(present)
    if theirs is None:
        return "was generated, and does not say for which operator"
    return f"is of the operator {theirs}" if theirs != ours else None


def _stale(files: Mapping[str, str], root: Path) -> list[str]:
    """Files beside those of `files` that were generated for the same operator, and are no more."""
    operators = {operator_of(text) for text in files.values()} - {None}
    folders = sorted({Path(path).parent for path in files})
    present = [folder / file.name for folder in folders for file in sorted((root / folder).glob("*.yaml"))]
    return [
        path.as_posix()
        for path in present
        if path.as_posix() not in files and operator_of(_read(root / path) or "") in operators
    ]
