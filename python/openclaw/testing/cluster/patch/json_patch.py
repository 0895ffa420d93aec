"""JSON patch (RFC 6902), as kube-apiserver has it: `replace` of a missing member of an object adds it."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, ClassVar

import jsonpatch

Object = dict[str, Any]


class _Replace(jsonpatch.ReplaceOperation):
    def apply(self, obj: Any) -> Any:
        parent, part = self.pointer.to_last(obj)
        if isinstance(parent, dict) and part is not None:
            parent[part] = self.operation["value"]
            return obj
        return super().apply(obj)


class _JsonPatch(jsonpatch.JsonPatch):
    operations: ClassVar[MappingProxyType[str, Any]] = MappingProxyType(
        {**jsonpatch.JsonPatch.operations, "replace": _Replace}
    )


def apply_json_patch(document: Object, operations: list[Any]) -> Any:
    """A copy of the document with the operations applied. Raises ValueError."""
    try:
        return _JsonPatch(operations).apply(document)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError, KeyError) as error:
        raise ValueError(str(error)) from error
