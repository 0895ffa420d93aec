"""The files of CustomResourceDefinitions that a command line names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

__all__ = ["crd_files"]


def crd_files(paths: Iterable[Path]) -> list[Path]:
    """The files themselves, and those named `*.yaml` in folders, sorted.

    Raises:
        ValueError: a path is neither a file nor a folder with such files.
    """
    files: list[Path] = []
    for path in paths:
        found = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
        if not found or not found[0].is_file():
            msg = f"{path} is neither a file nor a folder with *.yaml files"
            raise ValueError(msg)
        files += found
    return files
