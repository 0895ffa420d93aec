"""Fails when a source file has grown past what one reader can hold: a file does one thing."""

import sys
from collections.abc import Iterator
from pathlib import Path

LIMIT = 500
FOLDERS = ("python", "rust", "tests", "examples", "bench", "tools", "deploy", "docs")
SUFFIXES = frozenset({".py", ".pyi", ".rs", ".go", ".sh"})
# One extension module has one stub.
EXEMPT = frozenset({"python/openclaw/_core.pyi"})
BUILT = frozenset({"target", "__pycache__", "node_modules"})


def sources(root: Path) -> Iterator[Path]:
    """The source files of the project under `root`, in a stable order."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            source = path.suffix in SUFFIXES and path.as_posix() not in EXEMPT
            if source and BUILT.isdisjoint(path.parts) and path.is_file():
                yield path


def main() -> int:
    """Prints the files that are too long; 1 when there are any."""
    too_long = 0
    for path in sources(Path()):
        with path.open("rb") as lines:
            count = sum(1 for _ in lines)
        if count > LIMIT:
            print(f"{path}: {count} lines, at most {LIMIT}: split it by purpose")
            too_long += 1
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
