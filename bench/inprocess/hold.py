"""Keeps the objects of a stream of events in a process of its own and says what memory that took.

Run by `bench.inprocess.memory`: `python -m bench.inprocess.hold CONTESTANT KIND`, events on standard input.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.inprocess.contestants import CONTESTANTS, Ours

CHUNK = 64 << 10


def resident(name: str) -> int:
    """Bytes: `VmRSS` for now, `VmHWM` for the most so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def chunks() -> Iterator[bytes]:
    """Standard input as it comes."""
    while chunk := os.read(0, CHUNK):
        yield chunk


def main() -> None:
    name, kind = sys.argv[1:3]
    reader = CONTESTANTS[name](kind)
    gc.collect()
    before = resident("VmRSS")
    reader.feed(chunks())
    gc.collect()
    result = {"before": before, "after": resident("VmRSS"), "peak": resident("VmHWM"), "objects": len(reader)}
    if isinstance(reader, Ours):
        result["accounted"] = reader.cache.stats()["bytes"]
    print(json.dumps(result))


if __name__ == "__main__":
    main()
