"""How much the benchmarks do: little where `OPENCLAW_BENCH_QUICK` is set, which the smoke test does."""

from __future__ import annotations

import os
from typing import Final

QUICK: Final = bool(os.environ.get("OPENCLAW_BENCH_QUICK"))

OBJECTS: Final = 20 if QUICK else 2000
"""Objects known, and events a round."""

ROUNDS: Final = 1 if QUICK else 15

LISTED: Final = 50 if QUICK else 5000
"""Objects of a list."""

HELD: Final = (200,) if QUICK else (10_000, 100_000)
"""Objects held when memory is measured."""
