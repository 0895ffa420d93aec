"""What an object says of runs that fail: `Stalled` when only a change helps, else `Reconciling`.

Both are kstatus' words. `Stalled` comes with the first terminal error. An error of another class mostly
passes by itself, so nothing is said of the first few; from the fifth failure in a row on `Reconciling` is
True, with the error's reason and text, and each further failure is a Warning event, which the recorder makes
a series of. A run that succeeds takes both away.
"""

from __future__ import annotations

import re
from typing import Final

from pydantic import ValidationError

from openclaw.api.conditions import Condition, Conditions
from openclaw.api.resource import CustomResource
from openclaw.kube.errors import ApiError, KubeError
from openclaw.runtime.context import Context
from openclaw.runtime.errors import ClassifiedError, ErrorClass, TerminalError, classify, reason_of
from openclaw.telemetry.redact import redact_text

__all__ = [
    "FAILURES_TOLD",
    "RECONCILING",
    "STALLED",
    "conditions_of",
    "says_it_fails",
    "state_outcome",
    "text_of",
    "warn",
]

STALLED: Final = "Stalled"
"""The condition that a terminal error sets."""
RECONCILING: Final = "Reconciling"
"""The condition that other errors set when they last."""
FAILURES_TOLD: Final = 5
"""So many failures in a row are told of on the object."""

_LONGEST_TEXT: Final = 1024
# By this we know our own: a reconciler may use the condition, too.
_PREFIX: Final = "failing, and tried again: "
# What makes a text differ from run to run: addresses, ids, times, durations.
_VARYING: Final = re.compile(
    r"0x[0-9a-fA-F]+|\b(?=[a-zA-Z-]*\d)[0-9a-fA-F-]{16,}\b|\d+[.:]\d[\d.:]*|\d{5,}", re.ASCII
)


def state_outcome(
    context: Context, obj: CustomResource, error: Exception | None, *, action: str = "Reconcile"
) -> None:
    """Fill in what every status says at the end of a run, and record an event about an error.

    Args:
        context: of the run.
        obj: the root, whose status is about to be written.
        error: what ended the run; None where it succeeded.
        action: a CamelCase word for the event, what was being done.
    """
    terminal = error is not None and classify(error) is ErrorClass.TERMINAL
    conditions = conditions_of(obj)
    if conditions is not None:
        if error is None or terminal:
            _take_back(conditions)
        if error is None:
            conditions.remove(STALLED)
        elif terminal:
            conditions.set(
                Condition(type=STALLED, status="True", reason=reason_of(error), message=text_of(error))
            )
        elif _lasts(context, error):
            conditions.remove(STALLED)
            _set_reconciling(conditions, error, obj.metadata.generation)
    if error is not None:
        warn(context, error, action=action)
    if (error is None or terminal) and "observed_generation" in type(obj.status).model_fields:
        obj.status.observed_generation = obj.metadata.generation


def warn(context: Context, error: Exception, *, action: str) -> None:
    """Record a Warning event about an error that does not pass by itself, or has not for some time."""
    if classify(error) is ErrorClass.TERMINAL or _lasts(context, error):
        context.event(reason_of(error), text_of(error), type="Warning", action=action)


def conditions_of(obj: CustomResource) -> Conditions | None:
    """The conditions of the status; None where it has none."""
    conditions = getattr(obj.status, "conditions", None)
    return conditions if isinstance(conditions, Conditions) else None


def says_it_fails(obj: CustomResource) -> bool:
    """Whether the status says of an earlier run that it has failed."""
    conditions = conditions_of(obj)
    if conditions is None:
        return False
    said = conditions.get(RECONCILING)
    return conditions.is_true(STALLED) or (said is not None and said.message.startswith(_PREFIX))


def text_of(error: Exception) -> str:
    """An error in words for people who may see the object, without what has the shape of a secret."""
    if isinstance(error, ApiError) and error.message:
        text = error.message  # the server's own words; which request it was is in the log
    elif isinstance(error, TerminalError | KubeError | ClassifiedError | TimeoutError):
        text = str(error)
    elif isinstance(error, ValidationError):
        # Its own text has the values.
        text = "; ".join(f"{'.'.join(map(str, it['loc']))}: {it['msg']}" for it in error.errors())
        text = f"{type(error).__name__}: {error.title}: {text}"
    else:
        text = f"{type(error).__name__}: {error}"
    text = redact_text(text)
    if isinstance(error, TerminalError) or len(text) <= _LONGEST_TEXT:
        return text
    return text[: _LONGEST_TEXT - 1] + "…"


def _lasts(context: Context, error: Exception) -> bool:
    return classify(error) is ErrorClass.TRANSIENT and context.attempt >= FAILURES_TOLD


def _set_reconciling(conditions: Conditions, error: Exception, generation: int) -> None:
    """State it, but not anew for what differs in each run: that would be a write for each retry."""
    stated = Condition(
        type=RECONCILING, status="True", reason=reason_of(error), message=_PREFIX + text_of(error)
    )
    said = conditions.get(RECONCILING)
    if (
        said is not None
        and (said.status, said.reason, said.observed_generation) == ("True", stated.reason, generation)
        and _VARYING.sub("#", said.message) == _VARYING.sub("#", stated.message)
    ):
        return
    conditions.set(stated)


def _take_back(conditions: Conditions) -> None:
    said = conditions.get(RECONCILING)
    if said is not None and said.message.startswith(_PREFIX):
        conditions.remove(RECONCILING)
