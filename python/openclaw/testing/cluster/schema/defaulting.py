"""Defaults of structural schemas, and the nulls that they replace.

Rules: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from openclaw.testing.cluster.schema.node import Node


def set_defaults(node: Node, value: Any, *, drop_nulls: bool = True) -> Any:
    """The value with defaults for what is missing. Where null is not allowed, it counts as missing.

    With `drop_nulls` other nulls that are not allowed are left out, as they are from what is decoded.

    Parts in which nothing changes are shared.
    """
    if isinstance(value, dict):
        return _object(node, value, drop_nulls=drop_nulls)
    if isinstance(value, list) and node.items is not None:
        items = node.items
        done = [set_defaults(items, item, drop_nulls=drop_nulls) for item in value]
        return done if any(a is not b for a, b in zip(done, value, strict=True)) else value
    return value


def _object(node: Node, value: dict[str, Any], *, drop_nulls: bool) -> dict[str, Any]:
    result = value
    for key, below in value.items():
        child = node.properties.get(key) or node.additional
        if child is None:
            continue
        if below is None:
            if child.nullable or not (drop_nulls or child.has_default):
                continue
            if result is value:
                result = dict(value)
            del result[key]
            continue
        done = set_defaults(child, below, drop_nulls=drop_nulls)
        if done is not below:
            if result is value:
                result = dict(value)
            result[key] = done
    for key, child in node.properties.items():
        if child.has_default and key not in result:
            if result is value:
                result = dict(value)
            result[key] = set_defaults(child, deepcopy(child.default))
    return result
