"""What differs between two objects, as sets of fields: added, removed, modified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from openclaw.testing.cluster.fields.elements import item_element
from openclaw.testing.cluster.fields.sets import LEAF, SELF, FieldSet
from openclaw.testing.cluster.fields.types import DEDUCED, child_node, is_atomic, item_node
from openclaw.testing.cluster.schema.node import Node

_MISSING: Final = object()


@dataclass(slots=True)
class Comparison:
    """The fields in which the second object differs from the first."""

    added: FieldSet = field(default_factory=dict)
    removed: FieldSet = field(default_factory=dict)
    modified: FieldSet = field(default_factory=dict)

    def map(self, change: Callable[[FieldSet], FieldSet]) -> Comparison:
        """The comparison with each set changed."""
        return Comparison(change(self.added), change(self.removed), change(self.modified))


def compare(node: Node, old: Any, new: Any) -> Comparison:
    """Compare two objects of one schema."""
    found = Comparison()
    _Walk(found).members(node, old, new, ())
    return found


class _Walk:
    def __init__(self, found: Comparison) -> None:
        self._found = found

    def members(self, node: Node, old: Any, new: Any, path: tuple[str, ...]) -> None:
        old_map, new_map = old if isinstance(old, dict) else {}, new if isinstance(new, dict) else {}
        for key, value in new_map.items():
            before = old_map.get(key, _MISSING)
            if before is not value:
                self._value(child_node(node, key) or DEDUCED, before, value, (*path, f"f:{key}"))
        for key, before in old_map.items():
            if key not in new_map:
                self._value(child_node(node, key) or DEDUCED, before, _MISSING, (*path, f"f:{key}"))

    def _value(self, node: Node, old: Any, new: Any, path: tuple[str, ...]) -> None:
        some = old if new is _MISSING else new
        both = old is not _MISSING and new is not _MISSING
        # Where one is no map and no list, the two are compared as wholes.
        mixed = both and _shape(old) is not _shape(new) and old is not None and new is not None
        if some is None and both:
            some = old
        nested = isinstance(some, dict | list) and not mixed
        empty = nested and not _content(old) and not _content(new)
        if not nested or empty or is_atomic(node, some):
            if old is _MISSING:
                _insert(self._found.added, path)
            elif new is _MISSING:
                _insert(self._found.removed, path)
            elif type(old) is not type(new) or old != new:
                _insert(self._found.modified, path)
            return
        if both and old == new:
            return
        if isinstance(some, dict):
            self.members(node, old, new, path)
        else:
            self._items(node, old, new, path)
        if old is _MISSING:
            _insert(self._found.added, path)
        elif new is _MISSING:
            _insert(self._found.removed, path)

    def _items(self, node: Node, old: Any, new: Any, path: tuple[str, ...]) -> None:
        old_items, new_items = _indexed(node, old), _indexed(node, new)
        items = item_node(node)
        for element, value in new_items.items():
            self._value(items, old_items.get(element, _MISSING), value, (*path, element))
        for element, value in old_items.items():
            if element not in new_items:
                self._value(items, value, _MISSING, (*path, element))


def _indexed(node: Node, value: Any) -> dict[str, Any]:
    if not isinstance(value, list):
        return {}
    found: dict[str, Any] = {}
    for at, item in enumerate(value):
        try:
            found[item_element(node, item, at)] = item
        except ValueError:
            continue  # Stored before its schema asked for a key.
    return found


def _shape(value: Any) -> type | None:
    return type(value) if isinstance(value, dict | list) else None


def _content(value: Any) -> bool:
    return isinstance(value, dict | list) and bool(value)


def _insert(fields: FieldSet, path: tuple[str, ...]) -> None:
    node = fields
    for element in path[:-1]:
        below = node.get(element)
        if below is None:
            below = node[element] = {}
        elif not below:
            # A leaf so far; it stays in the set.
            below[SELF] = LEAF
        node = below
    known = node.get(path[-1])
    if known is None:
        node[path[-1]] = {}
    elif known:
        known[SELF] = LEAF
