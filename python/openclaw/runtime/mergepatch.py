"""JSON merge patches (RFC 7386): the smallest one that turns one document into another."""

from __future__ import annotations

from typing import Any

__all__ = ["apply_merge_patch", "merge_patch"]


def merge_patch(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The patch that turns `before` into `after`; empty when they are equal.

    Lists are replaced whole, as the format wants it. A value of None in `after` counts as absent, since
    a merge patch cannot set null; an empty list or map where there was none changes nothing.
    """
    patch: dict[str, Any] = {}
    for key, value in after.items():
        old = before.get(key)
        if value is None or _same(value, old) or (old is None and value in ([], {})):
            continue
        if isinstance(value, dict) and isinstance(old, dict):
            if nested := merge_patch(old, value):
                patch[key] = nested
        else:
            patch[key] = value
    for key, old in before.items():
        if old is not None and after.get(key) is None:
            patch[key] = None
    return patch


def apply_merge_patch(target: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """What a server makes of `target` when it gets `patch`; both are left as they are."""
    result = dict(target)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            old = result.get(key)
            result[key] = apply_merge_patch(old if isinstance(old, dict) else {}, value)
        else:
            result[key] = value
    return result


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 is 1.0, but True is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
