"""JSON merge patches (RFC 7386): the smallest one that turns one document into another."""

from __future__ import annotations

from typing import Any

__all__ = ["merge_patch"]


def merge_patch(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The patch that turns `before` into `after`; empty when they are equal.

    Lists are replaced whole, as the format wants it. A value of None in `after` counts as absent, since
    a merge patch cannot set null; an empty list or map where there was none changes nothing.
    """
    patch: dict[str, Any] = {}
    for key, value in after.items():
        old = before.get(key)
        if value is None or value == old or (old is None and value in ([], {})):
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
