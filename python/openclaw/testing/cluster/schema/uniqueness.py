"""Sets and list maps hold each item once."""

from __future__ import annotations

from typing import Any

import orjson

from openclaw.testing.cluster.schema.node import Node, path_of
from openclaw.testing.cluster.schema.values import shown
from openclaw.testing.cluster.statuses import Cause


def item_key(node: Node, item: dict[str, Any]) -> bytes:
    """What tells the items of a list map apart; a missing key has its default."""
    return orjson.dumps([key_value(node, item, key) for key in node.keys])


def key_value(node: Node, item: dict[str, Any], key: str) -> Any:
    """An item's key, or its default."""
    if key in item:
        return item[key]
    field = None if node.items is None else node.items.properties.get(key)
    return field.default if field is not None and field.has_default else None


def check_unique(node: Node, value: Any, path: str, causes: list[Cause], *, deep: bool = True) -> None:
    """Append duplicates of a set or list map; with `deep`, of those below, too."""
    if isinstance(value, list):
        if node.list_kind != "atomic":
            _check_list(node, value, path, causes)
        if deep and node.items is not None:
            for at, item in enumerate(value):
                check_unique(node.items, item, f"{path}[{at}]", causes)
    elif deep and isinstance(value, dict):
        for key, below in value.items():
            if isinstance(below, dict | list) and (child := node.child(key)) is not None:
                check_unique(child, below, path_of(path, key), causes)


def _check_list(node: Node, value: list[Any], path: str, causes: list[Cause]) -> None:
    seen: set[bytes] = set()
    for at, item in enumerate(value):
        if node.list_kind == "map":
            if item is None:
                continue
            if not isinstance(item, dict):
                detail = "must be an object for an array of list-type map"
                causes.append(Cause.of("FieldValueInvalid", f"{path}[{at}]", detail, shown(item)))
                continue
            told = {key: key_value(node, item, key) for key in node.keys}
        else:
            told = item
        key = orjson.dumps(told, option=orjson.OPT_SORT_KEYS)
        if key in seen:
            causes.append(Cause.of("FieldValueDuplicate", f"{path}[{at}]", value=shown(told)))
        seen.add(key)
