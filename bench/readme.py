"""Writes the README's performance section from the latest results: `make bench-readme`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from bench import environment
from bench.inprocess.report import TITLES
from bench.operators.report import cpu_each, of_workload, spread
from bench.shards import figures
from bench.shards.report import name
from bench.shards.sizes import SINGLETON
from bench.tables import table

README: Final = environment.ROOT / "README.md"
BEGIN: Final = "<!-- performance: written by `make bench-readme` from bench/results -->"
END: Final = "<!-- end of performance -->"

Result = dict[str, Any]


class MarkerError(RuntimeError):
    """The README has no place for the section."""


def main() -> None:
    """Put the section between the README's markers; raises MarkerError when these are not there."""
    text = README.read_text()
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 or end < begin:
        raise MarkerError(f"{README.name} lacks the lines {BEGIN} and {END}")
    README.write_text(text[: begin + len(BEGIN)] + "\n" + section(environment.RESULTS) + text[end:])


def section(folder: Path) -> str:
    """The section, of what results there are."""
    parts = ["## Performance\n"]
    whole, inside = _load(folder / "operators.json"), _load(folder / "inprocess.json")
    if whole:
        parts += _operators(whole)
    if inside:
        parts += _inprocess(inside)
    shards = _load(folder / "shards.json")
    if shards:
        parts += _shards(shards)
    if not whole and not inside and not shards:
        commands = "`make bench`, `make bench-operators` and `make bench-shards` fill this in"
        parts.append(f"Not measured yet: {commands}.\n")
    parts.append("How it is measured, and what it leaves out: [bench/README.md](bench/README.md).\n")
    return "\n".join(parts)


def _load(file: Path) -> Result | None:
    return json.loads(file.read_text()) if file.exists() else None


def _where(result: Result) -> str:
    here = result["environment"]
    return f"{here['cores']} cores, {here['cpu']}, {here['at'][:10]}"


def _operators(result: Result) -> list[str]:
    """Whole operators: CPU and memory of each peer."""
    columns = {workload: of_workload(result, workload) for workload in ("w1", "w4", "w3")}
    cold = of_workload(result, "w2")
    rows = []
    for peer in result["peers"]:
        cells = [
            f"{spread(runs[peer], cpu_each).median:.2f} ms" if peer in runs else ""
            for runs in columns.values()
        ]
        starts = [start for run in cold.get(peer, []) for start in run["full"]]
        if starts:
            cells.append(f"{spread(starts, lambda s: s['operator_cpu_s']).median:.1f} s")
            cells.append(f"{spread(starts, lambda s: s['bytes_per_widget'] / 1000).median:.1f} KB")
        rows.append(
            [f"**{peer}**" if peer.startswith("openclaw") else peer, *cells, *[""] * (5 - len(cells))]
        )
    n = next((runs[0]["n"] for runs in cold.values()), 0)
    head = [
        "operator",
        "new object",
        "spec update",
        "irrelevant event",
        f"cold start, {n:,} objects",
        "memory an object",
    ]
    runs = "one round" if result["sizes"]["rounds"] == 1 else f"{result['sizes']['rounds']} rounds"
    noise = "; **others disturbed it**" if _disturbed(result) else ""
    where = f"{_where(result)}; {runs}, medians{noise}"
    text = f"""The same operator on four frameworks, on a real kube-apiserver: CPU time of the operator
for each object or event, and the memory it keeps for each object and its child ({where}).
`make bench-operators` prints it; [all figures](bench/results/operators.md).
"""
    return [text, table(head, rows), "![CPU time of whole operators](bench/results/operators.svg)\n"]


def _disturbed(result: Result) -> bool:
    return any(run["result"].get("disturbed", False) for run in result["runs"] if "result" in run)


def _inprocess(result: Result) -> list[str]:
    """In process: what an irrelevant event costs."""
    records = [
        r for r in result["records"] if (r["suite"], r["case"], r["kind"]) == ("feed", "irrelevant", "Widget")
    ]
    memory = _memory(result["memory"])
    rows = [
        [
            "**openclaw**" if r["contestant"] == "openclaw" else TITLES[r["contestant"]],
            f"{1e6 / r['ns']['median']:,.0f}",
            memory.get(r["contestant"], ""),
        ]
        for r in sorted(records, key=lambda r: r["ns"]["median"])
    ]
    size = records[0]["bytes"] / 1000 if records else 0
    most = max((m["objects"] for m in result["memory"]), default=0)
    head = ["reading a watch", "thousand irrelevant events/s of a core", f"KB an object, {most:,} of them"]
    text = f"""In process, on objects of {size:.1f} KB ({_where(result)}). `make bench` prints it; [all
figures](bench/results/inprocess.md).
"""
    return [text, table(head, rows), "![Irrelevant events a second](bench/results/inprocess-feed.svg)\n"]


def _shards(result: Result) -> list[str]:
    """Shards: the same load in times the CPU of one process."""
    plain, filtered = (figures.groups(result, filtered=filtered) for filtered in (False, True))
    rows = [
        [name(shards), *(_times(of, shards) for of in (plain, filtered))]
        for shards in plain
        if shards != SINGLETON
    ]
    head = ["shards", "CPU, times one process", "the same, where the API server filters by shard"]
    changes = _changes(result.get("rebalance", {}), result)
    noise = "; **others disturbed it**" if any(map(figures.disturbed, plain.values())) else ""
    text = f"""Shards: the CPU time of all of them for the same load, in times that of the
operator as one process ({_where(result)}{noise}). {changes}
`make bench-shards` prints it; [all figures](bench/results/shards.md).
"""
    return [text, table(head, rows), "![CPU time of shards](bench/results/shards.svg)\n"]


def _times(of: dict[int, Result], shards: int) -> str:
    times = figures.times(of, shards, figures.TOGETHER)
    return "" if times is None else f"{times:.2f}"


def _changes(told: Result, result: Result) -> str:
    if not told.get("changes"):
        return ""
    written = sum(n for resource, n in told["written"].items() if resource != "leases")
    gaps = figures.changes(result, "join_gaps_s") + figures.changes(result, "leave_gaps_s")
    p50, p99 = (1000 * figures.percentile(gaps, share) for share in (0.5, 0.99))
    return (
        f"A fourth shard comes and goes: {written} objects are written, and for a slot that moves nobody "
        f"begins a run for {p50:.0f} ms (p99 {p99:.0f} ms)."
    )


def _memory(found: Iterable[Result]) -> dict[str, str]:
    widgets = [m for m in found if m["kind"] == "Widget"]
    most = max((m["objects"] for m in widgets), default=0)
    chosen = [m for m in widgets if m["objects"] == most]
    return {m["contestant"]: f"{(m['after'] - m['before']) / m['objects'] / 1000:.2f}" for m in chosen}


if __name__ == "__main__":
    main()
