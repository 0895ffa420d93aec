"""Merging an applied configuration into an object, and taking fields out of one."""

from __future__ import annotations

from typing import Any, Final

from openclaw.testing.cluster.fields.elements import item_element
from openclaw.testing.cluster.fields.sets import LEAF, SELF, FieldSet, has
from openclaw.testing.cluster.fields.types import DEDUCED, child_node, is_atomic, item_node
from openclaw.testing.cluster.schema.node import Node

_NOTHING: Final = object()


def merge(node: Node, live: Any, applied: Any) -> Any:
    """`live` with what was applied; the applied wins. Parts that do not change are shared."""
    if isinstance(applied, dict) and isinstance(live, dict):
        if is_atomic(node, applied) or not (live or applied):
            return applied
        result = dict(live)
        for key, value in applied.items():
            known = live.get(key, _NOTHING)
            child = child_node(node, key) or DEDUCED
            result[key] = value if known is _NOTHING else merge(child, known, value)
        return result
    if isinstance(applied, list) and isinstance(live, list):
        if is_atomic(node, applied) or not (live or applied):
            return applied
        return _merge_lists(node, live, applied)
    return applied


def _merge_lists(node: Node, live: list[Any], applied: list[Any]) -> list[Any]:
    """Items keep the order in which they were applied; the others stay around them."""
    items = item_node(node)
    left = [(_element(node, item, at), item) for at, item in enumerate(live)]
    right = [(_element(node, item, at), item) for at, item in enumerate(applied)]
    known, wanted = dict(left), dict(right)
    shared = [element for element, _ in right if element in known]
    following = iter(shared)
    shared_next = next(following, None)
    merged: set[str] = set()
    result: list[Any] = []

    def take(element: str) -> None:
        merged.add(element)
        before = known.get(element, _NOTHING)
        value = wanted[element]
        result.append(value if before is _NOTHING else merge(items, before, value))

    at_left = at_right = 0
    while at_left < len(left) or at_right < len(right):
        if at_left < len(left) and at_right < len(right):
            element = left[at_left][0]
            if element == right[at_right][0]:
                take(element)
                at_left, at_right = at_left + 1, at_right + 1
                shared_next = next(following, None)
                continue
            if element in wanted and shared_next is not None and shared_next != element:
                at_left += 1
                continue
        if at_left < len(left):
            element, item = left[at_left]
            if element not in wanted:
                result.append(item)
                at_left += 1
                continue
            if element in merged:
                at_left += 1
        if at_right < len(right):
            element = right[at_right][0]
            take(element)
            at_right += 1
            if shared_next == element:
                shared_next = next(following, None)
    return result


def _element(node: Node, item: Any, at: int) -> str:
    try:
        return item_element(node, item, at)
    except ValueError:
        return f"i:{at}"


def remove(node: Node, value: Any, fields: FieldSet) -> Any:
    """The value without these fields. Maps and lists that become empty are gone, except at the top."""
    result = _removed(node, value, fields)
    return {} if result is _NOTHING else result


def _removed(node: Node, value: Any, fields: FieldSet) -> Any:
    if isinstance(value, dict):
        if not value or is_atomic(node, value):
            return _NOTHING
        kept: dict[str, Any] = {}
        for key, item in value.items():
            below = fields.get(f"f:{key}")
            if below is None:
                kept[key] = item
                continue
            if has(below):
                continue
            child = _removed(child_node(node, key) or DEDUCED, item, below)
            kept[key] = None if child is _NOTHING else child
        return kept or _NOTHING
    if isinstance(value, list):
        if not value or is_atomic(node, value):
            return _NOTHING
        items = item_node(node)
        left = []
        for at, item in enumerate(value):
            below = fields.get(_element(node, item, at))
            if below is None:
                left.append(item)
            elif not has(below):
                child = _removed(items, item, below)
                left.append(None if child is _NOTHING else child)
        return left or _NOTHING
    return value


def with_named_fields(node: Node, fields: FieldSet) -> FieldSet:
    """The set and, of each path in it, the struct fields on the way."""
    result: FieldSet = {}
    for element, below in fields.items():
        if element == SELF:
            continue
        child, named = _descend(node, element)
        deeper = with_named_fields(child, below)
        if deeper and (named or has(below)):
            deeper[SELF] = LEAF
        result[element] = deeper
    return result


def _descend(node: Node, element: str) -> tuple[Node, bool]:
    if element.startswith("f:"):
        key = element[2:]
        return child_node(node, key) or DEDUCED, key in node.properties
    return item_node(node), False
