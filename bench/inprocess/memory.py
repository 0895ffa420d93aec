"""Memory an object: the growth of the resident set of a fresh process that keeps so many of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from bench.inprocess import corpus, native

KINDS: Final = ("Widget", "Deployment")
PYTHON: Final = ("openclaw", "orjson")
NATIVE: Final = ("go-typed", "go-unstructured", "rust-typed")
BATCH: Final = 500

Say = Callable[[str], None]


def measure(counts: tuple[int, ...], say: Say, missing: dict[str, str]) -> list[dict[str, Any]]:
    """Hold so many objects in each contestant; one record a process.

    Args:
        counts: how many objects.
        say: told what is being done.
        missing: native programs that are not there.
    """
    found = []
    for kind in KINDS:
        batches: list[bytes] = []
        for count in counts:
            batches += _batches(kind, len(batches) * BATCH, count)
            for name in (*PYTHON, *NATIVE):
                if name in NATIVE and native.NATIVE[name].program in missing:
                    continue
                say(f"memory: {count:,} {kind}s in {name}")
                result = _hold(name, kind, batches)
                if result["objects"] != count:
                    raise RuntimeError(f"{name} keeps {result['objects']} of {count} {kind}s")
                size = sum(map(len, batches)) / count
                about = {"kind": kind, "contestant": name, "bytes": round(size)}
                found.append(about | result)
    return found


def _batches(kind: str, start: int, end: int) -> list[bytes]:
    """The events of the objects from `start` to `end`, so many at a time."""
    return [
        b"".join(
            corpus.template(kind, n).event("ADDED", n + 1) for n in range(first, min(first + BATCH, end))
        )
        for first in range(start, end, BATCH)
    ]


def _hold(name: str, kind: str, batches: list[bytes]) -> dict[str, Any]:
    if name in native.NATIVE:
        return native.hold(native.NATIVE[name], kind, batches)
    return native.piped([sys.executable, "-m", "bench.inprocess.hold", name, kind], batches)
