"""From what a run came to, to the one signal that the table knows."""

from __future__ import annotations

from dataclasses import dataclass

from openclaw.api.rdsinstance_status import SentUpdate
from openclaw.controllers.rds.clock import seconds_since
from openclaw.controllers.rds.paced import Doing
from openclaw.controllers.rds.phases import Signal
from openclaw.controllers.rds.statuses import Stage, StatusRule, rule_of
from openclaw.providers.aws.errors import PROTECTED, is_no_room
from openclaw.providers.aws.rds_model import RDSObserved
from openclaw.providers.errors import (
    ExternalAlreadyExists,
    ExternalConflict,
    ExternalNotFound,
    ExternalTaken,
    ExternalThrottled,
    ExternalTransient,
    ExternalUnauthorised,
    ProviderError,
)
from openclaw.providers.lifecycle import Outcome, Step

__all__ = ["Seen", "signal_of", "signal_of_error"]

_INPUT_CODES = frozenset({"SecretMissing", "SecretIncomplete"})

_BY_STAGE = {
    Stage.BUILDING: Signal.BUILDING,
    Stage.CHANGING: Signal.CHANGING,
    Stage.BROKEN: Signal.BROKEN,
    Stage.GOING: Signal.GOING,
    Stage.UNKNOWN: Signal.UNKNOWN_STATUS,
}
_BY_STEP = {
    Step.CREATED: Signal.CREATED,
    Step.AWAITED: Signal.INVISIBLE,
    Step.ADOPTED: Signal.SHOWN,
    Step.UPDATED: Signal.UPDATED,
}


@dataclass(frozen=True, slots=True)
class Seen:
    """What a signal depends on besides the outcome.

    Attributes:
        now: seconds since 1970.
        settle: seconds after an update for which what RDS tells may be older.
        last_update: the update that was sent last, before this run.
        immediate: the spec asks for changes at once.
        observing: nothing may be changed.
    """

    now: float
    settle: float
    last_update: SentUpdate
    immediate: bool = False
    observing: bool = False


def signal_of(outcome: Outcome[RDSObserved], seen: Seen) -> Signal:
    """The signal of a run that succeeded."""
    observed = outcome.observed
    if outcome.step is Step.ABSENT or observed is None:
        if outcome.step is Step.AWAITED:
            return Signal.INVISIBLE
        return Signal.NOT_FOUND if seen.observing else Signal.LOST
    if outcome.step in _BY_STEP:
        return _BY_STEP[outcome.step]
    rule = rule_of(observed.status)
    if rule.stage is Stage.IMPAIRED:
        return Signal.IMPAIRED
    if rule.stage is Stage.SERVING:
        return _serving(outcome, observed, seen)
    return _BY_STAGE[rule.stage]


def _serving(outcome: Outcome[RDSObserved], observed: RDSObserved, seen: Seen) -> Signal:
    last = seen.last_update
    if outcome.step is Step.UNSETTLED and last.refused:
        return Signal.UPDATE_REFUSED
    if last.sent_at is not None and not last.refused and seconds_since(last.sent_at, seen.now) < seen.settle:
        return Signal.STALE
    if outcome.step is Step.UNSETTLED:
        return Signal.WITHOUT_EFFECT
    if outcome.step is Step.DRIFTED:
        return Signal.MISMATCH
    if observed.pending or observed.password_pending:
        # A new password is made at once whatever was asked for.
        deferred = not seen.immediate and not observed.password_pending
        return Signal.DEFERRED if deferred else Signal.CHANGING
    return Signal.SETTLED


def signal_of_error(
    error: ProviderError, doing: Doing, *, rule: StatusRule | None = None, snapshot: bool = False
) -> Signal:
    """The signal of a run that a call has ended.

    Args:
        error: the call's.
        doing: which call.
        rule: what the instance's status means; None where it was not seen.
        snapshot: a final snapshot was asked for.
    """
    match error:
        case ExternalTaken():
            return Signal.TAKEN
        case ExternalUnauthorised():
            return Signal.INPUT_MISSING if error.code in _INPUT_CODES else Signal.UNAUTHORISED
        case ExternalThrottled() | ExternalTransient():
            return Signal.NO_ROOM if is_no_room(error) else Signal.UNREACHABLE
        case ExternalConflict():
            if error.code == PROTECTED:
                return Signal.DELETE_PROTECTED
            impossible = doing == "delete" and snapshot and rule is not None and not rule.snapshot
            return Signal.NO_SNAPSHOT if impossible else Signal.BUSY
        case ExternalNotFound() | ExternalAlreadyExists():
            return Signal.BUSY
        case _:
            pass
    return {"create": Signal.CREATE_REFUSED, "update": Signal.UPDATE_REFUSED}.get(doing, Signal.REFUSED)
