"""The state machine of an RDSInstance: one table, from what a run came to, to a phase.

What is seen decides, whatever the phase was before: a phase that was missed, or is remembered wrongly, does
no harm. The one exception is `Failed`, which is left only when the spec or a referenced Secret changes, or
somebody asks. `tools/phase_table.py` draws this table into docs/rdsinstance.md.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from openclaw.api.rdsinstance import Phase

__all__ = ["TABLE", "Poll", "Row", "Signal", "row_of"]


class Signal(enum.Enum):
    """What a run came to; each has exactly one row in the table."""

    INPUT_MISSING = "a referenced Secret or a key of it is missing"
    TAKEN = "an instance of the name is not this object's"
    SHOWN = "an instance that is to be adopted was looked at; nothing was changed"
    NOT_FOUND = "there is nothing to observe"
    CREATED = "the instance was asked for"
    INVISIBLE = "it was asked for a moment ago, and is not visible yet"
    BUILDING = "RDS makes it"
    CREATE_REFUSED = "RDS refuses to make it as it is asked for"
    SETTLED = "it serves, as the spec asks"
    DEFERRED = "it serves, and changes wait for the maintenance window"
    MISMATCH = "it serves, and differs in what RDS can't change, or in what is only observed"
    WITHOUT_EFFECT = "it serves, and an update has left the difference that it was for"
    UPDATED = "an update was sent"
    STALE = "an update was sent a moment ago, and what RDS tells may be older"
    CHANGING = "RDS is at work on it, or has changes that it will make at once"
    UPDATE_REFUSED = "it serves, and RDS refuses an update"
    IMPAIRED = "something is wrong with it that may be put right"
    OVERDUE = "it is being made or changed for longer than the deadline"
    BROKEN = "it will not come to life again"
    LOST = "it was there, and somebody has deleted it"
    GOING = "somebody deletes it in AWS"
    UNKNOWN_STATUS = "RDS' status is a word that is not known here"
    NO_ROOM = "a quota of the account, or AWS' capacity, is used up"
    BUSY = "RDS does not take the call in the state that the instance is in"
    UNAUTHORISED = "the credentials are refused, or do not allow a call"
    UNREACHABLE = "RDS does not answer, fails, or asks us to wait"
    REFUSED = "RDS refuses a call for good"
    DELETING = "its deletion was asked for, and it is still there"
    DELETE_PROTECTED = "RDS protects it from deletion, and the spec does not lift that"
    NO_SNAPSHOT = "RDS can't make the final snapshot that the spec asks for"
    DELETE_OVERDUE = "it is being deleted for longer than the deadline"


class Poll(enum.Enum):
    """When to look again; a change of the object or of a Secret comes first."""

    PHASE = "the phase's interval"
    SOON = "a few seconds"
    SLOW = "the slow interval"
    NEVER = "never"
    BACKOFF = "backoff, or as long as RDS asks"


@dataclass(frozen=True, slots=True)
class Row:
    """What a signal leads to.

    Attributes:
        signal: what the run came to.
        after: the phases in which it is met; for the diagram.
        to: the next phase; None keeps the phase, or begins with Pending.
        waiting: the operation whose deadline runs; None where none does.
        reason: the word in conditions.
        poll: when to look again.
        synced: the condition Synced; None is Unknown.
        degraded: the condition Degraded.
    """

    signal: Signal
    after: tuple[Phase, ...]
    to: Phase | None
    waiting: Phase | None
    reason: str
    poll: Poll
    synced: bool | None
    degraded: bool = False

    @property
    def keeps_operation(self) -> bool:
        """Whether what was waited for before still is: nothing was learned, or it is overdue."""
        return self.to is None or self.signal is Signal.OVERDUE


S, P = Signal, Phase
ANY: Final = tuple(Phase)
LIVE: Final = (Phase.CREATING, Phase.AVAILABLE, Phase.MODIFYING, Phase.DEGRADED)
NEW: Final = (Phase.PENDING,)
GOES: Final = (Phase.DELETING,)
KEEP: Final = None
PHASE, SOON, SLOW, NEVER, BACKOFF = Poll.PHASE, Poll.SOON, Poll.SLOW, Poll.NEVER, Poll.BACKOFF

# fmt: off
TABLE: Final = (
    #   what was seen      in    leads to     waiting for  reason                 look     synced degraded
    Row(S.INPUT_MISSING,    ANY,  KEEP,        None,        "SecretMissing",       SLOW,    False, True),
    Row(S.TAKEN,            NEW,  P.PENDING,   None,        "Conflict",            SLOW,    False, True),
    Row(S.SHOWN,            NEW,  P.PENDING,   None,        "Adopting",            SOON,    False),
    Row(S.NOT_FOUND,        NEW,  P.PENDING,   None,        "NotFound",            PHASE,   False, True),
    Row(S.CREATED,          NEW,  P.CREATING,  P.CREATING,  "Creating",            PHASE,   False),
    Row(S.INVISIBLE,        NEW,  P.CREATING,  P.CREATING,  "Creating",            PHASE,   False),
    Row(S.BUILDING,         NEW,  P.CREATING,  P.CREATING,  "Creating",            PHASE,   False),
    Row(S.CREATE_REFUSED,   NEW,  P.FAILED,    None,        "CreateRefused",       NEVER,   False, True),
    Row(S.SETTLED,          LIVE, P.AVAILABLE, None,        "InSync",              PHASE,   True),
    Row(S.DEFERRED,         LIVE, P.AVAILABLE, None,        "PendingMaintenance",  PHASE,   True),
    Row(S.MISMATCH,         LIVE, P.AVAILABLE, None,        "Mismatch",            PHASE,   False),
    Row(S.WITHOUT_EFFECT,   LIVE, P.AVAILABLE, None,        "UpdateWithoutEffect", PHASE,   False),
    Row(S.UPDATED,          LIVE, P.MODIFYING, P.MODIFYING, "Modifying",           PHASE,   False),
    Row(S.STALE,            LIVE, P.MODIFYING, P.MODIFYING, "Modifying",           PHASE,   False),
    Row(S.CHANGING,         LIVE, P.MODIFYING, P.MODIFYING, "Modifying",           PHASE,   False),
    Row(S.UPDATE_REFUSED,   LIVE, P.DEGRADED,  None,        "UpdateRefused",       PHASE,   False, True),
    Row(S.IMPAIRED,         LIVE, P.DEGRADED,  None,        "Impaired",            PHASE,   None,  True),
    Row(S.OVERDUE,          LIVE, P.DEGRADED,  None,        "DeadlineExceeded",    PHASE,   False, True),
    Row(S.BROKEN,           LIVE, P.FAILED,    None,        "Broken",              NEVER,   None,  True),
    Row(S.LOST,             LIVE, P.FAILED,    None,        "Lost",                NEVER,   False, True),
    Row(S.GOING,            LIVE, P.DELETING,  P.DELETING,  "DeletedElsewhere",    PHASE,   False, True),
    Row(S.UNKNOWN_STATUS,   LIVE, KEEP,        None,        "UnknownStatus",       SLOW,    None,  True),
    Row(S.NO_ROOM,          ANY,  KEEP,        None,        "NoRoom",              SLOW,    False, True),
    Row(S.BUSY,             ANY,  KEEP,        None,        "Busy",                PHASE,   False),
    Row(S.UNAUTHORISED,     ANY,  KEEP,        None,        "Unauthorised",        SLOW,    None,  True),
    Row(S.UNREACHABLE,      ANY,  KEEP,        None,        "Unreachable",         BACKOFF, None),
    Row(S.REFUSED,          ANY,  KEEP,        None,        "Refused",             SLOW,    None,  True),
    Row(S.DELETING,         ANY,  P.DELETING,  P.DELETING,  "Deleting",            PHASE,   False),
    Row(S.DELETE_PROTECTED, GOES, P.DELETING,  None,        "DeletionProtected",   SLOW,    False, True),
    Row(S.NO_SNAPSHOT,      GOES, P.DELETING,  None,        "SnapshotImpossible",  SLOW,    False, True),
    Row(S.DELETE_OVERDUE,   GOES, P.DELETING,  P.DELETING,  "DeadlineExceeded",    SLOW,    False, True),
)
"""The state machine. An instance whose phase is Failed is looked at only when its inputs change."""
# fmt: on

_ROWS: Final = {row.signal: row for row in TABLE}


def row_of(signal: Signal) -> Row:
    """The row of a signal."""
    return _ROWS[signal]
