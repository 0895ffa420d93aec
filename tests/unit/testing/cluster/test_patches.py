"""JSON patch, merge patch and strategic merge patch."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from openclaw.testing.cluster.contracts import FieldValidation, StatusError
from openclaw.testing.cluster.patch.merge_patch import apply_merge_patch
from openclaw.testing.cluster.patch.patches import PatchEngine
from openclaw.testing.cluster.schema.schemas import SchemaFactory

Object = dict[str, Any]

JSON, MERGE, STRATEGIC = (
    f"application/{kind}+json" for kind in ("json-patch", "merge-patch", "strategic-merge-patch")
)
POD: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "finalizers": ["a/b", "c/d"]},
    "spec": {
        "containers": [
            {"name": "a", "image": "a:1", "env": [{"name": "X", "value": "1"}]},
            {"name": "b", "image": "b:1"},
        ]
    },
}


def patched(patch: Any, content_type: str) -> Object:
    schema = SchemaFactory().builtin("", "v1", "Pod")
    engine = PatchEngine()
    return engine.patch(schema, POD, orjson.dumps(patch), content_type, FieldValidation.STRICT).object


def containers(patch: Any) -> dict[str, Object]:
    found = patched({"spec": {"containers": patch}}, STRATEGIC)["spec"]["containers"]
    return {container["name"]: container for container in found}


def test_a_strategic_patch_merges_lists_by_key() -> None:
    found = containers([{"name": "b", "image": "b:2"}, {"name": "c", "image": "c:1"}])
    assert {name: container["image"] for name, container in found.items()} == {
        "a": "a:1",
        "b": "b:2",
        "c": "c:1",
    }
    found = containers([{"name": "a", "env": [{"name": "Y", "value": "2"}]}])
    assert {one["name"]: one["value"] for one in found["a"]["env"]} == {"X": "1", "Y": "2"}


def test_a_strategic_patch_deletes_and_replaces() -> None:
    assert list(containers([{"name": "a", "$patch": "delete"}])) == ["b"]
    assert list(containers([{"$patch": "replace"}, {"name": "z", "image": "z"}])) == ["z"]
    kept = patched({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/b"]}}, STRATEGIC)
    assert kept["metadata"]["finalizers"] == ["c/d"]
    added = patched({"metadata": {"finalizers": ["e/f"]}}, STRATEGIC)
    assert set(added["metadata"]["finalizers"]) == {"a/b", "c/d", "e/f"}


def test_a_merge_patch_replaces_lists() -> None:
    found = patched({"spec": {"containers": [{"name": "z", "image": "z"}]}}, MERGE)
    assert [container["name"] for container in found["spec"]["containers"]] == ["z"]


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [  # RFC 7396, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patches_as_specified(document: Any, patch: Any, result: Any) -> None:
    assert apply_merge_patch(document, patch) == result


def test_a_json_patch() -> None:
    found = patched(
        [
            {"op": "test", "path": "/spec/containers/0/name", "value": "a"},
            {"op": "remove", "path": "/spec/containers/1"},
            {"op": "add", "path": "/metadata/labels", "value": {"k": "v"}},
        ],
        JSON,
    )
    assert [container["name"] for container in found["spec"]["containers"]] == ["a"]
    assert found["metadata"]["labels"] == {"k": "v"}


@pytest.mark.parametrize(
    ("patch", "content_type", "code"),
    [
        ([{"op": "test", "path": "/spec/containers/0/name", "value": "b"}], JSON, 422),
        ([{"op": "remove", "path": "/spec/nothing"}], JSON, 422),
        ({"spec": {}}, JSON, 400),
        ([], MERGE, 400),
        ({"spec": {"containers": [{"image": "no name"}]}}, STRATEGIC, 500),
        ({"spec": {"typo": 1}}, MERGE, 422),
        ({}, "application/xml", 415),
    ],
)
def test_refused(patch: Any, content_type: str, code: int) -> None:
    with pytest.raises(StatusError) as caught:
        patched(patch, content_type)
    assert caught.value.code == code


def test_the_live_object_is_left_alone() -> None:
    before = orjson.dumps(POD)
    patched({"spec": {"containers": [{"name": "a", "image": "new"}]}}, STRATEGIC)
    patched([{"op": "remove", "path": "/spec/containers/0/env"}], JSON)
    assert orjson.dumps(POD) == before
