"""Tables, pictures, verdicts and the README's section, from made-up figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from bench import environment, readme
from bench.inprocess import report as inprocess
from bench.operators import report as operators
from bench.operators.audit import AuditTail
from bench.operators.peer import DEFAULT, PeerError, load, names
from bench.operators.targets import targets
from bench.svg import Bar, chart
from bench.tables import Spread, Verdict
from openclaw import _core


def whole(cpu: dict[str, float], *, disturbed: bool = False) -> dict[str, Any]:
    """A result of one round in which each peer spent so many seconds on each workload."""
    runs: list[dict[str, Any]] = []
    for peer, seconds in cpu.items():
        memory = {"rss": 50_000_000, "peak": 60_000_000}
        requests = {"total": 2000, "writes": 2000, "by_verb": {"create configmaps": 1000}, "failed": {}}
        base = {
            "n": 1000,
            "operator_cpu_s": seconds,
            "apiserver_cpu_s": 9.0,
            "memory": memory,
            "requests": requests,
        }
        base |= {
            "disturbed": disturbed,
            "counts": {"reconciles": 1000},
            "verify": {"problems": 0},
            "rest_s": 4.0,
        }
        load = {"converge_s": 3.0, "latency_ms": {"p50": 5, "p99": 9}, "patches_per_s": 300, "send_s": 3.0}
        none = base | {"requests": requests | {"writes": 0}}
        start = none | {"bytes_per_widget": 2000.0}
        drift = {"repaired_ms": 8.0, "recreated_ms": -1}
        check = {"drift": drift, "created": 0, "bumped": 0, "repaired": 1}
        results = {
            "check": check,
            "w1": base | {"load": load},
            "w3": none | {"load": load},
            "w4": base | {"load": load},
        }
        results |= {
            "w6": none | {"load": load},
            "w2": {"n": 1000, "full": [start], "empty": [start], "disturbed": disturbed},
        }
        runs += [{"peer": peer, "round": 1, "workload": name, "result": r} for name, r in results.items()]
    return {
        "environment": environment.describe(),
        "sizes": {"rounds": 1},
        "quick": True,
        "peers": dict.fromkeys(cpu, "an operator"),
        "left_out": {"kopf": "not here"},
        "runs": runs,
    }


def test_verdicts() -> None:
    met, missed = Verdict("x", 3, 4), Verdict("x", 3, 4, at_least=True)
    assert met.cells()[-1] == "met"
    assert missed.cells()[-1] == "**missed**, 1.33 times"
    assert Verdict("x", 4, 4).met
    assert Verdict("x", 4, 4, at_least=True).met


def test_spread() -> None:
    assert Spread.of([3, 1, 2]).text(0) == "1 / **2** / 3"
    assert Spread.of([2, 2]).scaled(10).text(0) == "20"
    with pytest.raises(ValueError, match="nothing"):
        Spread.of([])


def test_a_chart_is_well_formed() -> None:
    text = chart("a < b", "&", [Bar("x", 1, 0.5, 2, ours=True)])
    assert ET.fromstring(text).tag.endswith("svg")


def test_operators_report(tmp_path: Path) -> None:
    operators.write(whole({"openclaw": 0.1, "controller-runtime": 0.5, "kube-rs": 0.2}), tmp_path)
    text = (tmp_path / "operators.md").read_text()
    assert "Left out, kopf: not here" in text
    assert "| controller-runtime | 0.50 | 5.00 |" in text
    assert "| **openclaw** | 0 | 0 | 1 | 8 ms | never |" in text
    assert "## Irrelevant trickle" in text
    ET.parse(tmp_path / "operators.svg")


def test_disturbed_runs_are_marked_and_left_out_where_others_are() -> None:
    calm, noisy = whole({"openclaw": 0.1}), whole({"openclaw": 9.0}, disturbed=True)
    assert operators.of_workload(noisy, "w1")["openclaw"][0]["disturbed"]
    calm["runs"] += noisy["runs"]
    assert [run["operator_cpu_s"] for run in operators.of_workload(calm, "w1")["openclaw"]] == [0.1]
    assert not any(verdict.value > 1 for verdict in targets(calm) if verdict.what.startswith("an irrelevant"))


def test_targets_compare_with_the_peers() -> None:
    found = targets(whole({"openclaw": 0.4, "controller-runtime": 0.5, "kube-rs": 0.2}))
    by_name = {verdict.what: verdict for verdict in found}
    assert by_name["a new object, share of controller-runtime's CPU"].value == pytest.approx(0.8)
    assert not by_name["a new object, share of controller-runtime's CPU"].met
    assert by_name["an irrelevant event, CPU"].value == pytest.approx(0.4)
    assert by_name["writes for a new object (a create, a status)"].met
    assert by_name["writes in the storm"].met


def test_inprocess_report(tmp_path: Path) -> None:
    feed = {"suite": "feed", "case": "irrelevant", "bytes": 2500, "operations": 10, "rounds": 3}
    costs = {"openclaw": 2000.0, "orjson": 10_000.0, "go-typed": 60_000.0}
    records = [
        feed | {"kind": kind, "contestant": name, "ns": {"min": ns, "median": ns, "max": ns}}
        for kind in ("Widget", "ConfigMap")
        for name, ns in costs.items()
    ]
    held = {
        "kind": "Widget",
        "contestant": "openclaw",
        "bytes": 2500,
        "objects": 10,
        "before": 0,
        "after": 7000,
    }
    result: dict[str, Any] = {"environment": environment.describe(), "missing": {}, "records": records}
    result |= {
        "memory": [held | {"peak": 9000, "accounted": 6000}],
        "instructions": {"missing": "no valgrind"},
    }
    inprocess.write(result, tmp_path)
    text = (tmp_path / "inprocess.md").read_text()
    assert "times controller-runtime's decode | 30.00 | ≥ 15.00 | met |" in text
    assert "0.700 KB | ≤ 0.600 KB | **missed**, 1.17 times |" in text
    assert "Not counted: no valgrind." in text
    (tmp_path / "inprocess.json").write_text(json.dumps(result))
    assert "| **openclaw** | 500 | 0.70 |" in readme.section(tmp_path)


def test_the_readme_has_its_markers() -> None:
    text = readme.README.read_text()
    assert 0 <= text.find(readme.BEGIN) < text.find(readme.END)


def test_the_default_peers_are_there() -> None:
    assert set(DEFAULT) <= set(names())
    for name in DEFAULT:
        assert load(name).start
    with pytest.raises(PeerError, match="there is no peer 'x'; known: "):
        load("x")


def test_requests_are_counted_once(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    tail = AuditTail(log)
    made = {"verb": "create", "stage": "ResponseComplete", "objectRef": {"resource": "configmaps"}}
    begun = {"verb": "watch", "stage": "ResponseStarted", "objectRef": {"resource": "widgets"}}
    refused = {
        "verb": "patch",
        "stage": "ResponseComplete",
        "objectRef": {"resource": "widgets", "subresource": "status"},
    }
    lines = [made, begun, begun | {"stage": "ResponseComplete"}, refused | {"responseStatus": {"code": 409}}]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"half')
    found = tail.take()
    assert found["by_verb"] == {"create configmaps": 1, "watch widgets": 1, "patch widgets/status": 1}
    assert found["failed"] == {"patch widgets/status 409": 1}
    assert found["writes"] == 2
    assert tail.take()["total"] == 0


def test_a_debug_build_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "build_profile", "debug")
    with pytest.raises(environment.DebugBuildError, match="debug build"):
        environment.refuse_debug_build()
