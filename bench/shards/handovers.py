"""What `openclaw_handover_seconds` says, added up over shards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families

_METRIC: Final = "openclaw_handover_seconds"
PHASES: Final = ("warm", "claim", "drain")

Counts = Counter[tuple[str, str]]
"""By phase and upper bound of the bucket, or `sum`, or `count`."""


def read(text: str) -> Counts:
    """The histogram in one shard's metrics."""
    found: Counts = Counter()
    for family in text_string_to_metric_families(text):
        if family.name != _METRIC:
            continue
        for sample in family.samples:
            what = sample.labels.get("le") or sample.name.removeprefix(f"{_METRIC}_")
            found[sample.labels["phase"], what] += sample.value  # type: ignore[assignment]
    return found


def minus(now: Counts, before: Counts) -> Counts:
    """What has come since; both are of one process."""
    since = Counter(now)
    since.subtract(before)
    return since


def summary(counts: Iterable[Counts]) -> dict[str, Any]:
    """For each phase how often, its mean in seconds, and the bucket in which its 99th percentile is."""
    total: Counts = Counter()
    for one in counts:
        total.update(one)
    return {phase: _phase(total, phase) for phase in PHASES if total[phase, "count"]}


def _phase(total: Counts, phase: str) -> dict[str, Any]:
    count = total[phase, "count"]
    bounds = sorted(
        (float(what), n)
        for (of, what), n in total.items()
        if of == phase and what not in {"sum", "count", "created"}
    )
    below = next((bound for bound, n in bounds if n >= 0.99 * count), float("inf"))
    return {"count": int(count), "mean_s": total[phase, "sum"] / count, "p99_at_most_s": below}
