"""What follows from the runs: totals, ratios to the operator that is not sharded, percentiles."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any, Final

from bench.shards.sizes import SINGLETON
from bench.tables import Spread

Result = dict[str, Any]

WORK: Final = ("create", "bump", "storm", "trickle")
"""The loads that are work; `idle` is not."""
TOGETHER: Final = "together"


def groups(result: Result, *, filtered: bool) -> dict[int, Result]:
    """The runs on one kind of API server, by the number of shards."""
    return {
        run["shards"]: run for run in result["runs"] if run["filtered"] == filtered and "error" not in run
    }


def calm(measured: Sequence[Result]) -> list[Result]:
    """Those that nothing disturbed, or all where there are no others."""
    return [it for it in measured if not it["disturbed"]] or list(measured)


def disturbed(run: Result) -> bool:
    """Whether any figure of this group is of disturbed measurements only."""
    parts = [[run["start"]], *(run[name] for name in (*WORK, "idle"))]
    return any(all(it["disturbed"] for it in part) for part in parts)


def cpu(run: Result, load: str) -> Spread:
    """CPU seconds of all shards: of one load, or of one of each kind of work."""
    if load == TOGETHER:
        parts = [cpu(run, name) for name in WORK]
        return Spread(*(sum(getattr(it, at) for it in parts) for at in ("low", "median", "high")))
    if load == "start":
        return Spread.of([sum(run["start"]["cpu_s"])])
    return Spread.of(sum(it["cpu_s"]) for it in calm(run[load]))


def cpu_by_shard(run: Result) -> list[float]:
    """CPU seconds of each shard for one of each kind of work."""
    shards = range(len(run["start"]["cpu_s"]))
    return [
        sum(statistics.median(it["cpu_s"][shard] for it in calm(run[name])) for name in WORK)
        for shard in shards
    ]


def total(run: Result, what: str) -> float:
    """Of all shards for one of each kind of work: `read_bytes`, `written_bytes`, `reconciles`."""
    return sum(float(statistics.median(sum(it[what]) for it in run[name])) for name in WORK)


def by_shard(run: Result, what: str) -> list[float]:
    """The same of each shard."""
    shards = range(len(run["start"][what]))
    return [sum(float(statistics.median(it[what][n] for it in run[name])) for name in WORK) for n in shards]


def requests(run: Result) -> int:
    """Of all shards for one of each kind of work."""
    each = (float(statistics.median(it["requests"]["total"] for it in run[name])) for name in WORK)
    return round(sum(each))


def times(of: dict[int, Result], shards: int, load: str) -> float | None:
    """CPU of so many shards, in times that of the operator that is not sharded."""
    if shards not in of or SINGLETON not in of:
        return None
    alone = cpu(of[SINGLETON], load).median
    return cpu(of[shards], load).median / alone if alone else None


class Memory:
    """The resident set of a group after its start over the settled objects.

    Args:
        run: of the group.
        empty: what one process has where there is nothing to read.
    """

    def __init__(self, run: Result, empty: int) -> None:
        self.each: list[int] = run["start"]["rss"]
        self.total: int = sum(self.each)
        self.empty: int = empty * len(self.each)
        self.growth: int = self.total - self.empty
        self.objects: int = sum(run["objects"])


def before(result: Result, run: Result) -> Result:
    """What starts cost on the same API server before the groups."""
    found: Result = result["before"]["filtered" if run["filtered"] else "unfiltered"]
    return found


def memory(result: Result, run: Result) -> Memory:
    """A group's memory."""
    empty = before(result, run)["empty"]["0" if run["shards"] == SINGLETON else "1"]
    return Memory(run, empty["rss"][0])


def bytes_each(result: Result, alone: Result) -> float:
    """What an object and its child take: between starts over a third of them and over all."""
    third, whole = before(result, alone)["third"], memory(result, alone)
    grown: int = whole.total - third["rss"][0]
    more: int = whole.objects - third["objects"]
    return grown / more


def enough_objects(result: Result, alone: Result, run: Result, limit: float) -> int | None:
    """From how many objects on the group has at most `limit` times the memory; None: cannot be told.

    What a process has besides its objects, each process has; an object takes the same wherever it is.
    """
    each = bytes_each(result, alone)
    if each <= 0:
        return None
    whole, group = memory(result, alone), memory(result, run)
    besides_alone = whole.total - each * whole.objects
    besides = group.total - each * group.objects
    return max(0, math.ceil((besides - limit * besides_alone) / ((limit - 1) * each)))


def percentile(values: Iterable[float], share: float) -> float:
    """The value that this share of the values does not exceed; 0 where there are none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def changes(result: Result, what: str) -> list[float]:
    """A figure of all changes under load; lists are joined."""
    found: list[float] = []
    for change in result["rebalance"]["changes"]:
        found += change[what] if isinstance(change[what], list) else [change[what]]
    return found
