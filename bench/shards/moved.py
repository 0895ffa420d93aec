"""Slots that move when the set of shards changes: a pure function of the shards' names."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any, Final

from openclaw._core import Ring

SLOTS: Final = 256
SIZES: Final = (1, 2, 3, 4, 5, 8, 16, 32)


def names(count: int) -> list[str]:
    """The shards' names, as of a StatefulSet's pods."""
    return [f"bench-{number}" for number in range(count)]


def moved(before: Iterable[str], after: Iterable[str]) -> int:
    """Slots that another shard has afterwards."""
    old, new = Ring(before).owners, Ring(after).owners
    return sum(a != b for a, b in zip(old, new, strict=True))


def changes(count: int) -> dict[str, Any]:
    """What moves from `count` shards: one more; the last one less; any one crashed.

    `ideal` is what must move at least: the share of the shard that comes or goes.
    """
    group = names(count)
    crashed = [moved(group, [it for it in group if it != gone]) for gone in group] if count > 1 else []
    return {
        "shards": count,
        "added": moved(group, names(count + 1)),
        "added_ideal": SLOTS / (count + 1),
        "removed": crashed[-1] if crashed else None,
        "removed_ideal": SLOTS / count if crashed else None,
        "crashed": crashed and {"mean": statistics.fmean(crashed), "max": max(crashed)},
    }


def balance(counts: Iterable[float]) -> float:
    """The largest over the mean; 1 where there is nothing."""
    values = list(counts)
    mean = statistics.fmean(values) if values else 0.0
    return max(values) / mean if mean else 1.0
