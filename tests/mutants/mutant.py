"""A seeded bug: a small patch with a header, and the tree that it is applied to."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["FOLDER", "Mutant", "PatchError", "overlay", "read_mutants"]

FOLDER: Final = Path(__file__).parent
"""Where the patches are."""

_HEADERS: Final = ("Breaks", "Plausible", "Seen by", "Scenarios")
_FILE: Final = re.compile(r"^\+\+\+ b/(\S+)$", re.MULTILINE)
_COPIED: Final = ("python/openclaw", "tests/simulation", "tests/mutants")


class PatchError(Exception):
    """A patch does not fit the tree any more, or what it makes of it is no program."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One seeded bug.

    Attributes:
        name: of its file.
        breaks: what it breaks.
        plausible: why somebody could write it.
        seen_by: the invariants that should see it.
        scenarios: those that are run.
        patch: a unified diff.
        files: what it changes.
    """

    name: str
    breaks: str
    plausible: str
    seen_by: str
    scenarios: tuple[str, ...]
    patch: str
    files: tuple[str, ...]

    @property
    def in_rust(self) -> bool:
        """Whether the extension module has to be built for it."""
        return any(name.endswith(".rs") for name in self.files)

    @classmethod
    def read(cls, path: Path) -> Mutant:
        """The mutant in a file.

        Raises:
            PatchError: a line of the header is missing, or there is no diff.
        """
        header, _, patch = path.read_text().partition("\n\n")
        values = dict(line.split(": ", 1) for line in header.splitlines() if ": " in line)
        missing = [name for name in _HEADERS if not values.get(name, "").strip()]
        files = tuple(_FILE.findall(patch))
        if missing or not files:
            raise PatchError(f"{path.name}: needs {', '.join(missing) or 'a diff'}")
        scenarios = tuple(it.strip() for it in values["Scenarios"].split(","))
        return cls(
            path.stem, values["Breaks"], values["Plausible"], values["Seen by"], scenarios, patch, files
        )

    def apply(self, root: Path) -> None:
        """Change the files under `root`, which must be no folder of a git work tree.

        Raises:
            PatchError: it does not apply, or what comes of it does not compile.
        """
        before = [(root / name).read_text() for name in self.files]
        done = subprocess.run(
            ["git", "apply", "-p1", "-"],
            cwd=root,
            input=self.patch.encode(),
            capture_output=True,
            check=False,
            env={**os.environ, "GIT_CEILING_DIRECTORIES": str(root.resolve().parent)},
        )
        if done.returncode:
            raise PatchError(f"{self.name}: does not apply: {done.stderr.decode().strip()}")
        for name, text in zip(self.files, before, strict=True):
            path = root / name
            after = path.read_text()
            if after == text:
                raise PatchError(f"{self.name}: changes nothing in {name}")
            if path.suffix == ".py":
                try:
                    ast.parse(after, name)
                except SyntaxError as error:
                    raise PatchError(f"{self.name}: {name} does not compile: {error}") from error


def read_mutants(only: Sequence[str] = (), folder: Path = FOLDER) -> list[Mutant]:
    """All mutants in order of their names, or those with one of the words `only` in it.

    Raises:
        PatchError: a file is none.
    """
    found = [Mutant.read(path) for path in sorted(folder.glob("*.patch"))]
    return [it for it in found if not only or any(word in it.name for word in only)]


def overlay(tree: Path, folder: Path) -> None:
    """Copy what is run from the tree to a new folder: the package, and the simulation's tests."""
    for name in _COPIED:
        shutil.copytree(tree / name, folder / name)
