"""JSON merge patch (RFC 7386)."""

from __future__ import annotations

from typing import Any


def apply_merge_patch(document: Any, patch: Any) -> Any:
    """The document with the patch merged in; parts that do not change are shared."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply_merge_patch(result.get(key), value)
    return result
