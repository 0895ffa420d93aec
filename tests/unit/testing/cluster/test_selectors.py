from __future__ import annotations

from typing import Any

import pytest

from openclaw import _core
from openclaw.testing.cluster.selectors import (
    field_selector,
    label_selector,
    matches_labels,
    shard_selector,
)
from openclaw.testing.cluster.statuses import StatusError


def labelled(**labels: str) -> dict[str, Any]:
    return {"metadata": {"labels": labels}}


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ("a=b", True),
        ("a==b", True),
        ("a = b", True),
        ("a!=b", False),
        ("a=c", False),
        ("missing!=c", True),
        ("a", True),
        ("!a", False),
        ("missing", False),
        ("!missing", True),
        ("a in (b, c)", True),
        ("a in (c)", False),
        ("a notin (b)", False),
        ("missing notin (b)", True),
        ("missing in (b)", False),
        ("a=b,n=5", True),
        ("a=b,n=6", False),
        ("n>4", True),
        ("n<4", False),
        ("a>4", False),
        ("missing>4", False),
        ("empty=", True),
        ("a=", False),
        ("", True),
    ],
)
def test_label_selectors(selector: str, selected: bool) -> None:
    matches = label_selector(selector)
    obj = labelled(a="b", n="5", empty="")
    assert (matches is None or matches(obj)) is selected


@pytest.mark.parametrize(
    "selector", ["a=b=c", "a in b", "a in (b", "=b", ",", "a,", "a=b,,c", "-a=b", "a=-b", "a>x", "a b"]
)
def test_bad_label_selectors_are_refused(selector: str) -> None:
    with pytest.raises(StatusError) as caught:
        label_selector(selector)
    assert caught.value.code == 400


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"a": "b"}}, True),
        ({"matchLabels": {"a": "c"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, False),
    ],
)
def test_label_selectors_of_objects(selector: dict[str, Any] | None, selected: bool) -> None:
    assert matches_labels(selector, {"a": "b"}) is selected


FIELDS = {"metadata.name": lambda obj: str(obj["metadata"]["name"])}


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ("metadata.name=x", True),
        ("metadata.name==x", True),
        ("metadata.name!=x", False),
        ("metadata.name=y", False),
        ("metadata.name=x,metadata.name!=y", True),
    ],
)
def test_field_selectors(selector: str, selected: bool) -> None:
    matches = field_selector(selector, FIELDS, str)
    assert matches is not None
    assert matches({"metadata": {"name": "x"}}) is selected


def test_field_selectors_escape() -> None:
    matches = field_selector(r"metadata.name=a\,b\=c", FIELDS, str)
    assert matches is not None
    assert matches({"metadata": {"name": "a,b=c"}})


@pytest.mark.parametrize("selector", ["metadata.name", "spec.x=1"])
def test_bad_field_selectors_are_refused(selector: str) -> None:
    with pytest.raises(StatusError) as caught:
        field_selector(selector, FIELDS, lambda name: f"no {name}")
    assert caught.value.code == 400


def test_shard_selectors_split_all_objects() -> None:
    half = "8000000000000000"
    low = shard_selector(f"shardRange(object.metadata.uid, '0x{'0' * 16}', '0x{half}')")
    high = shard_selector(f"shardRange(object.metadata.uid,'0x{half}','0x1{'0' * 16}')")
    assert low is not None
    assert high is not None
    objects = [{"metadata": {"uid": f"uid-{number}"}} for number in range(200)]
    for obj in objects:
        assert low(obj) is not high(obj)
        assert low(obj) is (_core.fnv1a64(obj["metadata"]["uid"]) < int(half, 16))
    both = shard_selector(
        f"shardRange(object.metadata.uid, '0x{'0' * 16}', '0x{half}') || "
        f"shardRange(object.metadata.uid, '0x{half}', '0x1{'0' * 16}')"
    )
    assert both is not None
    assert all(map(both, objects))


@pytest.mark.parametrize(
    "selector",
    [
        "x",
        "shardRange(object.metadata.name, '0x0000000000000000', '0x8000000000000000')",
        "shardRange(object.metadata.uid, '0x0', '0x8000000000000000')",
        "shardRange(object.metadata.uid, '0x000000000000000A', '0x8000000000000000')",
        "shardRange(object.metadata.uid, '0x8000000000000000', '0x8000000000000000')",
    ],
)
def test_bad_shard_selectors_are_refused(selector: str) -> None:
    with pytest.raises(StatusError) as caught:
        shard_selector(selector)
    assert caught.value.code == 400
