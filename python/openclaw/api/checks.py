"""Refuses, while a class is created, what the API server would refuse when the CRD is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from openclaw.api.errors import SchemaError
from openclaw.api.facts import Facts

Json = dict[str, Any]

_STRING_FORMATS = """
    bsonobjectid uri email hostname ipv4 ipv6 cidr mac uuid uuid3 uuid4 uuid5 isbn isbn10 isbn13
    creditcard ssn hexcolor rgbcolor byte password date duration datetime date-time
"""
_FORMATS = {
    "string": frozenset(_STRING_FORMATS.split()),
    "integer": frozenset({"int32", "int64"}),
    "number": frozenset({"float", "double"}),
}
_SCALARS = ("string", "integer", "number", "boolean")


def check_facts(schema: Json, facts: Facts, where: str) -> None:
    """Check that each fact fits the type at which it stands, and that lists and maps are declared soundly.

    Raises:
        SchemaError: it does not; the message names the place, the fact and what it is for.
    """
    for fact, fits, what in _placements(schema, facts):
        if fact and not fits:
            raise SchemaError(f"{where}: {what}, but the field is {_spoken(schema)}")
    known = _FORMATS.get(schema.get("type", ""), frozenset())
    if facts.format is not None and facts.format not in known:
        raise SchemaError(
            f"{where}: the API server knows no format {facts.format!r} of {_spoken(schema)}; "
            f"it knows {', '.join(sorted(known)) or 'none'}"
        )
    if facts.has_second_pattern:
        raise SchemaError(
            f"{where}: the type has a pattern already; write the second one as a Rule with matches()"
        )
    if facts.pattern_message is not None and facts.pattern is None:
        raise SchemaError(f"{where}: pattern_message needs a pattern")
    if facts.list_type is not None or facts.list_map_keys:
        _check_list(schema, facts, where)


def _placements(schema: Json, facts: Facts) -> Iterator[tuple[bool, bool, str]]:
    kind = schema.get("type")
    is_open = kind is None and "x-kubernetes-int-or-string" not in schema
    is_number = kind in ("integer", "number")
    is_int_or_string = "x-kubernetes-int-or-string" in schema
    bounds = (facts.ge, facts.le, facts.gt, facts.lt, facts.multiple_of)
    lengths = (facts.min_length, facts.max_length)
    yield (
        any(bound is not None for bound in bounds),
        is_number,
        "ge, le, gt, lt and multiple_of are for numbers",
    )
    yield (
        any(length is not None for length in lengths),
        kind in ("string", "array", "object"),
        ("lengths are for strings, lists and maps"),
    )
    yield facts.pattern is not None, kind == "string" or is_int_or_string, "a pattern is for strings"
    yield facts.map_type is not None, kind == "object", "map_type is for maps and objects"
    yield facts.list_type is not None, kind == "array", "list_type is for lists"
    yield bool(facts.list_map_keys), kind == "array", "list_map_keys is for lists"
    yield (
        facts.embedded_resource,
        kind == "object",
        "embedded_resource is for objects (dict[str, Any] or a Model)",
    )
    yield (
        facts.preserve_unknown,
        kind == "object" or is_open,
        "preserve_unknown is for objects (dict[str, Any], Any)",
    )


def _check_list(schema: Json, facts: Facts, where: str) -> None:
    items: Json = schema["items"]
    is_scalar = items.get("type") in _SCALARS or "x-kubernetes-int-or-string" in items
    if facts.list_type == "set" and not is_scalar:
        raise SchemaError(
            f"{where}: server-side apply knows sets of scalars only; for objects use list_type='map'"
        )
    if facts.list_type == "map" and not facts.list_map_keys:
        raise SchemaError(
            f"{where}: list_type='map' needs list_map_keys, the item fields that identify an item"
        )
    if facts.list_type != "map" and facts.list_map_keys:
        raise SchemaError(f"{where}: list_map_keys goes with list_type='map'")
    if facts.list_type != "map":
        return
    properties: Json = items.get("properties", {})
    for key in facts.list_map_keys:
        if key not in properties:
            raise SchemaError(f"{where}: list_map_keys names {key!r}, which is no field of the items")
        if properties[key].get("type") not in _SCALARS:
            raise SchemaError(f"{where}: the list map key {key!r} must be a scalar")
        if key not in items.get("required", ()) and "default" not in properties[key]:
            raise SchemaError(f"{where}: the list map key {key!r} must be required or have a default")


def check_transitions(schema: Json, where: str) -> None:
    """Refuse transition rules beneath a list whose items have no identity from one version to the next.

    Raises:
        SchemaError: there is one; the message says how to give the items an identity.
    """
    _check_transitions(schema, where, correlatable=True)


def _check_transitions(schema: Json, where: str, *, correlatable: bool) -> None:
    for rule in schema.get("x-kubernetes-validations", ()):
        if not correlatable and "oldSelf" in rule["rule"]:
            raise SchemaError(
                f"{where}: a transition rule (immutable, oldSelf) can't stand inside a list whose items "
                "have no identity; give the list list_type='map' and list_map_keys, "
                "or put the rule on the list itself"
            )
    for name, child in schema.get("properties", {}).items():
        _check_transitions(child, f"{where}.{name}", correlatable=correlatable)
    if "items" in schema:
        has_identity = schema.get("x-kubernetes-list-type") == "map"
        _check_transitions(schema["items"], f"{where}[*]", correlatable=correlatable and has_identity)
    if isinstance(schema.get("additionalProperties"), dict):
        _check_transitions(schema["additionalProperties"], f"{where}[*]", correlatable=correlatable)


def _spoken(schema: Json) -> str:
    if "x-kubernetes-int-or-string" in schema:
        return "an int-or-string"
    kind = schema.get("type")
    return f"of type {kind}" if kind else "open"
