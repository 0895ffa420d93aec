"""Telling of an object that does not fit its type, for instance stored before its CRD became stricter."""

from __future__ import annotations

from typing import Any, Final

import orjson
from pydantic import TypeAdapter, ValidationError

from openclaw.api.conditions import Condition, Conditions
from openclaw.api.meta import ObjectMeta
from openclaw.api.resource import CustomResource
from openclaw.kube.client import Client
from openclaw.kube.errors import KubeError
from openclaw.runtime.recorder import EventRecorder
from openclaw.runtime.status import StatusWriter
from openclaw.telemetry.logs import Log

__all__ = ["report_invalid"]

log = Log(__name__)

_REASON: Final = "InvalidObject"
_CONDITIONS: Final = TypeAdapter(Conditions)


async def report_invalid(
    root: type[CustomResource],
    stored: bytes,
    message: str,
    *,
    client: Client,
    recorder: EventRecorder | None,
    condition: str,
) -> bytes | None:
    """Set `condition` to True and record a Warning, as far as what can be read of the object allows.

    Nothing here raises because of the object: the reconcile fails anyhow, and its error is the news.

    Returns:
        The object after a write of its status, None where nothing was written.
    """
    raw: dict[str, Any] = orjson.loads(stored)
    try:
        metadata = ObjectMeta.model_validate(raw["metadata"])
    except ValidationError:
        return None
    if recorder is not None:
        readable = root.model_construct(metadata=metadata, spec=None, status=None)
        recorder.event(readable, "Warning", _REASON, message, action="Read")
    fields = root.__status_class__.model_fields if root.__status_class__ is not None else {}
    if "conditions" not in fields or fields["conditions"].annotation is not Conditions:
        return None
    before = raw.get("status") or {}
    try:
        conditions = _CONDITIONS.validate_python(before.get("conditions") or [])
    except ValidationError:
        return None
    said = conditions.get(condition)
    stated = Condition(
        type=condition,
        status="True",
        reason=_REASON,
        message=message,
        observed_generation=metadata.generation,
    )
    conditions.set(stated)
    if conditions.get(condition) == said:
        return None
    after = {**before, "conditions": [it.model_dump(exclude_none=True) for it in conditions]}
    try:
        return await StatusWriter(client).write(root.resource, raw["metadata"], before, after)
    except KubeError as error:
        log.warning("the status could not be written", error=str(error))
        return None
