"""The report's part on shards that come, go and crash."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from bench.shards import figures
from bench.tables import table

Result = dict[str, Any]

_ABOUT: Final = """\
While {rate:.0f} specs a second change, of {objects:,} Widgets, {count} times: a fourth shard joins
three, and leaves again. A *gap* is from when a shard began no more runs of a slot, so that those in
flight may end, until another could begin one; of each slot that moved, by the shards' logs. *Joining*
is from the shard's first Lease at the API server (audit log), *leaving* from SIGTERM, until the last
slot is acted on again.
"""


def moved(result: Result) -> str:
    """Of 256 slots, by the ring alone."""
    rows = []
    for change in result["moved"]:
        crashed = change["crashed"]
        rows.append(
            [
                str(change["shards"]),
                f"{change['added']} ({change['added_ideal']:.1f})",
                f"{change['removed']} ({change['removed_ideal']:.1f})" if crashed else "",
                f"{crashed['mean']:.1f} / {crashed['max']} ({change['removed_ideal']:.1f})"
                if crashed
                else "",
            ]
        )
    head = ["shards", "one more", "the last one less", "any one crashed, mean / most"]
    return (
        "Of 256, as the ring says; in brackets the share of the shard that comes or goes, which must move at "
        "least.\n\n" + table(head, rows)
    )


def told(result: Result) -> str:
    """What happened when they did."""
    found = result["rebalance"]
    if "error" in found:
        return ""
    written = ", ".join(f"{what} {n}" for what, n in found["written"].items()) or "nothing"
    count = len(found["changes"])
    parts = [
        _ABOUT.format(count=count, **found),
        _durations(result),
        f"Written by 3 -> 4 -> 3 shards while nothing else happened, by resource (audit log): {written}.\n",
        _metrics(found),
        _latencies(found),
    ]
    if found["kills"]:
        parts.append(_kills(found))
    return "\n".join(parts)


def _durations(result: Result) -> str:
    rows = [
        ["joining: gap of a slot", *_percentiles(figures.changes(result, "join_gaps_s"))],
        ["joining, whole", *_percentiles(figures.changes(result, "join_s"))],
        [
            "joining, with the start of the process",
            *_percentiles(figures.changes(result, "join_with_start_s")),
        ],
        ["leaving: gap of a slot", *_percentiles(figures.changes(result, "leave_gaps_s"))],
        ["leaving, whole", *_percentiles(figures.changes(result, "leave_s"))],
    ]
    return table(["seconds", "n", "p50", "p99", "max"], rows)


def _percentiles(values: list[float]) -> list[str]:
    return [f"{len(values):,}", *(f"{figures.percentile(values, at):.3f}" for at in (0.5, 0.99, 1.0))]


def _metrics(found: Result) -> str:
    meaning = {"warm": "objects are read", "claim": "nobody acts", "drain": "runs in flight end"}
    rows = [
        [f"{phase}: {meaning[phase]}", str(it["count"]), f"{it['mean_s']:.3f}", f"≤ {it['p99_at_most_s']:g}"]
        for phase, it in found["metrics"].items()
    ]
    head = ["`openclaw_handover_seconds`, by phase", "n", "mean, s", "p99, s"]
    return table(head, rows)


def _latencies(found: Result) -> str:
    kinds = [("undisturbed", "three shards"), ("disturbed", "while a fourth comes and goes")]
    if found["kills"]:
        kinds.append(("killed", "while shards are killed"))
    rows = [[title, *_cells(found[name])] for name, title in kinds]
    head = [
        "from a change of the spec until it was acted on, ms",
        "updates",
        "p50",
        "p99 of the worst 5 s",
        "max",
    ]
    return table(head, rows)


def _cells(latencies: dict[str, float]) -> Iterable[str]:
    return (f"{latencies[at]:,.0f}" for at in ("updates", "p50", "p99", "max"))


def _kills(found: Result) -> str:
    slots = [gap for kill in found["kills"] for gap in kill["gaps_s"]]
    whole = [kill["take_over_s"] for kill in found["kills"]]
    rows = [["of a slot", *_percentiles(slots)], ["of all slots of the shard", *_percentiles(whole)]]
    note = "The Lease is good for 15 s after its last renewal, which was up to 5 s before the kill.\n"
    return table(["take-over after SIGKILL, s", "n", "p50", "p99", "max"], rows) + "\n" + note
