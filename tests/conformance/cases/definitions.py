"""CustomResourceDefinitions: what is a valid one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.collecting import Collection, Story
from tests.conformance.recording import Client

case = Collection("definitions")

Object = dict[str, Any]


def _object(**properties: Any) -> Object:
    return {"type": "object", "properties": properties}


_TEXT = {"type": "string"}


def _definition(schema: Object | None = None) -> Object:
    structure = schema or _object(spec=_object(a=_TEXT))
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.q.io"},
        "spec": {
            "group": "q.io",
            "scope": "Namespaced",
            "names": {"plural": "foos", "kind": "Foo"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": structure}}
            ],
        },
    }


def _changed(change: Callable[[Object], Any]) -> Object:
    definition = _definition()
    change(definition)
    return definition


def _version(**fields: Any) -> Callable[[Object], Any]:
    return lambda it: it["spec"]["versions"][0].update(fields)


def _spec(**fields: Any) -> Callable[[Object], Any]:
    return lambda it: it["spec"].update(fields)


_SECOND = {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": _object()}}
_HOOK = {"conversionReviewVersions": ["v1"]}

_CASES: dict[str, Object] = {
    "plain": _definition(),
    "name does not fit": _changed(lambda it: it["metadata"].update(name="x")),
    "group without a dot": _changed(_spec(group="q")),
    "no group": _changed(_spec(group="")),
    "unknown scope": _changed(_spec(scope="X")),
    "no scope": _changed(lambda it: it["spec"].pop("scope")),
    "no versions": _changed(_spec(versions=[])),
    "no storage version": _changed(_version(storage=False)),
    "two storage versions": _changed(lambda it: it["spec"]["versions"].append({**_SECOND, "storage": True})),
    "two versions": _changed(lambda it: it["spec"]["versions"].append(_SECOND)),
    "version twice": _changed(lambda it: it["spec"]["versions"].append({**_SECOND, "name": "v1"})),
    "name of a version": _changed(_version(name="V_1")),
    "no schema": _changed(lambda it: it["spec"]["versions"][0].pop("schema")),
    "names": _changed(
        _spec(
            names={"plural": "Foos", "kind": "foo_", "singular": "X", "shortNames": ["A"], "listKind": "a b"}
        )
    ),
    "no names": _changed(lambda it: it["spec"].pop("names")),
    "preserve unknown fields": _changed(_spec(preserveUnknownFields=True)),
    "root is a text": _definition({"type": "string"}),
    "root without a type": _definition({"properties": {"spec": {"type": "object"}}}),
    "fields without types": _definition(_object(spec={"properties": {"a": {}}})),
    "list without items": _definition(_object(spec={"type": "array"})),
    "unknown type": _definition(_object(spec={"type": "bad"})),
    "list map without keys": _definition(
        _object(l={"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"})
    ),
    "key that may be missing": _definition(
        _object(
            l={
                "type": "array",
                "items": _object(a=_TEXT),
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a"],
            }
        )
    ),
    "key that is no field": _definition(
        _object(
            l={
                "type": "array",
                "items": _object(a=_TEXT),
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["b"],
            }
        )
    ),
    "set of objects": _definition(
        _object(l={"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"})
    ),
    "unknown list type": _definition(
        _object(l={"type": "array", "items": _TEXT, "x-kubernetes-list-type": "bad"})
    ),
    "list type of a text": _definition(_object(l={"type": "string", "x-kubernetes-list-type": "set"})),
    "map type of a text": _definition(_object(l={"type": "string", "x-kubernetes-map-type": "atomic"})),
    "default of a wrong type": _definition(_object(spec=_object(a={"type": "integer", "default": "x"}))),
    "default with unknown fields": _definition(
        _object(spec=_object(a={**_object(y=_TEXT), "default": {"zz": 1}}))
    ),
    "default out of bounds": _definition(
        _object(spec=_object(a={"type": "integer", "maximum": 3, "default": 4}))
    ),
    "properties and additional ones": _definition(
        _object(spec=_object(a={**_object(y=_TEXT), "additionalProperties": _TEXT}))
    ),
    "pattern": _definition(_object(spec=_object(a={"type": "string", "pattern": "("}))),
    "types in any of": _definition(
        _object(spec=_object(a={"anyOf": [{"type": "string"}, {"type": "integer"}]}))
    ),
    "int or string": _definition(
        _object(
            spec=_object(
                a={"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
            )
        )
    ),
    "metadata": _definition(_object(metadata=_object(labels={"type": "object"}))),
    "name of the metadata": _definition(_object(metadata=_object(name={"type": "string", "maxLength": 3}))),
    "scale": _changed(
        _version(subresources={"scale": {"specReplicasPath": ".spec.r", "statusReplicasPath": ".q"}})
    ),
    "empty scale": _changed(_version(subresources={"scale": {}})),
    "columns": _changed(
        _version(additionalPrinterColumns=[{"name": "a", "type": "x", "jsonPath": "q"}, {"name": ""}])
    ),
    "selectable field": _changed(_version(selectableFields=[{"jsonPath": ".spec.a"}])),
    "selectable field that is none": _changed(_version(selectableFields=[{"jsonPath": ".spec.zz"}])),
    "webhook without an address": _changed(_spec(conversion={"strategy": "Webhook"})),
    "unknown conversion": _changed(_spec(conversion={"strategy": "X"})),
    "webhook without TLS": _changed(
        _spec(conversion={"strategy": "Webhook", "webhook": {**_HOOK, "clientConfig": {"url": "http://x"}}})
    ),
    "unknown field": _changed(_spec(unknown=1)),
}


def _story(body: Object) -> Story:
    async def story(k: Client) -> None:
        await k.create("customresourcedefinitions", body, dryRun="All")

    return story


for name, body in _CASES.items():
    case.add(name, _story(body))


def _own(k: Client, **spec: Any) -> Object:
    definition = _definition()
    definition["metadata"]["name"] = f"foos.{k.ns}.io"
    definition["spec"].update(group=f"{k.ns}.io", **spec)
    return definition


def _established(answer: Any) -> bool:
    conditions = answer["status.conditions"] or []
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


@case
async def life(k: Client) -> None:
    name = f"foos.{k.ns}.io"
    await k.create("customresourcedefinitions", _own(k))
    await k.until("customresourcedefinitions", name, _established)
    served = f"{k.ns}.io/v1/foos"
    await k.until(served, "", lambda answer: answer.code == 200)
    body = {"apiVersion": f"{k.ns}.io/v1", "kind": "Foo", "metadata": {"name": "x"}, "spec": {"a": "b"}}
    await k.create(served, body)
    await k.delete("customresourcedefinitions", name, record=False)
    await k.until_gone("customresourcedefinitions", name)
    await k.until(served, "x", lambda answer: answer.code == 404)


@case
async def what_may_not_change(k: Client) -> None:
    name = f"foos.{k.ns}.io"
    await k.create("customresourcedefinitions", _own(k), record=False)
    await k.until("customresourcedefinitions", name, _established)
    for spec in (
        {"scope": "Cluster"},
        {"names": {"kind": "Bar"}},
        {"group": "other.io"},
        {"names": {"shortNames": ["fo"]}},
        {"versions": [{**_SECOND, "storage": True}]},
    ):
        await k.merge("customresourcedefinitions", name, {"spec": spec}, dryRun="All")
    await k.delete("customresourcedefinitions", name, record=False)


@case
async def a_kind_that_is_taken(k: Client) -> None:
    await k.create("customresourcedefinitions", _own(k), record=False)
    name = f"bars.{k.ns}.io"
    other = _own(k, names={"plural": "bars", "kind": "Foo"})
    await k.until("customresourcedefinitions", f"foos.{k.ns}.io", _established)
    await k.create("customresourcedefinitions", {**other, "metadata": {"name": name}}, record=False)
    await k.until("customresourcedefinitions", name, lambda answer: bool(answer["status.conditions"]))
    await k.delete("customresourcedefinitions", name, record=False)
    await k.delete("customresourcedefinitions", f"foos.{k.ns}.io", record=False)
