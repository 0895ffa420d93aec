"""Writes the comparison of operators as Markdown and a picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from bench import environment
from bench.operators.targets import targets
from bench.svg import Bar, chart
from bench.tables import Spread, table, verdicts

Result = dict[str, Any]
Runs = dict[str, list[Result]]
"""The results of a workload by peer: undisturbed ones, or all where there are no others."""

MB: Final = 1e6


def write(result: Result, folder: Path) -> None:
    """Write `operators.md` and its picture into a folder."""
    parts = ["# Operators\n", environment.text(result["environment"]), _preface(result)]
    targets_ = targets(result)
    if targets_:
        parts += ["## What must hold\n", verdicts(targets_)]
    sections: list[tuple[str, str, Callable[[Runs], str]]] = [
        ("check", "Correctness", _check),
        ("w1", "Converge: new Widgets, as fast as the server takes them", _converging),
        ("w2", "Cold start: all is right already", _cold),
        ("w3", "Irrelevant storm: status patches that change no generation", _storm),
        ("w6", "Irrelevant trickle: the same at a fixed rate, one event at a time", _storm),
        ("w4", "Spec updates", _converging),
        ("w5", "New Widgets at a modest rate", _converging),
    ]
    for name, title, render in sections:
        runs = of_workload(result, name)
        if runs:
            parts += [f"## {title} ({name})\n", render(runs)]
    parts.append("![](operators.svg)\n")
    (folder / "operators.md").write_text("\n".join(parts))
    (folder / "operators.svg").write_text(_chart(result))


def of_workload(result: Result, workload: str) -> Runs:
    """The results of one workload, by peer, without disturbed ones where there are others."""
    found: Runs = {}
    for peer in result["peers"]:
        runs = [
            run["result"]
            for run in result["runs"]
            if run["peer"] == peer and run["workload"] == workload and "error" not in run
        ]
        if runs:
            found[peer] = [run for run in runs if not run.get("disturbed")] or runs
    return found


def spread(runs: list[Result], what: Callable[[Result], float]) -> Spread:
    """A figure over the runs."""
    return Spread.of(what(run) for run in runs)


def cpu_each(run: Result) -> float:
    """Milliseconds of the operator's CPU time for each object or event."""
    return float(1000 * run["operator_cpu_s"] / run["n"])


def _preface(result: Result) -> str:
    sizes = result["sizes"]
    text = f"""{sizes["rounds"]} round(s), all peers in turn in each, each on a fresh kube-apiserver and
etcd, 10 objects at a time. CPU and memory are the operator's process tree. Cells are min / **median** / max
over the runs; † marks a peer of which every run was disturbed by something else on the machine.
[The benchmarks' README](../README.md) says how it is measured.
"""
    lines = [text]
    if result["quick"]:
        lines.append("This is the quick pass: smaller workloads, one round.\n")
    lines.append(table(["peer", "what it is"], [[name, title] for name, title in result["peers"].items()]))
    lines += [f"Left out, {name}: {why}\n" for name, why in result["left_out"].items()]
    for run in result["runs"]:
        if "error" in run:
            lines.append(f"Failed: {run['peer']}, {run['workload']}, round {run['round']}: {run['error']}\n")
    return "\n".join(lines)


def _name(peer: str, runs: list[Result]) -> str:
    marked = f"**{peer}**" if peer.startswith("openclaw") else peer
    return marked + (" †" if all(run.get("disturbed") for run in runs) else "")


def _ratio(runs: Runs, peer: str, what: Callable[[Result], float]) -> str:
    """How many times ours: above 1 is worse than ours."""
    if "openclaw" not in runs:
        return ""
    ours = spread(runs["openclaw"], what).median
    return f"{spread(runs[peer], what).median / ours:.2f}" if ours else ""


def _check(runs: Runs) -> str:
    def came(ms: float) -> str:
        return "never" if ms < 0 else f"{ms:.0f} ms"

    rows = [
        [
            _name(peer, found),
            *(str(sum(run[step] for run in found)) for step in ("created", "bumped", "repaired")),
            came(max(run["drift"]["repaired_ms"] for run in found)),
            came(max(run["drift"]["recreated_ms"] for run in found)),
        ]
        for peer, found in runs.items()
    ]
    head = [
        "peer",
        "wrong after create",
        "after update",
        "after repair",
        "damage repaired in",
        "deletion undone in",
    ]
    return table(head, rows)


def _converging(runs: Runs) -> str:
    rows = []
    for peer, found in runs.items():
        rows.append(
            [
                _name(peer, found),
                spread(found, cpu_each).text(2),
                _ratio(runs, peer, cpu_each),
                spread(found, lambda r: r["load"]["converge_s"]).text(1),
                spread(found, lambda r: r["load"]["latency_ms"]["p50"]).text(0),
                spread(found, lambda r: r["load"]["latency_ms"]["p99"]).text(0),
                spread(found, lambda r: r["apiserver_cpu_s"]).text(1),
                spread(found, lambda r: r["memory"]["peak"] / MB).text(0),
                str(sum(r["verify"]["problems"] for r in found)),
            ]
        )
    n = next(iter(runs.values()))[0]["n"]
    head = ["peer", f"CPU ms each of {n:,}", "times ours", "all done, s", "p50, ms", "p99, ms"]
    head += ["API server CPU, s", "peak RSS, MB", "wrong objects"]
    return table(head, rows) + "\n" + _requests(runs)


def _requests(runs: Runs) -> str:
    lines = []
    for peer, found in runs.items():
        run = sorted(found, key=lambda r: r["requests"]["total"])[len(found) // 2]
        said = ", ".join(f"{name} {n:,}" for name, n in run["requests"]["by_verb"].items()) or "none"
        failed = ", ".join(f"{name} {n:,}" for name, n in run["requests"]["failed"].items())
        lines.append(f"- {peer}: {said}" + (f"; failed: {failed}" if failed else ""))
    return "Requests of the operator (the run in the middle):\n\n" + "\n".join(lines) + "\n"


def _cold(runs: Runs) -> str:
    rows = []
    starts = {peer: [start for run in found for start in run["full"]] for peer, found in runs.items()}
    for peer, full in starts.items():
        empty = [start for run in runs[peer] for start in run["empty"]]
        rows.append(
            [
                _name(peer, runs[peer]),
                spread(full, lambda r: r["operator_cpu_s"]).text(2),
                _ratio(starts, peer, lambda r: r["operator_cpu_s"]),
                spread(empty, lambda r: r["operator_cpu_s"]).text(2),
                spread(full, lambda r: r["rest_s"]).text(1),
                spread(full, lambda r: r["bytes_per_widget"] / 1000).text(2),
                _ratio(starts, peer, lambda r: r["bytes_per_widget"]),
                spread(full, lambda r: r["memory"]["rss"] / MB).text(0),
                spread(full, lambda r: r["memory"]["peak"] / MB).text(0),
                spread(empty, lambda r: r["memory"]["rss"] / MB).text(0),
                spread(full, lambda r: r["requests"]["writes"]).text(0),
            ]
        )
    n = next(iter(runs.values()))[0]["n"]
    head = [
        "peer",
        "CPU, s",
        "times ours",
        "of it an empty start",
        "at rest after, s",
        "KB a Widget and its ConfigMap",
    ]
    head += ["times ours", "RSS, MB", "peak, MB", "empty, MB", "writes"]
    return f"Over {n:,} Widgets:\n\n" + table(head, rows)


def _storm(runs: Runs) -> str:
    rows = [
        [
            _name(peer, found),
            spread(found, cpu_each).text(3),
            _ratio(runs, peer, cpu_each),
            spread(found, lambda r: r["load"]["patches_per_s"]).text(0),
            spread(found, lambda r: r["counts"]["reconciles"]).text(0),
            spread(found, lambda r: r["requests"]["writes"]).text(0),
            spread(found, lambda r: r["memory"]["peak"] / MB).text(0),
        ]
        for peer, found in runs.items()
    ]
    n = next(iter(runs.values()))[0]["n"]
    head = [
        "peer",
        f"CPU ms an event, of {n:,}",
        "times ours",
        "events/s",
        "reconciles",
        "writes",
        "peak, MB",
    ]
    return table(head, rows)


def _chart(result: Result) -> str:
    bars = []
    for workload, what in (("w1", "new"), ("w4", "changed"), ("w3", "irrelevant")):
        for peer, found in of_workload(result, workload).items():
            each = spread(found, cpu_each)
            bars.append(
                Bar(f"{what}: {peer}", each.median, each.low, each.high, ours=peer.startswith("openclaw"))
            )
    note = "ms of the operator's CPU time for each: a new Widget, a changed one, an irrelevant event"
    return chart("The whole operator", note, bars, digits=2)
