"""An applied configuration: that it fits its schema, and which fields it sets."""

from __future__ import annotations

from typing import Any

from openclaw.testing.cluster.fields.elements import item_element, shown_element
from openclaw.testing.cluster.fields.sets import LEAF, SELF, FieldSet
from openclaw.testing.cluster.fields.types import child_node, is_atomic, item_node
from openclaw.testing.cluster.schema.node import Node

_NUMBERS = frozenset({"integer", "number"})


def field_set(node: Node, value: Any) -> FieldSet:
    """The fields that an object sets: what is in maps and lists that merge, and others as a whole."""
    return _set(node, value) or {}


def _set(node: Node, value: Any) -> FieldSet | None:
    """None: nothing; `{}`: the place itself."""
    if isinstance(value, dict):
        if is_atomic(node, value):
            return LEAF
        return _map_set(node, value)
    if isinstance(value, list):
        if is_atomic(node, value):
            return LEAF
        items = item_node(node)
        fields: FieldSet = {}
        for at, item in enumerate(value):
            below = _set(items, item) or {}
            fields[item_element(node, item, at)] = {SELF: LEAF, **below} if below else LEAF
        return fields or None
    return LEAF


def _map_set(node: Node, value: dict[str, Any]) -> FieldSet | None:
    fields: FieldSet = {}
    for key, item in value.items():
        child = child_node(node, key)
        if child is None:
            continue
        below = _set(child, item)
        if item is None or item == {}:
            below = LEAF
        elif key not in node.properties:
            # Which keys a map has is part of what is owned.
            below = {SELF: LEAF, **below} if below else LEAF
        if below is not None:
            fields[f"f:{key}"] = below
    return fields or None


def check_configuration(node: Node, value: Any, faults: list[str], path: str = "") -> None:
    """Append what does not fit the schema, in the words of structured-merge-diff."""
    if value is None:
        return
    if isinstance(value, dict):
        if node.type not in {"object", ""} or node.int_or_string:
            faults.append(f"{path}: expected {_wanted(node)}, got &{_go_map(value)}")
            return
        for key, item in value.items():
            child = child_node(node, key)
            if child is None:
                faults.append(f"{path}.{key}: field not declared in schema")
            else:
                check_configuration(child, item, faults, f"{path}.{key}")
    elif isinstance(value, list):
        if node.type not in {"array", ""}:
            faults.append(f"{path}: expected {_wanted(node)}, got &{_go_list(value)}")
            return
        _check_list(node, value, faults, path)
    elif not _fits(node, value) and node.type in _NUMBERS and isinstance(value, str):
        faults.append(f"{path}: expected {_wanted(node)}, got string")
    elif not _fits(node, value):
        faults.append(f"{path}: expected {_wanted(node)}, got &value.valueUnstructured{{Value:{_go(value)}}}")


def _check_list(node: Node, value: list[Any], faults: list[str], path: str) -> None:
    items = item_node(node)
    seen: set[str] = set()
    for at, item in enumerate(value):
        try:
            element = item_element(node, item, at)
        except ValueError as error:
            faults.append(f"{path}: element {at}: {error}")
            continue
        if element in seen:
            faults.append(f"{path}: duplicate entries for key {shown_element(element)}")
        seen.add(element)
        check_configuration(items, item, faults, f"{path}{shown_element(element)}")


def _fits(node: Node, value: Any) -> bool:
    if not node.type or node.int_or_string or node.struct == "resource.Quantity":
        return True
    if isinstance(value, bool):
        return node.type == "boolean"
    if isinstance(value, int | float):
        return node.type in _NUMBERS
    return isinstance(value, str) and node.type == "string"


def _wanted(node: Node) -> str:
    names = {
        "integer": "numeric (int or float)",
        "number": "numeric (int or float)",
        "array": "list",
        "object": "map",
    }
    return names.get(node.type, node.type or "string")


def _go(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).lower() if isinstance(value, bool) else str(value)


def _go_map(value: dict[str, Any]) -> str:
    return f"{{map[{' '.join(f'{key}:{below}' for key, below in sorted(value.items()))}]}}"


def _go_list(value: list[Any]) -> str:
    return f"{{[{' '.join(str(item) for item in value)}]}}"
