"""Intervals that do not fall together."""

from __future__ import annotations

import random

__all__ = ["jittered"]


def jittered(seconds: float, spread: float = 0.15) -> float:
    """`seconds`, up to `spread` of it more or less: what was started together drifts apart.

    Raises:
        ValueError: `spread` is not from 0 to below 1.
    """
    if not 0 <= spread < 1:
        raise ValueError(f"a spread of {spread} must be at least 0 and below 1")
    return seconds * random.uniform(1 - spread, 1 + spread)
