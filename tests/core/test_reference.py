"""Predicates, indexes and the diff: the Rust core and a plain Python reference say the same.

Shared cases are in `cases/`; beside them, Hypothesis makes up objects.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw import _core
from tests.core import reference, reference_diff
from tests.core.events import line, thing

HERE = Path(__file__).parent
APPLIED = HERE.parents[1] / "rust/core/tests/fixtures/applied.json"

Object = dict[str, Any]


def cases(name: str) -> list[Any]:
    found = json.loads((HERE / "cases" / f"{name}.json").read_text())
    return [pytest.param(case, id=case["what"]) for case in found]


# --- Predicates ----------------------------------------------------------------------------------


def matters(predicate: Object, old: Object | None, new: Object) -> bool:
    cache = _core.Cache()
    cache.subscribe(json.dumps(predicate).encode(), b'{"self": {}}')
    if old is not None:
        cache.feed(line("ADDED", old))
    return bool(cache.feed(line("MODIFIED", new)).deltas)


@pytest.mark.parametrize("case", cases("predicates"))
def test_a_case_of_a_predicate(case: Object) -> None:
    old, new = (thing("a", at + 1, **case[which]) for at, which in enumerate(("old", "new")))
    assert reference.matters(case["predicate"], old, new) is case["matters"]
    assert matters(case["predicate"], old, new) is case["matters"]


TEXTS = st.sampled_from(["", "a", "b", "é", "1", "x.y/z"])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(0, 3), st.sampled_from([0.5, 1.0]), TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("abm"), below, max_size=3),
    max_leaves=6,
)
SECTIONS = st.dictionaries(st.sampled_from("abm"), VALUES, max_size=3)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "generation": st.integers(1, 2),
        "labels": st.dictionaries(st.sampled_from(["l", "x.y/z"]), TEXTS),
        "annotations": st.dictionaries(st.sampled_from(["l", reference.LAST_APPLIED]), TEXTS),
        "finalizers": st.lists(st.sampled_from(["f", "g"]), max_size=2),
        "deletionTimestamp": st.sampled_from([None, "2026-01-01T00:00:00Z"]),
        "ownerReferences": st.lists(st.fixed_dictionaries({"uid": TEXTS}), max_size=2),
    },
)
OBJECTS = st.fixed_dictionaries({"metadata": METADATA}, optional={"spec": SECTIONS, "status": SECTIONS})
PATHS = st.sampled_from(
    [
        "spec",
        "spec.a",
        "spec.a.b",
        "spec.a[*]",
        "spec.a[1]",
        "spec.m[*].a",
        'spec["b"]["a"]',
        "spec.m@keys",
        "status.a",
        "metadata.labels",
        'metadata.labels["x.y/z"]',
        "metadata.ownerReferences[*].uid",
        "metadata.finalizers[0]",
    ]
)
NAMES = ["always", "generation", "resourceVersion", "content", "labels", "annotations", "finalizers"]
PREDICATES = st.recursive(
    st.one_of(
        st.sampled_from([{name: {}} for name in (*NAMES, "deletion", "owners", "status", "spec")]),
        st.sampled_from(["l", "x.y/z"]).map(lambda key: {"label": key}),
        st.sampled_from(["l", "m"]).map(lambda key: {"annotation": key}),
        PATHS.map(lambda path: {"changed": path}),
        st.tuples(PATHS, VALUES).map(lambda both: {"equals": list(both)}),
    ),
    lambda below: st.one_of(
        st.lists(below, min_size=1, max_size=3).map(lambda some: {"any": some}),
        st.lists(below, min_size=1, max_size=3).map(lambda some: {"all": some}),
        below.map(lambda one: {"not": one}),
    ),
    max_leaves=4,
)


@given(PREDICATES, st.none() | OBJECTS, OBJECTS)
def test_predicates_agree(predicate: Object, old: Object | None, new: Object) -> None:
    before = None if old is None else thing("a", 1, **json.loads(json.dumps(old)))
    after = thing("a", 2, **json.loads(json.dumps(new)))
    assert matters(predicate, before, after) is reference.matters(predicate, before, after)


# --- Indexes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", cases("index"))
def test_a_case_of_an_index(case: Object) -> None:
    body = thing("a", 1, **case["object"])
    assert reference.scalars(case["path"], body) == case["values"]
    cache = _core.Cache()
    cache.add_index("i", case["path"])
    cache.feed(line("ADDED", body))
    for value in case["values"]:
        assert cache.lookup("i", value) == [("n", "a")]
    assert cache.lookup("i", "no such value") == []


@given(PATHS, st.lists(st.tuples(st.sampled_from("pqr"), st.none() | OBJECTS), max_size=12))
def test_indexes_agree(path: str, history: list[tuple[str, Object | None]]) -> None:
    cache = _core.Cache()
    cache.add_index("i", path)
    objects: dict[str, Object] = {}
    for version, (name, sections) in enumerate(history, 1):
        body = thing(name, version, **json.loads(json.dumps(sections or {})))
        if sections is None:
            objects.pop(name, None)
        else:
            objects[name] = body
        cache.feed(line("MODIFIED" if sections is not None else "DELETED", body))
    found = {name: set(reference.scalars(path, body)) for name, body in objects.items()}
    for value in {"", "a", "b", "é", "1", "x.y/z", "true", "0", "0.5", "f", "nothing"}.union(*found.values()):
        expected = [("n", name) for name in sorted(found) if value in found[name]]
        assert cache.lookup("i", value) == expected


# --- The diff ------------------------------------------------------------------------------------


def core_diff(intent: Object, live: Object) -> list[str]:
    return _core.diff(json.dumps(intent).encode(), json.dumps(live).encode(), "us")


def with_entry(live: Object, *fields: Object) -> Object:
    entries = [{"manager": "us", "operation": "Apply", "fieldsV1": one} for one in fields]
    return live | {"metadata": live.get("metadata", {}) | {"managedFields": entries}}


@pytest.mark.parametrize("case", cases("diff"))
def test_a_case_of_the_diff(case: Object) -> None:
    live = with_entry(case["live"], *case["fields"])
    assert reference_diff.diff(case["intent"], live, "us") == case["lines"]
    assert core_diff(case["intent"], live) == case["lines"]


def test_what_a_real_server_answered() -> None:
    pairs = json.loads(APPLIED.read_text())
    assert len(pairs) > 20
    for pair in pairs:
        assert reference_diff.diff(pair["intent"], pair["live"], "openclaw") == [], pair["what"]


AMOUNTS = st.sampled_from(["1", "1000m", "1.0", "1Gi", "1024Mi", "1e3", "1k", "1K", "", "x", ".5", "500m"])
LEAVES = st.one_of(SCALARS, AMOUNTS)
ITEMS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["web", "log", None]),
        "port": st.integers(80, 81),
        "protocol": st.sampled_from(["TCP", "UDP"]),
        "x": LEAVES,
    },
)
FIELDS = ["x", "limits", "max", "cpu", "storage", "a.b/c", "port", "protocol"]


def documents() -> st.SearchStrategy[Object]:
    """Maps whose keys tell what their lists are: maps by name or by port and protocol, sets, by place."""

    def maps(below: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
        return st.one_of(
            st.dictionaries(st.sampled_from(FIELDS), below, max_size=3),
            st.dictionaries(st.sampled_from(["n1", "p1"]), st.lists(ITEMS, max_size=3), max_size=2),
            st.dictionaries(st.sampled_from(["s1", "a1"]), st.lists(LEAVES, max_size=3), max_size=2),
            st.dictionaries(st.just("i1"), st.lists(below, max_size=2)),
        )

    return maps(st.recursive(LEAVES, lambda below: maps(below) | st.lists(below, max_size=2), max_leaves=8))


def field_set(value: Any, key: str) -> Object:
    """The fields that a server would say are owned by who applied this value."""
    if isinstance(value, dict):
        return {f"f:{k}": field_set(v, k) for k, v in value.items() if v is not None}
    if not isinstance(value, list):
        return {}
    match key:
        case "s1":
            return {f"v:{json.dumps(item)}": {} for item in value}
        case "i1":
            return {f"i:{at}": field_set(item, "") for at, item in enumerate(value)}
        case "n1" | "p1":
            names = ["name"] if key == "n1" else ["port", "protocol"]
            items = [item for item in value if all(item.get(name) is not None for name in names)]
            return {
                "k:" + json.dumps({name: item[name] for name in names}): {".": {}, **field_set(item, "")}
                for item in items
            }
    return {}


@given(documents(), documents(), documents(), st.booleans())
def test_diffs_agree(intent: Object, live: Object, applied: Object, twice: bool) -> None:
    trees = [{"f:spec": field_set(one, "")} for one in ([applied, intent] if twice else [applied])]
    stored = with_entry({"spec": live}, *trees)
    assert core_diff({"spec": intent}, stored) == reference_diff.diff({"spec": intent}, stored, "us")


@given(documents(), st.data())
def test_diffs_of_what_was_edited_agree(applied: Object, data: st.DataObject) -> None:
    def edited(value: Any, path: str) -> Any:
        if data.draw(st.integers(0, 9), label=f"edit {path}") == 0:
            return data.draw(LEAVES)
        if isinstance(value, dict):
            return {key: edited(below, f"{path}.{key}") for key, below in value.items()}
        if isinstance(value, list) and not any(isinstance(item, dict) for item in value):
            return data.draw(st.permutations(value))
        return value

    live, intent = edited(applied, "live"), edited(applied, "intent")
    stored = with_entry({"spec": live}, {"f:spec": field_set(applied, "")})
    assert core_diff({"spec": intent}, stored) == reference_diff.diff({"spec": intent}, stored, "us")


METAS = st.fixed_dictionaries(
    {},
    optional={
        "labels": st.dictionaries(st.sampled_from(["l", "x.y/z"]), TEXTS),
        "finalizers": st.lists(st.sampled_from(["f", "g"]), max_size=2),
        "ownerReferences": st.lists(
            st.fixed_dictionaries({"uid": st.sampled_from("uv"), "controller": st.booleans()}), max_size=2
        ),
    },
)


@given(METAS, METAS, st.sampled_from([{}, {"f:labels": {"f:l": {}}}, {"f:finalizers": {'v:"f"': {}}}]))
def test_diffs_of_metadata_agree(intent: Object, live: Object, fields: Object) -> None:
    wanted = {"metadata": {"name": "a", **intent}, "stringData": {"k": "é"}}
    stored = with_entry({"metadata": live, "data": {"k": "w6k="}}, {"f:metadata": fields})
    assert core_diff(wanted, stored) == reference_diff.diff(wanted, stored, "us")
