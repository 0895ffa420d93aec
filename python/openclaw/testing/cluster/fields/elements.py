"""Elements of field paths: as `FieldsV1` writes them, and as messages show them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import orjson

from openclaw.testing.cluster.fields.sets import SELF, FieldSet, has
from openclaw.testing.cluster.schema.node import Node
from openclaw.testing.cluster.schema.uniqueness import key_value


def item_element(node: Node, item: Any, at: int) -> str:
    """The element of a list's item.

    Raises ValueError when the item of a list map has none of its keys.
    """
    if node.list_kind == "set":
        return f"v:{orjson.dumps(item).decode()}"
    if node.list_kind == "map":
        if not isinstance(item, dict):
            message = "associative list with keys may not have non-map elements"
            raise ValueError(message)
        keys = {key: value for key in node.keys if (value := key_value(node, item, key)) is not None}
        if not keys:
            names = " ".join(json.dumps(key) for key in node.keys)
            message = (
                f"associative list with keys has an element that omits all key fields [{names}] "
                "(and doesn't have default values for any key fields)"
            )
            raise ValueError(message)
        return f"k:{orjson.dumps(keys, option=orjson.OPT_SORT_KEYS).decode()}"
    return f"i:{at}"


def shown_element(element: str) -> str:
    """The element in a message: `.spec`, `[name="a"]`, `[="x"]`, `[0]`."""
    kind, text = element[:2], element[2:]
    match kind:
        case "f:":
            return f".{text}"
        case "k:":
            keys = ",".join(f"{key}={json.dumps(value)}" for key, value in sorted(json.loads(text).items()))
            return f"[{keys}]"
        case "v:":
            return f"[={text}]"
        case _:
            return f"[{text}]"


def shown_paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """The paths of a set as messages show them, parents first."""
    for element in sorted(fields):
        if element == SELF:
            continue
        below = fields[element]
        path = f"{prefix}{shown_element(element)}"
        if has(below):
            yield path
        yield from shown_paths(below, path)
