"""Sets of field paths in the form of `FieldsV1`.

A set is a tree of dicts: keys are path elements (`f:spec`, `k:{"name":"a"}`, `v:"x"`), `.` says that the path
so far is in the set, and so does an empty dict. The root `{}` is the empty set. Sets are never changed.
"""

from __future__ import annotations

from typing import Any, Final

FieldSet = dict[str, Any]

SELF: Final = "."
LEAF: Final[FieldSet] = {}


def has(node: FieldSet) -> bool:
    """Whether the path of this node is in the set; not for the root."""
    return not node or SELF in node


def union(one: FieldSet, other: FieldSet, *, root: bool = True) -> FieldSet:
    """What is in either."""
    if root:
        if not one:
            return other
        if not other:
            return one
    result = {key: below for key, below in one.items() if key != SELF}
    for key, below in other.items():
        if key != SELF:
            known = result.get(key)
            result[key] = below if known is None else union(known, below, root=False)
    if not root and result and (has(one) or has(other)):
        result[SELF] = LEAF
    return result


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """What is in the first and not in the second."""
    if not other:
        return one
    result = {}
    for key, below in one.items():
        if key == SELF:
            continue
        gone = other.get(key)
        if gone is None:
            result[key] = below
            continue
        kept = _difference(below, gone)
        if kept is not None:
            result[key] = kept
    return result


def _difference(one: FieldSet, other: FieldSet) -> FieldSet | None:
    member = has(one) and not has(other)
    children = {key: below for key, below in difference(one, other).items() if key != SELF}
    return _node(children, member=member)


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    """What is in both."""
    result = {}
    small, large = (one, other) if len(one) <= len(other) else (other, one)
    for key, below in small.items():
        match = large.get(key)
        if key == SELF or match is None:
            continue
        node = _node(intersection(below, match), member=has(below) and has(match))
        if node is not None:
            result[key] = node
    return result


def only(one: FieldSet, keys: frozenset[str]) -> FieldSet:
    """The part below these first elements."""
    return {key: below for key, below in one.items() if key in keys}


def without(one: FieldSet, keys: frozenset[str]) -> FieldSet:
    """What is not below these first elements."""
    return {key: below for key, below in one.items() if key not in keys}


def _node(children: FieldSet, *, member: bool) -> FieldSet | None:
    if not children:
        return LEAF if member else None
    if member:
        children[SELF] = LEAF
    return children
