"""The class of an error decides what becomes of the key; this is the one place that decides it."""

from __future__ import annotations

import enum
import re
from typing import ClassVar, Final

from openclaw.api.errors import InvalidObjectError
from openclaw.kube.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    KubeError,
    TooManyRequests,
)
from openclaw.sharding.fence import LostFence

__all__ = [
    "ClassifiedError",
    "ErrorClass",
    "NotControlled",
    "Retry",
    "TerminalError",
    "classify",
    "reason_of",
]

NAMESPACE_TERMINATING: Final = "NamespaceTerminating"
# Method not allowed, request too large, unsupported media type: the same request fails the same way again.
_NEVER_BETTER: Final = frozenset({405, 413, 415})
# A webhook may put anything in its refusal; conditions admit such words only, events 128 bytes.
_REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]{0,126}[A-Za-z0-9_])?")


class ErrorClass(enum.Enum):
    """What a failed reconcile leads to."""

    CONFLICT = "conflict"
    """Another write came first: run again at once, on fresh state."""
    TRANSIENT = "transient"
    """May pass by itself: run again with the key's exponential backoff."""
    THROTTLED = "throttled"
    """The other side named a wait: run again after it."""
    TERMINAL = "terminal"
    """Will not pass by itself: a condition and an event, and only slow retries until something changes."""
    GONE = "gone"
    """The namespace is being deleted: nothing can be created and nothing needs to be."""
    FENCED = "fenced"
    """The shard may not act on the object any more: nothing is written, whoever has it now runs it."""


class ClassifiedError(Exception):
    """An error that names its own class: the base of those that rooms above the runtime bring.

    Its text is shown to whoever may see the object, so it holds no secret.

    Attributes:
        error_class: what it leads to.
        reason: a CamelCase word for a condition or an event; the error's class by default.
        retry_after: seconds that the other side asks us to wait, or None. A throttled run waits them, a
            transient one at least them.
    """

    error_class: ClassVar[ErrorClass] = ErrorClass.TRANSIENT
    reason: str = ""
    retry_after: float | None = None


class TerminalError(Exception):
    """Raised by a reconciler: no retry helps until the object, or something it refers to, changes.

    Args:
        message: what is wrong and what to do, for the object's condition and event.
        reason: a CamelCase word for the condition.
    """

    def __init__(self, message: str, *, reason: str = "Failed") -> None:
        super().__init__(message)
        self.reason = reason


class NotControlled(TerminalError):
    """A child's name is taken by an object that is not ours."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason="NameTaken")


class Retry(Exception):
    """Raised by a reconciler: not now; run again after `after` seconds, without counting a failure.

    Raises:
        ValueError: `after` is not above 0, which would be a run without end.
    """

    def __init__(self, message: str, *, after: float) -> None:
        if not after > 0:
            msg = f"Retry(after={after}): the delay must be above 0 seconds"
            raise ValueError(msg)
        super().__init__(message)
        self.after = after


_CLASSES: Final = (
    (LostFence, ErrorClass.FENCED),
    ((Conflict, AlreadyExists), ErrorClass.CONFLICT),
    ((TooManyRequests, Retry), ErrorClass.THROTTLED),
    ((Forbidden, Invalid, BadRequest, TerminalError, InvalidObjectError), ErrorClass.TERMINAL),
)


def classify(error: BaseException) -> ErrorClass:
    """The class of an error that ended a reconcile or one component of it."""
    if isinstance(error, ClassifiedError):
        return error.error_class
    if isinstance(error, Forbidden) and any(
        cause.get("reason") == NAMESPACE_TERMINATING for cause in error.causes
    ):
        return ErrorClass.GONE
    for types, error_class in _CLASSES:
        if isinstance(error, types):
            return error_class
    if isinstance(error, ApiError) and error.code in _NEVER_BETTER:
        return ErrorClass.TERMINAL
    return ErrorClass.TRANSIENT


def reason_of(error: BaseException) -> str:
    """A CamelCase word for an error, fit for a condition or an event."""
    if isinstance(error, TerminalError | KubeError | ClassifiedError):
        reason = str(getattr(error, "reason", ""))
        if _REASON.fullmatch(reason):
            return reason
        return "Failed" if isinstance(error, TerminalError) else type(error).__name__
    if isinstance(error, InvalidObjectError):
        return "InvalidObject"
    if isinstance(error, TimeoutError):
        return "DeadlineExceeded"
    return "ReconcileError"
