"""The trace context on children: the annotation `tracing.k8s.io/traceparent`.

It says which run created or last changed the object, for whoever watches it. It goes with a write that
happens anyway and is no part of the desired state: without it in the comparison, the drift check would see a
field that we own and no longer state, and the annotation alone would cause a write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openclaw.api.kinds import ResourceKind
from openclaw.telemetry.redact import redact_text
from openclaw.telemetry.spans import TRACEPARENT_ANNOTATION, NoSpan, Span, current_span

__all__ = ["as_compared", "note_changes", "stamped"]

_OWNED = f"f:{TRACEPARENT_ANNOTATION}"
_PATHS_NOTED = 20


def stamped(intent: dict[str, Any]) -> dict[str, Any]:
    """`intent` with the context of the run that is about to write it; as it is when that is not sampled.

    Unsampled runs leave it out, and so the server removes an older one: it speaks of the last change or not
    at all.
    """
    root = current_span().root
    if not isinstance(root, Span) or not root.sampled:
        return intent
    return _with(intent, root.traceparent)


def as_compared(intent: dict[str, Any], live: Mapping[str, Any]) -> dict[str, Any]:
    """`intent` with the context that an earlier write of ours has left on `live`."""
    metadata = live["metadata"]
    value = (metadata.get("annotations") or {}).get(TRACEPARENT_ANNOTATION)
    if value is None or not any(_owns(entry) for entry in metadata.get("managedFields") or ()):
        return intent
    return _with(intent, value)


def note_changes(
    span: Span | NoSpan, kind: ResourceKind, namespace: str, name: str, paths: tuple[str, ...]
) -> None:
    """Say on the span of a diff what it was about, and each path that differs as an event."""
    if not isinstance(span, Span):
        return
    span.attributes = {
        "openclaw.child.kind": kind.kind,
        "openclaw.child.namespace": namespace,
        "openclaw.child.name": name,
        "openclaw.changes": len(paths),
    }
    for path in paths[:_PATHS_NOTED]:
        span.event("changed", {"openclaw.path": redact_text(path)})


def _with(intent: dict[str, Any], value: str) -> dict[str, Any]:
    metadata = intent["metadata"]
    annotations = {**(metadata.get("annotations") or {}), TRACEPARENT_ANNOTATION: value}
    return {**intent, "metadata": {**metadata, "annotations": annotations}}


def _owns(entry: Mapping[str, Any]) -> bool:
    fields = entry.get("fieldsV1") or {}
    return _OWNED in ((fields.get("f:metadata") or {}).get("f:annotations") or {})
