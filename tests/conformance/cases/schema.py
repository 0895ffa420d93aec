"""Structural schemas: what is valid, what is dropped, what is filled in."""

from __future__ import annotations

from typing import Any

from tests.conformance.collecting import Collection, Story
from tests.conformance.recording import Client

case = Collection("schema")


def widget(spec: Any, name: str = "w", **rest: Any) -> dict[str, Any]:
    return {
        "apiVersion": "conformance.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": spec,
        **rest,
    }


def _story(body: Any, **query: Any) -> Story:
    async def story(k: Client) -> None:
        await k.create("widgets", body, **query)

    return story


_VALUES: dict[str, list[Any]] = {
    "address": ["x", "10.0.0.1"],
    "address6": ["x", "::1"],
    "all": [{}, {"x": "1", "y": "123"}, {"x": "1"}],
    "any": [{}, {"x": "1"}, {"x": "1", "y": "2"}],
    "bytes": ["%%", "YQ=="],
    "choice": ["c", "a", None, 1],
    "counts": [{"a": "x"}, {"a": 1, "b": 2, "c": 3, "d": 4}, {}, {"a": None}, []],
    "date": ["x", "2020-01-01"],
    "deep": [{}, None, {"a": "x", "unknown": 1}, {"b": None}, "x"],
    "defaulted": [None, 1, "x"],
    "duration": ["x", "1h30m", "5"],
    "embedded": [
        {"a": 1},
        {"apiVersion": "v1", "kind": "X"},
        {"apiVersion": "v1", "kind": "X", "metadata": {"name": "A_B", "unknown": 1}, "more": 1},
        {"apiVersion": "", "kind": "X"},
        {"apiVersion": 1, "kind": "X"},
        {"apiVersion": "v1", "kind": "X", "metadata": 1},
    ],
    "flag": ["true", True, 0],
    "host": ["a_b!", "a.example.com"],
    "id": ["x", "123e4567-e89b-12d3-a456-426614174000"],
    "items": [
        [{"name": "a"}, {"name": "a"}],
        [{"value": 1}],
        [{"name": "a", "value": "x", "unknown": 1}],
        [{"name": "a"}, {"name": "b", "value": 1}],
        ["x"],
        [None],
        {},
    ],
    "limits": [{}, {"a": "x"}],
    "link": ["::", "https://example.com/x"],
    "mail": ["x", "a@example.com"],
    "mixed": [1, "x", 1.5, True],
    "network": ["x", "10.0.0.0/8"],
    "not": [{"x": "1"}, {"y": "1"}],
    "nullable": [None, "x", 1],
    "nullableDefault": [None, "y"],
    "number": [0, 0.5, 3, "x"],
    "numbers": [[1, "x", None], [], [1, 2], {}],
    "one": [{}, {"x": "1"}, {"x": "1", "y": "2"}],
    "open": [{"unknown": {"a": [1]}, "known": 2}, {"known": "x"}],
    "ports": [
        [{"port": 80}, {"port": 80}],
        [{"port": 80}, {"port": 80, "protocol": "UDP"}],
        [{"port": 80, "protocol": "TCP"}, {"port": 80}],
    ],
    "replicas": [5_000_000_000, -1, "x", 3],
    "set": [[], ["a", "b", "c", "d"], ["a", "a"], ["a", "b"], "x", {"a": 1}],
    "small": [5_000_000_000, 3],
    "text": ["a", "aaaaaaaa", "bbb", 5, "abc", "äöü", None],
    "time": ["x", "2020-01-01T00:00:00Z", "2020-01-01"],
    "whole": ["x", 0, 11, 4, 1.5, 3.0, 3],
    "whole_list": [[{"a": "x"}, {"a": "x"}], [{"a": 1}]],
    "whole_map": [{"a": "x", "c": 1}, {"a": 1}],
}

for field, values in _VALUES.items():
    for value in values:
        case.add(f"{field} {value!r}"[:60], _story(widget({"size": "s", field: value})))

_BODIES: dict[str, Any] = {
    "spec is missing": {key: value for key, value in widget({}).items() if key != "spec"},
    "spec is null": widget(None),
    "spec is a text": widget("x"),
    "spec is a list": widget([]),
    "required field is missing": widget({}),
    "required field is null": widget({"size": None}),
    "status is dropped": widget({"size": "s"}, status={"phase": "x"}),
    "several faults": widget({"whole": 0, "text": "bbbbbbb", "choice": "q", "items": [{"name": "a"}] * 2}),
    "unknown top level field": widget({"size": "s"}, other=1),
    "no kind": {"apiVersion": "conformance.example.com/v1", "metadata": {"name": "w"}},
    "no version": {"kind": "Widget", "metadata": {"name": "w"}},
    "nothing": {},
    "other kind": {**widget({"size": "s"}), "kind": "Other"},
    "other version": {**widget({"size": "s"}), "apiVersion": "conformance.example.com/v2"},
    "other group": {**widget({"size": "s"}), "apiVersion": "v1"},
    "not json": "{",
    "a list": [],
    "no name": {**widget({"size": "s"}), "metadata": {}},
    "metadata of a wrong type": {**widget({"size": "s"}), "metadata": {"name": "w", "labels": {"a": 1}}},
    "yaml": "apiVersion: conformance.example.com/v1\nkind: Widget\nmetadata:\n  name: w\nspec:\n  size: s\n",
}
for name, body in _BODIES.items():
    media = "application/yaml" if name == "yaml" else "application/json"
    case.add(name, _story(body, type=media))

_UNKNOWN = widget({"size": "s", "unknown": 1, "items": [{"name": "a", "other": 1}], "open": {"x": 1}})
_TWICE = (
    '{"apiVersion":"conformance.example.com/v1","kind":"Widget","metadata":{"name":"v","name":"w","zz":1},'
    '"spec":{"size":"a","size":"b","unknown":1}}'
)
for mode in ("Strict", "Warn", "Ignore", "", "Other"):
    case.add(f"unknown fields {mode}", _story(_UNKNOWN, fieldValidation=mode))
    case.add(f"fields given twice {mode}", _story(_TWICE, fieldValidation=mode))


@case
async def restrictions_of_the_name(k: Client) -> None:
    for name in ("abc", "abcdefghijkl", "a1"):
        body = {"apiVersion": "conformance.example.com/v1", "kind": "Plain", "metadata": {"name": name}}
        await k.create("plains", body)


@case
async def anything_goes_where_unknown_fields_are_preserved(k: Client) -> None:
    body = {"apiVersion": "conformance.example.com/v1", "kind": "Plain", "metadata": {"name": "abc"}}
    spec = {"a": {"b": [1, 2.5, None, {"c": None}]}, "d": "x", "e": 1.0}
    await k.create("plains", {**body, "spec": spec, "status": {"any": 1}})
    await k.merge("plains", "abc", {"spec": {"a": None, "f": {}}, "status": {"any": 2}})


@case
async def stored_values_that_are_invalid_by_now_may_stay(k: Client) -> None:
    """Ratcheting: an unchanged field is not looked at again."""
    name = f"foos.{k.ns}.example.com"
    loose = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    tight = {
        "type": "object",
        "properties": {"a": {"type": "string", "maxLength": 2}, "b": {"type": "string", "maxLength": 2}},
    }

    def definition(spec: Any) -> dict[str, Any]:
        version = {"name": "v1", "served": True, "storage": True}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
        names = {"plural": "foos", "kind": "Foo"}
        group = f"{k.ns}.example.com"
        return {
            "metadata": {"name": name},
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": names,
                "versions": [{**version, "schema": schema}],
            },
        }

    await k.create("customresourcedefinitions", definition(loose), record=False)
    served = f"{k.ns}.example.com/v1/foos"
    await k.until(served, "", lambda answer: answer.code == 200)
    body = {"apiVersion": f"{k.ns}.example.com/v1", "kind": "Foo", "metadata": {"name": "x"}}
    await k.create(served, {**body, "spec": {"a": "long", "b": "ok"}})
    await k.merge(
        "customresourcedefinitions",
        name,
        {"spec": {"versions": definition(tight)["spec"]["versions"]}},
        record=False,
    )
    # The new schema is in use once it refuses something.
    probe = {**body, "metadata": {"name": "y"}, "spec": {"a": "long"}}
    for _ in range(500):
        if (await k.create(served, probe, record=False, dryRun="All")).code == 422:
            break
        await k.pause()
    await k.merge(served, "x", {"spec": {"b": "no"}})
    await k.merge(served, "x", {"spec": {"b": "too long"}})
    await k.merge(served, "x", {"spec": {"a": "longer"}})
    await k.delete("customresourcedefinitions", name, record=False)
