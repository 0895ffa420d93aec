"""What a call to an external system may end with, whatever the system.

A provider turns its system's errors into these; nothing else of the system's leaves it. The class decides
what becomes of the reconcile (`openclaw.runtime.errors`); `outcome_unknown` says whether a write may have
had its effect all the same.

| error | means | the reconcile |
|---|---|---|
| `ExternalNotFound` | there is no such thing | runs again with backoff, and observes |
| `ExternalAlreadyExists` | the identity is taken | the same |
| `ExternalConflict` | its state does not admit the operation now | the same |
| `ExternalTaken` | it exists and is somebody else's | stalls |
| `ExternalInvalid` | the system refuses the request as it is | stalls |
| `ExternalThrottled` | too many requests | waits as long as was asked |
| `ExternalUnauthorised` | the credentials are missing, refused, or not allowed this | stalls |
| `ExternalTransient` | no answer, or a failure of the system's own | runs again with backoff |
| `ExternalTerminal` | anything else that does not pass by itself | stalls |

A reconcile that stalls is still tried, slowly, and at once when its object or what it refers to changes.

Texts are shown in conditions, events and logs. They say what the system said and never hold a secret: a
provider does not put a request, a header or a connection string into one.
"""

from __future__ import annotations

from typing import ClassVar

from openclaw.runtime import ClassifiedError, ErrorClass

__all__ = [
    "ExternalAlreadyExists",
    "ExternalConflict",
    "ExternalInvalid",
    "ExternalNotFound",
    "ExternalTaken",
    "ExternalTerminal",
    "ExternalThrottled",
    "ExternalTransient",
    "ExternalUnauthorised",
    "ProviderError",
]


class ProviderError(ClassifiedError):
    """The base of all of them.

    Args:
        message: what happened and, where there is one, the way out; without secrets.
        code: the system's own word, such as `InvalidParameterValue` or `502`.
        retry_after: seconds that the system asks us to wait.
        outcome_unknown: whether a write may have had its effect; by default as the class has it.

    Attributes:
        result: a word for metrics and spans: the values of their label `result`.
    """

    result: ClassVar[str] = "error"
    outcome_unknown: bool = False

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        retry_after: float | None = None,
        outcome_unknown: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after
        self.reason = type(self).__name__.removeprefix("External")
        if outcome_unknown is not None:
            self.outcome_unknown = outcome_unknown


class ExternalNotFound(ProviderError):
    """There is no such thing. Right after a create this may be delayed visibility, not absence."""

    result = "not_found"


class ExternalAlreadyExists(ProviderError):
    """Something of that identity exists: ours from an answer that was lost, or somebody else's. Look."""

    result = "already_exists"


class ExternalConflict(ProviderError):
    """The state that the thing is in does not admit the operation, or it was changed meanwhile."""

    result = "conflict"


class ExternalTaken(ExternalConflict):
    """The identity belongs to something that is not this object's. Nothing may be done to it."""

    error_class = ErrorClass.TERMINAL

    def __init__(self, message: str, *, code: str = "") -> None:
        super().__init__(message, code=code)
        self.reason = "NameTaken"


class ExternalInvalid(ProviderError):
    """The system refuses the request for what is in it; only a change of the object helps."""

    error_class = ErrorClass.TERMINAL
    result = "invalid"


class ExternalThrottled(ProviderError):
    """Too many requests: refused by the system, or held back here before one was sent.

    Args:
        message: who asks for the wait.
        retry_after: seconds to wait; None where the system did not say, which lets the layer around the
            provider choose.
        code: the system's own word.
        local: whether it was held back here: the system has not seen it.
    """

    error_class = ErrorClass.THROTTLED
    result = "throttled"

    def __init__(
        self, message: str, *, retry_after: float | None = None, code: str = "", local: bool = False
    ) -> None:
        super().__init__(message, code=code, retry_after=retry_after)
        self.local = local


class ExternalUnauthorised(ProviderError):
    """The credentials are missing, malformed, expired or refused, or do not allow the operation.

    Args:
        message: what was refused.
        code: the system's own word.
        expired: whether newer credentials of the same source may help: they are then fetched anew once.
    """

    error_class = ErrorClass.TERMINAL
    result = "unauthorised"

    def __init__(self, message: str, *, code: str = "", expired: bool = False) -> None:
        super().__init__(message, code=code)
        self.expired = expired


class ExternalTransient(ProviderError):
    """No complete answer, or a failure of the system's own.

    Unless said otherwise, a write may have had its effect.
    """

    result = "transient"
    outcome_unknown = True


class ExternalTerminal(ProviderError):
    """Will not pass by itself and is none of the others."""

    error_class = ErrorClass.TERMINAL
    result = "terminal"
