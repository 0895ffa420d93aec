"""What must hold of the whole operator, as ratios within one run on one machine."""

from __future__ import annotations

import statistics
from typing import Any

from bench.tables import Verdict

Result = dict[str, Any]

SCALE = 20_000
"""Widgets for which a cold start's CPU is judged; what starts a process does not depend on them."""


def targets(result: Result) -> list[Verdict]:
    """The targets for which there are figures."""
    return [*_storm(result), *_converging(result), *_cold(result), *_requests(result)]


def _median(result: Result, peer: str, workload: str, *path: str) -> float | None:
    runs = [r for r in result["runs"] if r["peer"] == peer and r["workload"] == workload and "error" not in r]
    calm = [r for r in runs if not r["result"].get("disturbed")] or runs
    values = []
    for run in calm:
        starts = run["result"]["full"] if workload == "w2" else [run["result"]]
        for start in starts:
            value: Any = start
            for key in path:
                value = value[key]
            values.append(value / (start["n"] if path[0] == "operator_cpu_s" and workload != "w2" else 1))
    return statistics.median(values) if values else None


def _against(result: Result, workload: str, *path: str) -> dict[str, float]:
    peers = ("openclaw", "controller-runtime", "kube-rs")
    found = {peer: _median(result, peer, workload, *path) for peer in peers}
    return {peer: value for peer, value in found.items() if value is not None}


def _storm(result: Result) -> list[Verdict]:
    cpu = _against(result, "w3", "operator_cpu_s")
    if "openclaw" not in cpu:
        return []
    found = [Verdict("an irrelevant event, CPU", 1000 * cpu["openclaw"], 0.12, " ms")]
    for peer, share in (("controller-runtime", 0.25), ("kube-rs", 2 / 3)):
        if peer in cpu:
            found.append(
                Verdict(f"an irrelevant event, share of {peer}'s CPU", cpu["openclaw"] / cpu[peer], share)
            )
    return found


def _converging(result: Result) -> list[Verdict]:
    found = []
    for workload, what in (("w1", "a new object"), ("w4", "a spec update")):
        cpu = _against(result, workload, "operator_cpu_s")
        if "openclaw" not in cpu:
            continue
        for peer, share, must in (("controller-runtime", 0.75, True), ("kube-rs", 1.0, False)):
            if peer in cpu:
                ratio = cpu["openclaw"] / cpu[peer]
                found.append(Verdict(f"{what}, share of {peer}'s CPU", ratio, share, must=must))
    return found


def _cold(result: Result) -> list[Verdict]:
    memory = _against(result, "w2", "bytes_per_widget")
    cpu = _against(result, "w2", "operator_cpu_s")
    if "openclaw" not in memory:
        return []
    found = [Verdict("cold start, memory a Widget and its ConfigMap", memory["openclaw"] / 1000, 2.5, " KB")]
    if "controller-runtime" in memory:
        ratio = memory["openclaw"] / memory["controller-runtime"]
        found.append(Verdict("cold start, share of controller-runtime's memory", ratio, 1 / 8))
    scaled = {peer: value for peer in cpu if (value := _scaled(result, peer)) is not None}
    if {"openclaw", "kube-rs"} <= set(scaled):
        ratio, what = (
            scaled["openclaw"] / scaled["kube-rs"],
            f"cold start of {SCALE:,}, share of kube-rs' CPU",
        )
        found += [Verdict(what, ratio, 1.0), Verdict(what, ratio, 0.5, must=False)]
    return found


def _scaled(result: Result, peer: str) -> float | None:
    """CPU seconds of a cold start of `SCALE` Widgets: that of an empty one, and so much for each Widget."""
    runs = [
        r["result"] for r in result["runs"] if (r["peer"], r["workload"]) == (peer, "w2") and "error" not in r
    ]
    if not runs:
        return None
    empty = statistics.median(start["operator_cpu_s"] for run in runs for start in run["empty"])
    each = [(start["operator_cpu_s"] - empty) / run["n"] for run in runs for start in run["full"]]
    return float(empty + SCALE * statistics.median(each))


def _requests(result: Result) -> list[Verdict]:
    found = []
    writes = _median(result, "openclaw", "w1", "requests", "writes")
    created = _median(result, "openclaw", "w1", "n")
    if writes is not None and created:
        found.append(Verdict("writes for a new object (a create, a status)", writes / created, 2.0))
    for workload, what in (("w3", "writes in the storm"), ("w2", "writes at a cold start")):
        writes = _median(result, "openclaw", workload, "requests", "writes")
        if writes is not None:
            found.append(Verdict(what, writes, 0))
    return found
