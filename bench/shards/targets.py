"""What must hold of shards."""

from __future__ import annotations

from typing import Any, Final

from bench.shards import figures
from bench.shards.figures import TOGETHER
from bench.shards.sizes import SINGLETON
from bench.tables import Verdict

Result = dict[str, Any]

TOTAL: Final = 1.10
EFFICIENCY: Final = 0.90
GAP_SECONDS: Final = 1.0
TAKE_OVER_SECONDS: Final = 16.0
"""A Lease of 15 s, and the second that it takes to notice, to claim and to begin."""
BALANCE: Final = 1.25


def targets(result: Result) -> list[Verdict]:
    """The targets for which there are figures."""
    found = []
    for filtered, where in ((False, "without the server's filter"), (True, "with the server's filter")):
        found += _of(result, filtered, where)
    return [*found, *_moving(result)]


def _of(result: Result, filtered: bool, where: str) -> list[Verdict]:
    of = figures.groups(result, filtered=filtered)
    found = []
    if (times := figures.times(of, 3, TOGETHER)) is not None:
        found.append(Verdict(f"CPU of 3 shards, times the singleton's, {where}", times, TOTAL))
    if (times := figures.times(of, 5, TOGETHER)) is not None:
        found.append(
            Verdict(f"work per CPU second at 5 shards, {where}", 1 / times, EFFICIENCY, at_least=True)
        )
    if {SINGLETON, 3} <= set(of):
        alone, three = (figures.memory(result, of[n]) for n in (SINGLETON, 3))
        ratio = three.total / alone.total
        what = f"resident memory of 3 shards with {three.objects:,} objects, times the singleton's, {where}"
        found.append(Verdict(what, ratio, TOTAL))
        if alone.growth > 0:
            what = f"the same over empty processes, {where}"
            found.append(Verdict(what, three.growth / alone.growth, TOTAL))
    return found


def _moving(result: Result) -> list[Verdict]:
    told = result.get("rebalance")
    if not told or "error" in told:
        return []
    objects = sum(n for resource, n in told["written"].items() if resource != "leases")
    gaps = figures.changes(result, "join_gaps_s") + figures.changes(result, "leave_gaps_s")
    found = [
        Verdict("objects written by 3 -> 4 -> 3 shards", objects, 0),
        Verdict(
            "hand-over under load, nobody begins a run, p99",
            figures.percentile(gaps, 0.99),
            GAP_SECONDS,
            " s",
        ),
    ]
    if told["kills"]:
        worst = max(kill["take_over_s"] for kill in told["kills"])
        found.append(Verdict("take-over after SIGKILL, the longest", worst, TAKE_OVER_SECONDS, " s"))
    return found
