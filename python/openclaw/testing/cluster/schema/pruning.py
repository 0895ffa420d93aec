"""Unknown fields: found and left out."""

from __future__ import annotations

from typing import Any

from openclaw.testing.cluster.schema.metadata_node import object_meta
from openclaw.testing.cluster.schema.node import Node, path_of

_ANYTHING = Node(preserve=True)
_ANYTHING.items = _ANYTHING
_ROOT_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


def prune(node: Node, value: Any, unknown: list[str], path: str = "", *, root: bool = False) -> Any:
    """The value without what the schema does not know; paths of what was left out go into `unknown`.

    Whole numbers that are written as fractions (`3.0`) become whole, as Go writes them. Parts in which
    nothing changes are shared.
    """
    if isinstance(value, dict):
        return _object(node, value, unknown, path, root=root or node.embedded)
    if isinstance(value, list):
        items = node.items
        if items is None:
            return value
        pruned = [prune(items, item, unknown, f"{path}[{at}]") for at, item in enumerate(value)]
        return pruned if any(a is not b for a, b in zip(pruned, value, strict=True)) else value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    return value


def _object(
    node: Node, value: dict[str, Any], unknown: list[str], path: str, *, root: bool
) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    dropped: list[str] = []
    properties, additional = node.properties, node.additional
    for key, below in value.items():
        child = properties.get(key) or additional
        if root and key in _ROOT_FIELDS:
            child = object_meta() if key == "metadata" else None
            if child is None:
                continue
        elif child is None:
            if not node.preserve:
                dropped.append(key)
                unknown.append(path_of(path, key))
                continue
            child = _ANYTHING
        pruned = prune(child, below, unknown, path_of(path, key))
        if pruned is not below:
            changed[key] = pruned
    if not changed and not dropped:
        return value
    result = {**value, **changed}
    for key in dropped:
        del result[key]
    return result
