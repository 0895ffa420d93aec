"""How a value merges, by its schema and, where that leaves it open, by the value itself."""

from __future__ import annotations

from typing import Any, Final

from openclaw.testing.cluster.schema.node import Node

DEDUCED: Final = Node(preserve=True)
"""A value without a schema: maps are merged by key, lists are replaced."""

_WHOLE: Final = frozenset({"runtime.RawExtension", "v1.FieldsV1", "resource.Quantity"})


def is_atomic(node: Node, value: Any) -> bool:
    """Whether a map or list is owned and replaced as a whole."""
    if node.struct in _WHOLE:
        return True
    if isinstance(value, dict):
        return node.atomic
    return node.list_kind == "atomic"


def child_node(node: Node, key: str) -> Node | None:
    """The node of a map's member; None when the schema has no such field."""
    child = node.properties.get(key) or node.additional
    if child is not None:
        return child
    if not node.properties or node.preserve or node.embedded:
        return DEDUCED
    return None


def item_node(node: Node) -> Node:
    """The node of a list's items."""
    return node.items or DEDUCED
