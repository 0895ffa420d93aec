"""Values of an object as CEL sees them: only fields that the schema knows, times and durations as such."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime
from typing import Any, Final
from weakref import WeakKeyDictionary

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from openclaw.testing.cluster.cel.durations import seconds_of
from openclaw.testing.cluster.cel.identifiers import escaped
from openclaw.testing.cluster.schema.node import Node

_FORMATS: Final = frozenset({"date-time", "datetime", "date", "duration", "byte"})
_NANOSECONDS: Final = 1_000_000_000
_plain: WeakKeyDictionary[Node, bool] = WeakKeyDictionary()


def cel_value(node: Node | None, value: Any) -> Any:
    """What an expression gets to see of `value`."""
    if node is None or value is None or is_plain(node):
        return value
    if isinstance(value, dict):
        result = {}
        for key, below in value.items():
            child = node.properties.get(key)
            if child is not None:
                name = escaped(key)
                if name is not None:
                    result[name] = cel_value(child, below)
            elif node.additional is not None:
                result[key] = cel_value(node.additional, below)
        return result
    if isinstance(value, list):
        return [cel_value(node.items, item) for item in value]
    if isinstance(value, str):
        return _text(node.raw.get("format", ""), value)
    if node.type == "number" and isinstance(value, int):
        return float(value)
    return value


def is_plain(node: Node) -> bool:
    """Whether values of this node are seen as they are."""
    known = _plain.get(node)
    if known is None:
        known = _plain[node] = _is_plain(node)
    return known


def _is_plain(node: Node) -> bool:
    if node.type == "number" or node.raw.get("format", "") in _FORMATS:
        return False
    if node.type == "object" and not node.properties and node.additional is None:
        return False
    if any(escaped(name) != name or not is_plain(below) for name, below in node.properties.items()):
        return False
    if node.preserve and node.properties:
        return False
    return all(is_plain(it) for it in (node.items, node.additional) if it is not None)


def _text(format_: str, value: str) -> Any:
    try:
        if format_ in {"date-time", "datetime"}:
            return _timestamp(datetime.fromisoformat(value.upper()))
        if format_ == "date":
            return _timestamp(datetime.fromisoformat(value))
        if format_ == "duration":
            whole, nanoseconds = divmod(round(seconds_of(value) * _NANOSECONDS), _NANOSECONDS)
            return Duration(seconds=whole, nanos=nanoseconds)
        if format_ == "byte":
            return base64.b64decode(value)
    except (ValueError, binascii.Error):
        pass  # Validation says so; the rule sees what there is.
    return value


def _timestamp(time: datetime) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(time if time.tzinfo else time.replace(tzinfo=UTC))
    return stamp
