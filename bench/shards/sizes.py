"""How much is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SINGLETON: Final = 0
"""Number of shards of the operator that is not sharded at all: what everything is held against."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is done. Pauses are in seconds.

    Attributes:
        shards: the groups that are measured on an API server without the feature gate.
        filtered: those on one with it.
        settled: Widgets that are right already when a group starts; the storm is over them.
        created: Widgets that a load creates, each of which gets a ConfigMap.
        bumped: specs that a load changes.
        patches: status patches of a storm.
        trickle: status patches at `pace` a second, each of which comes alone.
        repeats: of each load.
        idle: with nothing to do.
        tail: after a load, for what is still under way.
        rebalances: 3 -> 4 -> 3 shards under load, so many times.
        kills: of one of three shards, so many times.
        rate: spec updates a second while shards come and go.
    """

    shards: tuple[int, ...] = (SINGLETON, 1, 2, 3, 5, 8)
    filtered: tuple[int, ...] = (SINGLETON, 1, 3, 5, 8)
    settled: int = 4000
    created: int = 400
    bumped: int = 400
    patches: int = 3000
    trickle: int = 180
    pace: float = 60.0
    repeats: int = 3
    idle: float = 10.0
    tail: float = 1.5
    rebalances: int = 25
    kills: int = 4
    rate: float = 40.0


QUICK: Final = Sizes(
    shards=(SINGLETON, 3, 5, 8),
    filtered=(SINGLETON, 3, 5),
    settled=1200,
    created=150,
    bumped=150,
    patches=600,
    trickle=60,
    repeats=2,
    idle=4.0,
    tail=0.7,
    rebalances=5,
    kills=1,
)
