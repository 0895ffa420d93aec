"""What the status of an HTTPResource says of a run."""

from __future__ import annotations

from typing import Final

import orjson

from openclaw.api.conditions import Available, ConditionType
from openclaw.api.httpresource import HTTPResource
from openclaw.providers.errors import ExternalNotFound, ExternalThrottled, ProviderError
from openclaw.providers.http import HTTPObserved
from openclaw.providers.http.pointer import look_up
from openclaw.providers.lifecycle import Outcome, Step
from openclaw.runtime import Context, reason_of
from openclaw.telemetry.redact import redact_text

__all__ = ["Paused", "Synced", "report", "report_error"]

Synced: Final = ConditionType("Synced", true_reason="InSync", false_reason="Drifted")
Paused: Final = ConditionType("Paused", true_reason="Annotation", false_reason="NotAsked")

_MOST_EXPOSED: Final = 1024
_EVENTS: Final = {
    Step.CREATED: ("Created", "was made"),
    Step.ADOPTED: ("Adopted", "was there before, and is this object's from now on"),
    Step.UPDATED: ("Updated", "was changed"),
}


def report(ctx: Context, obj: HTTPResource, outcome: Outcome[HTTPObserved]) -> None:
    """Say what a run came to, and tell of what it did."""
    status, conditions = obj.status, obj.status.conditions
    observed, drift = outcome.observed, str(outcome.drift)
    if observed is not None:
        status.external_id = observed.identity
        status.exposed = _exposed(obj, observed)
        conditions.set(Available(when=True, message=f"{observed.identity} exists"))
    elif outcome.step is Step.AWAITED:
        conditions.set(Available(when=None, reason="Awaited", message="what was made is not visible yet"))
    else:
        status.exposed = {}
        conditions.set(Available(when=False, reason="Absent", message="it does not exist"))
    status.sent = outcome.sent
    status.drift = drift if drift and outcome.step is not Step.UPDATED else None
    match outcome.step:
        case Step.CREATED | Step.IN_SYNC:
            conditions.set(Synced(when=True))
        case Step.UPDATED:
            conditions.set(Synced(when=None, reason="Updated", message=f"sent: {drift}"))
        case Step.UNSETTLED:
            why = (
                "the API took this update before and tells the same as then; it is not sent again unless the "
            )
            why += "annotation openclaw.dev/reconcile-now changes"
            conditions.set(Synced(when=False, reason="Unsettled", message=f"{drift} ({why})"))
        case Step.DRIFTED if obj.spec.management_policy == "Observe":
            conditions.set(Synced(when=False, reason="Observed", message=drift))
        case Step.DRIFTED:
            conditions.set(Synced(when=False, reason="UpdateImpossible", message=drift))
        case Step.ADOPTED:
            conditions.set(Synced(when=not drift, reason="Adopted", message=drift))
        case _:
            conditions.set(Synced(when=None, reason=outcome.step.name.capitalize()))
    if outcome.step in _EVENTS and obj.spec.management_policy == "Full":
        reason, what = _EVENTS[outcome.step]
        told = f": {drift}" if outcome.step is Step.UPDATED else ""
        ctx.event(reason, f"{status.external_id} {what}{told}")


def report_error(obj: HTTPResource, error: ProviderError) -> None:
    """Say why it is not known, or not so. What becomes of the run is the runtime's to say.

    That a look is put off says nothing of the thing, and would be a write for each.
    """
    if isinstance(error, ExternalThrottled) and error.local:
        return
    conditions = obj.status.conditions
    message = redact_text(str(error))
    conditions.set(Synced(when=False, reason=reason_of(error), message=message))
    if conditions.get(Available) is None:
        conditions.set(Available(when=None, reason="Unknown", message="it was not seen yet"))
    elif isinstance(error, ExternalNotFound):
        conditions.set(Available(when=False, reason="Absent", message=message))


def _exposed(obj: HTTPResource, observed: HTTPObserved) -> dict[str, str]:
    exposed = {}
    for name, pointer in obj.spec.expose.items():
        found = look_up(observed.body, pointer)
        if found is not None:
            text = found if isinstance(found, str) else orjson.dumps(found).decode()
            exposed[name] = text[:_MOST_EXPOSED]
    return exposed
