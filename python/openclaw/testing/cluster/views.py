"""Two resources that show one thing: the events of `v1`, as they are stored, and of `events.k8s.io/v1`.

The fields' names follow `pkg/apis/events/v1/conversion.go`.
"""

from __future__ import annotations

from typing import Any, Final

from openclaw.testing.cluster.contracts import Resource

__all__ = ["shown", "stored"]

Object = dict[str, Any]

# Of events.k8s.io, of v1.
_NAMES: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_DROPPED: Final = frozenset({"reportingController", "reportingInstance", "action", "reason", "note", "type"})
"""Fields that one view writes though they are empty, and the other does not."""
_BACK: Final = {core: view for view, core in _NAMES.items()}


def stored(resource: Resource, obj: Object) -> Object:
    """The object as it is stored, of one as the resource shows it."""
    if resource.stored_as[0] == resource.group:
        return obj
    return {**_renamed(obj, _NAMES), "apiVersion": "v1"}


def shown(resource: Resource, obj: Object) -> Object:
    """The object as the resource shows it, of one that is stored."""
    if resource.stored_as[0] == resource.group:
        return obj
    seen = {**_renamed(obj, _BACK), "apiVersion": resource.api_version(resource.storage)}
    return {key: value for key, value in seen.items() if value != "" or key not in _DROPPED}


def _renamed(obj: Object, names: dict[str, str]) -> Object:
    return {names.get(name, name): value for name, value in obj.items()}
