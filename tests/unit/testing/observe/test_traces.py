"""Traces as a Jaeger tells them, as trees and as pictures."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest

from openclaw.testing.observe.traces import Link, Trace, parse_traces
from openclaw.testing.observe.waterfall import as_text, duration, rows
from tools.trace_pictures import complete, drawn

TRACE = "0af7651916cd43dd8448eb211c80319c"
SERVER, CLIENT, CONSUMER = 2, 3, 5


def attributes(**given: Any) -> list[dict[str, Any]]:
    forms = {str: "stringValue", int: "intValue", float: "doubleValue", bool: "boolValue"}
    found = []
    for name, value in given.items():
        if isinstance(value, tuple):
            encoded: dict[str, Any] = {"arrayValue": {"values": [{"stringValue": it} for it in value]}}
        else:
            # 64-bit integers are strings in protobuf's JSON.
            encoded = {forms[type(value)]: str(value) if type(value) is int else value}
        found.append({"key": name.replace("__", "."), "value": encoded})
    return found


def span(number: int, parent: int, name: str, begins: int, ends: int, **more: Any) -> dict[str, Any]:
    """Times in milliseconds."""
    found = {"traceId": TRACE, "spanId": f"{number:016x}", "name": name, "kind": 1, "status": {}}
    found |= {"startTimeUnixNano": str(begins * 10**6), "endTimeUnixNano": str(ends * 10**6)}
    return found | ({"parentSpanId": f"{parent:016x}"} if parent else {}) | more


def of(service: str, *spans: dict[str, Any]) -> dict[str, Any]:
    return {
        "resource": {"attributes": attributes(service__name=service)},
        "scopeSpans": [{"spans": list(spans)}],
    }


ROOT = span(
    1,
    0,
    "reconcile openclaws/OpenClaw",
    0,
    100,
    kind=CONSUMER,
    attributes=attributes(
        openclaw__object__namespace="shop",
        openclaw__object__name="a<b",
        openclaw__reasons=("OpenClaw updated", "requested"),
        openclaw__slot=7,
        openclaw__queue_wait=0.5,
    ),
    links=[
        {"traceId": "ab", "spanId": "cd", "attributes": attributes(openclaw__cause="requested")},
        {"traceId": "ef", "spanId": "01"},
    ],
)
PATCH = span(
    2,
    1,
    "PATCH deployments",
    10,
    60,
    kind=CLIENT,
    attributes=attributes(openclaw__api__name="web", http__response__status_code=409),
    status={"code": 2, "message": "conflict\nand more"},
)
DIFF = span(
    3,
    1,
    "diff",
    5,
    6,
    attributes=attributes(openclaw__child__kind="Deployment", openclaw__child__name="web"),
    events=[{"name": "changed", "attributes": attributes(openclaw__path=f"~ spec.{it}")} for it in "abc"],
)
THEIRS = [
    span(4, 2, "PATCH /apis/apps/v1/namespaces/{:namespace}/deployments/{:name}", 20, 50, kind=SERVER),
    span(5, 4, "audit", 21, 49),
    span(6, 5, "etcdserverpb.KV/Txn", 30, 40, kind=CLIENT),
]


@pytest.fixture
def trace() -> Trace:
    document = {
        "resourceSpans": [
            of("apiserver", *reversed(THEIRS)),
            of("openclaw", PATCH, DIFF),
            of("openclaw", ROOT),
        ]
    }
    (found,) = parse_traces(document)
    return found


def test_a_trace_is_put_together_from_what_services_have_sent(trace: Trace) -> None:
    root = trace.root
    assert root.name == "reconcile openclaws/OpenClaw"
    assert dict(root.attributes) == {
        "openclaw.object.namespace": "shop",
        "openclaw.object.name": "a<b",
        "openclaw.reasons": ("OpenClaw updated", "requested"),
        "openclaw.slot": 7,
        "openclaw.queue_wait": 0.5,
    }
    assert root.links == (Link("ab", "cd", "requested"), Link("ef", "01", ""))
    assert (root.seconds, root.error) == (0.1, None)
    assert [it.name for it in trace.children(root)] == ["diff", "PATCH deployments"]
    (patch,) = trace.named("PATCH deployments", "openclaw")
    assert (patch.call, patch.step, patch.error) == (True, False, "conflict\nand more")
    assert [it.service for it in trace.under(patch)] == ["apiserver"] * 3
    assert complete(trace)


def test_a_root_that_has_not_arrived_is_no_root() -> None:
    (late,) = parse_traces({"resourceSpans": [of("openclaw", PATCH)]})
    with pytest.raises(LookupError, match=TRACE):
        _ = late.root
    assert parse_traces({}) == []


def test_the_tree_leaves_out_what_the_api_server_does_between(trace: Trace) -> None:
    def shape(*, steps: bool) -> list[tuple[int, str]]:
        return [(row.depth, row.span.name.split(" /")[0]) for row in rows(trace, steps=steps)]

    assert shape(steps=False) == [
        (0, "reconcile openclaws/OpenClaw"),
        (1, "diff"),
        (1, "PATCH deployments"),
        (2, "PATCH"),
        (3, "etcdserverpb.KV/Txn"),
    ]
    assert shape(steps=True)[3:] == [(2, "PATCH"), (3, "audit"), (4, "etcdserverpb.KV/Txn")]


def test_a_line_says_what_came_of_it_and_when(trace: Trace) -> None:
    lines = as_text(trace).splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("reconcile openclaws/OpenClaw ")
    assert "Deployment web  ~ spec.a  ~ spec.b  and 1 more" in lines[1]
    assert lines[2].startswith("└─ PATCH deployments ")
    assert lines[2].endswith("web  409  failed: conflict")
    bars = [line.partition("▕")[2].partition("▏")[0] for line in lines]
    assert {len(it) for it in bars} == {32}
    assert [(it.index("█"), it.count("█")) for it in bars] == [(0, 32), (1, 1), (3, 16), (6, 10), (9, 3)]


def test_a_picture_is_well_formed_and_has_all_of_it(trace: Trace) -> None:
    picture = ET.fromstring(drawn("a & b", trace, ["because of <x>"]))
    texts = [it.text or "" for it in picture.iter("{http://www.w3.org/2000/svg}text")]
    for expected in ("a & b", "because of <x>", "diff", "PATCH …/deployments/{:name}", "50.0 ms"):
        assert expected in texts
    assert any("shop/a<b" in it for it in texts)


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0.0, "0 µs"), (0.00084, "840 µs"), (0.0123, "12.3 ms"), (1.519, "1.52 s")]
)
def test_times_are_for_people(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected
