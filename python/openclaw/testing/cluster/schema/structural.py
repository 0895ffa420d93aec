"""An object held against its structural schema, with the errors that kube-apiserver gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from openclaw.testing.cluster.schema.names import check_long_name
from openclaw.testing.cluster.schema.node import Node, path_of
from openclaw.testing.cluster.schema.uniqueness import check_unique, item_key
from openclaw.testing.cluster.schema.values import (
    NO_FIELD,
    check_count,
    check_enum,
    check_scalar,
    of_type,
    type_of,
    wrong_type,
)
from openclaw.testing.cluster.statuses import Cause

MISSING: Final = object()
"""Stands for an old value that there is none of."""

_BLOCKING: Final = frozenset(
    {
        "FieldValueRequired",
        "FieldValueTypeInvalid",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueNotSupported",
    }
)


def blocking(causes: list[Cause]) -> bool:
    """Whether these errors keep the server from evaluating rules."""
    return any(cause.reason in _BLOCKING for cause in causes)


def validate_structure(
    node: Node, value: Any, old: Any, causes: list[Cause], path: str = "", *, optional: bool = False
) -> None:
    """Append what is wrong with `value`.

    What is equal to `old` is not looked at: an object that was stored before its schema became stricter can
    still be changed elsewhere (ratcheting). `optional` says that a null stands for a missing value.
    """
    if old is not MISSING and old == value and type(old) is type(value):
        if isinstance(value, dict | list):
            check_unique(node, value, path, causes)
        return
    if value is None and (node.nullable or optional or not (node.type or node.int_or_string)):
        return
    if node.int_or_string:
        if type_of(value) not in {"integer", "string"}:
            causes.append(wrong_type(path, "integer,string", value))
            return
    elif node.type and not of_type(value, node.type):
        causes.append(wrong_type(path, node.type, value))
        if node.type == "integer" and isinstance(value, float):
            detail = f"Checked value must be of type integer (default format) in {path}"
            causes.append(Cause.of("FieldValueInvalid", NO_FIELD, detail, '""'))
            check_scalar(node.raw, value, path, causes)
        else:
            check_enum(node.raw, value, path, causes)
        return
    _combinations(node.raw, value, path, causes)
    if isinstance(value, dict):
        _object(node, value, old if isinstance(old, dict) else MISSING, causes, path)
    elif isinstance(value, list):
        _list(node, value, old if isinstance(old, list) else MISSING, causes, path)
    else:
        check_scalar(node.raw, value, path, causes)


def _object(node: Node, value: dict[str, Any], old: Any, causes: list[Cause], path: str) -> None:
    check_count(node.raw, value, path, causes, noun="properties", least="minProperties", most="maxProperties")
    check_enum(node.raw, value, path, causes)
    missing = [key for key in node.required if key not in value]
    causes += [Cause.of("FieldValueRequired", path_of(path, key)) for key in missing]
    if node.embedded:
        _embedded(value, path, causes)
    properties, additional = node.properties, node.additional
    for key, below in value.items():
        child = properties.get(key) or additional
        if child is not None:
            known = MISSING if old is MISSING else old.get(key, MISSING)
            validate_structure(child, below, known, causes, path_of(path, key))


def _list(node: Node, value: list[Any], old: Any, causes: list[Cause], path: str) -> None:
    check_count(node.raw, value, path, causes, noun="items", least="minItems", most="maxItems")
    check_enum(node.raw, value, path, causes)
    if node.raw.get("uniqueItems"):
        for at, item in enumerate(value):
            if item in value[:at]:
                detail = f"{path} in body shouldn't contain duplicates"
                causes.append(Cause.of("FieldValueInvalid", path, detail))
                break
    items = node.items
    if items is not None:
        known: dict[Any, Any] = {}
        if old is not MISSING and node.list_kind == "map":
            known = {item_key(node, item): item for item in old if isinstance(item, dict)}
        for at, item in enumerate(value):
            before = MISSING
            if known and isinstance(item, dict):
                before = known.get(item_key(node, item), MISSING)
            validate_structure(items, item, before, causes, f"{path}[{at}]")
    check_unique(node, value, path, causes, deep=False)


def _embedded(value: dict[str, Any], path: str, causes: list[Cause]) -> None:
    for key in ("apiVersion", "kind"):
        if key not in value:
            causes.append(Cause.of("FieldValueRequired", path_of(path, key)))
        elif not isinstance(value[key], str):
            causes.append(wrong_type(path_of(path, key), "string", value[key]))
        elif not value[key]:
            causes.append(Cause.of("FieldValueInvalid", path_of(path, key), "must not be empty", '""'))
    metadata = value.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        causes.append(wrong_type(path_of(path, "metadata"), "object", metadata))


def _combinations(raw: Mapping[str, Any], value: Any, path: str, causes: list[Cause]) -> None:
    """`allOf`, `anyOf`, `oneOf`, `not`: schemas without structure of their own, about values only."""
    faults = [cause for schema in raw.get("allOf", ()) for cause in _against(schema, value, path)]
    if faults:
        causes.append(_whole(path, "must validate all the schemas (allOf)"))
        causes += faults
    if alternatives := raw.get("anyOf"):
        found = [_against(schema, value, path) for schema in alternatives]
        if all(found):
            causes.append(_whole(path, "must validate at least one schema (anyOf)"))
            causes += _fewest(found)
    if alternatives := raw.get("oneOf"):
        found = [_against(schema, value, path) for schema in alternatives]
        valid = sum(1 for one in found if not one)
        if not valid:
            causes.append(_whole(path, "must validate one and only one schema (oneOf). Found none valid"))
            causes += _fewest(found)
        elif valid > 1:
            text = f"must validate one and only one schema (oneOf). Found {valid} valid alternatives"
            causes.append(_whole(path, text))
    if (schema := raw.get("not")) is not None and not _against(schema, value, path):
        causes.append(_whole(path, "must not validate the schema (not)"))


def _fewest(found: list[list[Cause]]) -> list[Cause]:
    return min(found, key=_count)


def _count(causes: list[Cause]) -> int:
    return len(causes)


def _whole(path: str, text: str) -> Cause:
    return Cause.of("FieldValueInvalid", NO_FIELD, f'"{path}" {text}', '""')


def _against(schema: Mapping[str, Any], value: Any, path: str) -> list[Cause]:
    causes: list[Cause] = []
    if (wanted := schema.get("type")) and not of_type(value, wanted):
        return [wrong_type(path, wanted, value)]
    _combinations(schema, value, path, causes)
    if isinstance(value, dict):
        check_count(
            schema, value, path, causes, noun="properties", least="minProperties", most="maxProperties"
        )
        causes += [
            Cause.of("FieldValueRequired", path_of(path, key))
            for key in schema.get("required", ())
            if key not in value
        ]
        for key, below in schema.get("properties", {}).items():
            if key in value:
                causes += _against(below, value[key], path_of(path, key))
        additional = schema.get("additionalProperties")
        if isinstance(additional, dict):
            for key in value.keys() - schema.get("properties", {}).keys():
                causes += _against(additional, value[key], path_of(path, key))
    elif isinstance(value, list):
        check_count(schema, value, path, causes, noun="items", least="minItems", most="maxItems")
        if isinstance(schema.get("items"), dict):
            for at, item in enumerate(value):
                causes += _against(schema["items"], item, f"{path}[{at}]")
    if isinstance(value, dict | list):
        check_enum(schema, value, path, causes)
    else:
        check_scalar(schema, value, path, causes)
    return causes


def check_embedded_names(value: Any, path: str, causes: list[Cause]) -> None:
    """The name of an embedded object, when it has one."""
    name = value.get("metadata", {}).get("name") if isinstance(value, dict) else None
    if name:
        check_long_name(name, path_of(path, "metadata.name"), causes)
