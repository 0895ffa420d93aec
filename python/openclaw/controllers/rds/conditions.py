"""The conditions of an RDSInstance, and what becomes of its phase."""

from __future__ import annotations

import re
from typing import Final

from openclaw.api.conditions import Available, ConditionType, Degraded, Progressing
from openclaw.api.rdsinstance import Phase, RDSInstance
from openclaw.api.rdsinstance_status import Operation
from openclaw.controllers.rds.clock import seconds_since, stamp
from openclaw.controllers.rds.phases import Row, Signal, row_of
from openclaw.controllers.rds.settings import RDSSettings
from openclaw.controllers.rds.statuses import rule_of
from openclaw.providers.aws.rds_model import RDSObserved
from openclaw.runtime import Context

__all__ = ["Paused", "Synced", "enter", "tell_paused"]

Synced: Final = ConditionType("Synced", true_reason="InSync", false_reason="Drifted")
Paused: Final = ConditionType("Paused", true_reason="Annotation", false_reason="NotAsked")

_NOT_A_WORD: Final = re.compile(r"[^A-Za-z0-9]+")


def tell_paused(obj: RDSInstance, *, paused: bool) -> None:
    """Say that nothing is done; the condition is there only while it is so."""
    if paused:
        message = "the annotation openclaw.dev/paused keeps the operator from doing anything"
        obj.status.conditions.set(Paused(when=True, message=message))
    else:
        obj.status.conditions.remove(Paused)


def enter(
    ctx: Context,
    obj: RDSInstance,
    signal: Signal,
    *,
    settings: RDSSettings,
    now: float,
    observed: RDSObserved | None = None,
    detail: str = "",
    kept: Phase | None = None,
) -> Row:
    """Put phase, operation and conditions as the table has it for `signal`; tell of what turned.

    Args:
        ctx: of the run.
        obj: the object.
        signal: what the run came to.
        settings: the deadlines.
        now: seconds since 1970.
        observed: the instance, if it was seen in this run.
        detail: more about it, for people, without secrets.
        kept: the phase where the table keeps the one that there is; that one by default.

    Returns:
        The row, of the deadline where that is over.
    """
    row = row_of(signal)
    over = _overdue(row, obj, settings, now)
    if over is not None:
        seconds = settings.deadlines[over]
        detail = f"{over} for more than {seconds / 60:.0f} min" + (f": {detail}" if detail else "")
        row = row_of(Signal.DELETE_OVERDUE if over is Phase.DELETING else Signal.OVERDUE)
    message = f"{row.signal.value}: {detail}" if detail else row.signal.value
    before = obj.status.phase
    phase = row.to or kept or before or Phase.PENDING
    was = obj.status.conditions.get(Degraded)
    _operation(obj, row, now)
    _conditions(obj, row, observed, message)
    if phase is not before:
        obj.status.phase, obj.status.phase_since = phase, stamp(now)
        bad = phase in (Phase.DEGRADED, Phase.FAILED)
        ctx.event(phase.value, message, type="Warning" if bad else "Normal", action="ChangePhase")
    elif row.degraded and (was is None or was.status != "True" or was.reason != row.reason):
        ctx.event(row.reason, message, type="Warning")
    return row


def _overdue(row: Row, obj: RDSInstance, settings: RDSSettings, now: float) -> Phase | None:
    """The operation whose deadline is over, if it is what the row waits for."""
    waiting, operation = row.waiting, obj.status.operation
    if waiting is None or operation.phase is not waiting or row.signal is Signal.UPDATED:
        return None
    deadline = settings.deadlines.get(waiting)
    if deadline is None or seconds_since(operation.started_at, now) <= deadline:
        return None
    return waiting


def _operation(obj: RDSInstance, row: Row, now: float) -> None:
    if row.keeps_operation:
        return
    known = obj.status.operation
    if row.waiting is None:
        obj.status.operation = Operation()
    elif known.phase is not row.waiting or row.signal is Signal.UPDATED:
        obj.status.operation = Operation(phase=row.waiting, started_at=stamp(now))


def _conditions(obj: RDSInstance, row: Row, observed: RDSObserved | None, message: str) -> None:
    conditions = obj.status.conditions
    if row.to is None and not row.degraded and Available in conditions:
        # Of the instance nothing was learned. But what was asked for since is not there yet.
        if row.signal is Signal.BUSY or obj.status.observed_generation != obj.generation:
            conditions.set(Synced(when=row.synced, reason=row.reason, message=message))
        return
    if observed is not None:
        serving = rule_of(observed.status).serving and observed.endpoint is not None
        reason = _word(observed.status) if not serving else None
        conditions.set(
            Available(when=serving, reason=reason, message=f"RDS says {observed.status or 'nothing'}")
        )
    elif row.to is None and conditions.is_true(Available):
        conditions.set(Available(when=None, reason=row.reason, message="the instance was not seen"))
    elif row.to is not None or Available not in conditions:
        conditions.set(Available(when=False, reason=row.reason, message=message))
    overdue = row.signal in (Signal.OVERDUE, Signal.DELETE_OVERDUE)
    conditions.set(Synced(when=row.synced, reason=row.reason, message=message))
    progressing = row.waiting is not None and not overdue
    conditions.set(
        Progressing(
            when=progressing,
            reason=row.reason if progressing else None,
            message=message if progressing else "",
        )
    )
    conditions.set(
        Degraded(
            when=row.degraded,
            reason=row.reason if row.degraded else None,
            message=message if row.degraded else "",
        )
    )


def _word(status: str) -> str:
    """`storage-full` as `StorageFull`; a word that is no reason becomes one."""
    parts = (part for part in _NOT_A_WORD.split(status) if part)
    word = "".join(part[0].upper() + part[1:] for part in parts)
    return word if word[:1].isalpha() else "NoStatus"
