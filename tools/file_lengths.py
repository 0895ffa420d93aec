"""Fails when a source file has grown past what one reader can hold: a file does one thing."""

import subprocess
import sys
from pathlib import Path

LIMIT = 500
SUFFIXES = frozenset({".py", ".pyi", ".rs", ".sh"})


def main() -> int:
    """Prints the files that are too long, tracked or about to be; 1 when there are any."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
    ).stdout.decode()
    too_long = 0
    for path in sorted({Path(name) for name in listing.split("\0") if name}):
        # A file may be deleted in the work tree and still be tracked.
        if path.suffix not in SUFFIXES or not path.is_file():
            continue
        with path.open("rb") as lines:
            count = sum(1 for _ in lines)
        if count > LIMIT:
            print(f"{path}: {count} lines, at most {LIMIT}: split it by purpose")
            too_long += 1
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
