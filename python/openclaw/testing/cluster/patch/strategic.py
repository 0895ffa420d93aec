"""Strategic merge patch: lists are merged by the keys that the schema names.

Rules: https://github.com/kubernetes/community/blob/main/contributors/devel/sig-api-machinery/strategic-merge-patch.md
"""

from __future__ import annotations

import json
from typing import Any, Final

from openclaw.testing.cluster.schema.node import Node

Object = dict[str, Any]

_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_ORDER: Final = "$setElementOrder/"
_DELETE: Final = "$deleteFromPrimitiveList/"


class StrategicPatchError(Exception):
    """A patch that cannot be applied; the text is the server's."""


def apply_strategic_patch(node: Node, document: Object, patch: Object) -> Object:
    """The document with the patch merged in. Raises StrategicPatchError."""
    return _merge_map(node, document, patch)


def _merge_map(node: Node | None, document: Object, patch: Object) -> Object:
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        replacement: Object = _plain({key: value for key, value in patch.items() if key != _DIRECTIVE})
        return replacement
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        message = f"unknown patch type: {directive} in map: {_go_map(patch)}"
        raise StrategicPatchError(message)
    result = dict(document)
    retained = patch.get(_RETAIN)
    if retained is not None:
        result = {key: value for key, value in result.items() if key in retained}
    orders = {key.removeprefix(_ORDER): value for key, value in patch.items() if key.startswith(_ORDER)}
    deletions = {key.removeprefix(_DELETE): value for key, value in patch.items() if key.startswith(_DELETE)}
    for key, value in patch.items():
        if key in {_DIRECTIVE, _RETAIN} or key.startswith((_ORDER, _DELETE)):
            continue
        child = None if node is None else node.child(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            known = result.get(key)
            # A document without the field: the patch's nulls and directives must still go.
            result[key] = _merge_map(child, known if isinstance(known, dict) else {}, value)
        elif isinstance(value, list):
            known = result.get(key)
            current = known if isinstance(known, list) else []
            result[key] = _merge_list(child, current, value, orders.get(key), deletions.get(key))
        else:
            result[key] = value
    for key in orders.keys() | deletions.keys():
        if key not in patch and isinstance(result.get(key), list):
            child = None if node is None else node.child(key)
            result[key] = _merge_list(child, result[key], [], orders.get(key), deletions.get(key))
    return result


def _merge_list(
    node: Node | None,
    document: list[Any],
    patch: list[Any],
    order: list[Any] | None,
    deletion: list[Any] | None,
) -> list[Any]:
    merges = node is not None and "merge" in node.strategy.split(",")
    if not merges or node is None:
        return [_plain(item) for item in patch]
    if not node.merge_key:
        return _merge_primitives(document, patch, order, deletion)
    key = node.merge_key
    kept: list[Object] = []
    replaced = False
    current: list[Any] = list(document)
    for item in patch:
        if not isinstance(item, dict):
            message = "cannot merge a list of values into a list of maps"
            raise StrategicPatchError(message)
        directive = item.get(_DIRECTIVE)
        if directive == "replace" and key not in item:
            replaced = True
            continue
        if key not in item:
            message = f"map: {_go_map(item)} does not contain declared merge key: {key}"
            raise StrategicPatchError(message)
        if directive == "delete":
            current = [one for one in current if one.get(key) != item[key]]
            continue
        kept.append(item)
    if replaced:
        return [_plain(item) for item in kept]
    by_key = {json.dumps(one.get(key)): one for one in current}
    merged: dict[str, Any] = {}
    for item in kept:
        name = json.dumps(item[key])
        base = merged.get(name) or by_key.get(name) or {}
        merged[name] = _merge_map(node.items, base, item)
    names = [json.dumps(one.get(key)) for one in document]
    result = {**by_key, **merged}
    wanted = list(merged) if order is None else [json.dumps(one.get(key)) for one in order]
    return [result[name] for name in _ordered(wanted, names, result)]


def _merge_primitives(
    document: list[Any], patch: list[Any], order: list[Any] | None, deletion: list[Any] | None
) -> list[Any]:
    gone = deletion or []
    result = {json.dumps(one): one for one in document if one not in gone}
    before = list(result)
    result |= {json.dumps(one): one for one in patch}
    if order is None:
        # Values that are new go to the end.
        return list(result.values())
    return [result[name] for name in _ordered([json.dumps(one) for one in order], before, result)]


def _ordered(wanted: list[str], before: list[str], present: dict[str, Any]) -> list[str]:
    """The names in the order that the patch wants; those that it does not name stay where they were."""
    place = {name: at for at, name in enumerate(before)}
    left = [name for name in dict.fromkeys(wanted) if name in present]
    right = [name for name in present if name not in set(left)]
    right.sort(key=lambda name: place.get(name, len(place)))
    result: list[str] = []
    while left and right:
        # What the document did not have goes first.
        from_patch = left[0] not in place or place[left[0]] < place.get(right[0], len(place))
        result.append(left.pop(0) if from_patch else right.pop(0))
    return [*result, *left, *right]


def _plain(value: Any) -> Any:
    """A part of the patch that becomes part of the document: without directives and nulls."""
    if isinstance(value, dict):
        return {
            key: _plain(below)
            for key, below in value.items()
            if below is not None
            and key not in {_DIRECTIVE, _RETAIN}
            and not key.startswith((_ORDER, _DELETE))
        }
    if isinstance(value, list):
        return [
            _plain(item) for item in value if not (isinstance(item, dict) and item.keys() == {_DIRECTIVE})
        ]
    return value


def _go_map(value: Object) -> str:
    return f"map[{' '.join(f'{key}:{below}' for key, below in sorted(value.items()))}]"
