from __future__ import annotations

from typing import Any

import pytest

from openclaw.testing.cluster.ages import age
from openclaw.testing.cluster.paths import find, put

OBJECT: dict[str, Any] = {
    "metadata": {"labels": {"example.com/a": "b"}, "name": "x"},
    "spec": {"items": [{"name": "a", "n": 1}, {"name": "b", "n": 2}], "replicas": 3},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (".metadata.name", ["x"]),
        ("metadata.name", ["x"]),
        ("{.metadata.name}", ["x"]),
        (".spec.replicas", [3]),
        (".spec.items[0].name", ["a"]),
        (".spec.items[-1].name", ["b"]),
        (".spec.items[5].name", []),
        (".spec.items[*].n", [1, 2]),
        (".metadata.labels['example.com/a']", ["b"]),
        (r".metadata.labels.example\.com/a", ["b"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Other')].status", ["False"]),
        ('.status.conditions[?(@.type=="None")].status', []),
        (".status.conditions[?(@.type!='Ready')].type", ["Other"]),
        (".missing.deeply", []),
        (".spec.replicas.below", []),
        (".spec[", []),
    ],
)
def test_values_at_paths(path: str, values: list[Any]) -> None:
    assert find(path, OBJECT) == values


def test_put_leaves_the_original_alone() -> None:
    changed = put(".spec.replicas", OBJECT, 7)
    assert changed["spec"]["replicas"] == 7
    assert changed["spec"]["items"] is OBJECT["spec"]["items"]
    assert OBJECT["spec"]["replicas"] == 3
    assert put(".spec.new.deep", {}, 1) == {"spec": {"new": {"deep": 1}}}


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (150, "2m30s"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (7.5 * 3600, "7h30m"),
        (8 * 3600, "8h"),
        (47 * 3600, "47h"),
        (48 * 3600, "2d"),
        (50 * 3600, "2d2h"),
        (8 * 86400, "8d"),
        (729 * 86400, "729d"),
        (731 * 86400, "2y1d"),
        (3000 * 86400, "8y"),
        (-5, "<invalid>"),
    ],
)
def test_ages_as_kubectl_shows_them(seconds: float, shown: str) -> None:
    assert age(seconds) == shown
