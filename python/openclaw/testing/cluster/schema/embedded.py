"""Objects within objects (`x-kubernetes-embedded-resource`), as the server reads them."""

from __future__ import annotations

from typing import Any

from openclaw.testing.cluster.schema.go_values import GoValueError, go_read, go_write
from openclaw.testing.cluster.schema.metadata_node import object_meta
from openclaw.testing.cluster.schema.node import Node, path_of
from openclaw.testing.cluster.schema.values import shown, type_of


def has_embedded(node: Node) -> bool:
    """Whether there is an embedded object at or below a node."""
    below = [*node.properties.values(), node.items, node.additional]
    return node.embedded or any(it is not None and has_embedded(it) for it in below)


def read_embedded(node: Node, value: Any, path: str = "") -> Any:
    """The value with the metadata of embedded objects as Go writes it. Raises GoValueError."""
    if isinstance(value, list) and node.items is not None:
        items = node.items
        return [read_embedded(items, item, f"{path}[{at}]") for at, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    result = dict(value)
    if node.embedded:
        _read_fields(result, path)
    for key, below in value.items():
        child = node.child(key)
        if child is not None and isinstance(below, dict | list):
            result[key] = read_embedded(child, below, path_of(path, key))
    return result


def _read_fields(value: dict[str, Any], path: str) -> None:
    for key in ("apiVersion", "kind"):
        if key in value and not isinstance(value[key], str):
            message = f"{path_of(path, key)}: Invalid value: {shown(value[key])}: must be a string"
            raise GoValueError(message)
    metadata = value.get("metadata")
    if metadata is None:
        return
    place = path_of(path, "metadata")
    if not isinstance(metadata, dict):
        kind = {"integer": "number", "boolean": "bool"}.get(type_of(metadata), type_of(metadata))
        why = f"json: cannot unmarshal {kind} into Go value of type v1.ObjectMeta"
        message = f"{place}: Invalid value: {shown(metadata)}: {why}"
        raise GoValueError(message)
    try:
        value["metadata"] = go_write(object_meta(), go_read(object_meta(), metadata, owner="ObjectMeta"))
    except GoValueError as error:
        message = f"{place}: Invalid value: {shown(metadata)}: {error}"
        raise GoValueError(message) from None
