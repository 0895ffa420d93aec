import pytest

from openclaw.api.conditions import Conditions, Degraded
from openclaw.api.errors import InvalidObjectError
from openclaw.kube.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ResourceExpired,
    ServerTimeout,
    ServiceUnavailable,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from openclaw.runtime.errors import (
    ClassifiedError,
    ErrorClass,
    NotControlled,
    Retry,
    TerminalError,
    classify,
    reason_of,
)

TERMINATING = {"causes": [{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]}


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Conflict(409, "Conflict"), ErrorClass.CONFLICT),
        (AlreadyExists(409, "AlreadyExists"), ErrorClass.CONFLICT),
        (Unreachable("reset"), ErrorClass.TRANSIENT),
        (ServiceUnavailable(503), ErrorClass.TRANSIENT),
        (ServerTimeout(504), ErrorClass.TRANSIENT),
        (Unauthorized(401), ErrorClass.TRANSIENT),
        (NotFound(404), ErrorClass.TRANSIENT),
        (ResourceExpired(410), ErrorClass.TRANSIENT),
        (ApiError(418), ErrorClass.TRANSIENT),
        (ApiError(405, "MethodNotAllowed"), ErrorClass.TERMINAL),
        (ApiError(413, "RequestEntityTooLarge"), ErrorClass.TERMINAL),
        (ApiError(415, "UnsupportedMediaType"), ErrorClass.TERMINAL),
        (TimeoutError(), ErrorClass.TRANSIENT),
        (KeyError("a defect"), ErrorClass.TRANSIENT),
        (TooManyRequests(429, retry_after=3), ErrorClass.THROTTLED),
        (Retry("later", after=3), ErrorClass.THROTTLED),
        (Forbidden(403, "Forbidden", "exceeded quota"), ErrorClass.TERMINAL),
        (Forbidden(403, "Forbidden", details={"causes": "malformed"}), ErrorClass.TERMINAL),
        (Invalid(422), ErrorClass.TERMINAL),
        (BadRequest(400), ErrorClass.TERMINAL),
        (TerminalError("no such class"), ErrorClass.TERMINAL),
        (NotControlled("taken"), ErrorClass.TERMINAL),
        (Forbidden(403, "Forbidden", details=TERMINATING), ErrorClass.GONE),
    ],
)
def test_the_class_of_an_error(error: Exception, expected: ErrorClass) -> None:
    assert classify(error) is expected


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Forbidden(403, "Forbidden"), "Forbidden"),
        (Forbidden(403), "Forbidden"),
        (ServiceUnavailable(503, "InternalError"), "InternalError"),
        (Unreachable("reset"), "Unreachable"),
        (ApiError(418), "ApiError"),
        (TerminalError("x", reason="NoSuchClass"), "NoSuchClass"),
        (TerminalError("x"), "Failed"),
        (NotControlled("x"), "NameTaken"),
        (TimeoutError(), "DeadlineExceeded"),
        (KeyError("x"), "ReconcileError"),
        (InvalidObjectError("x"), "InvalidObject"),
        # A webhook's refusal may have any text for a reason.
        (Forbidden(403, "images must come from our registry"), "Forbidden"),
        (Forbidden(403, "R" * 129), "Forbidden"),
        (ApiError(400, "Not/A:Word!"), "ApiError"),
        (TerminalError("x", reason="two words"), "Failed"),
        (TerminalError("x", reason=""), "Failed"),
    ],
)
def test_the_reason_is_a_word_that_conditions_and_events_admit(error: Exception, reason: str) -> None:
    assert reason_of(error) == reason
    assert len(reason) <= 128
    assert Conditions().set(Degraded(when=True, reason=reason_of(error)))


def test_a_long_reason_that_is_a_word_stays() -> None:
    assert reason_of(TerminalError("x", reason="R" * 128)) == "R" * 128


@pytest.mark.parametrize("kind", ErrorClass)
def test_an_error_of_another_room_names_its_class_and_its_reason(kind: ErrorClass) -> None:
    class Named(ClassifiedError):
        error_class = kind
        reason = "Particular"

    assert classify(Named("x")) is kind
    assert reason_of(Named("x")) == "Particular"
    assert reason_of(type("Bare", (ClassifiedError,), {})("x")) == "Bare"


@pytest.mark.parametrize("after", [0, -1, float("nan")])
def test_a_retry_without_a_delay_would_be_a_run_without_end(after: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        Retry("not now", after=after)


def test_a_retry_says_when() -> None:
    assert Retry("not now", after=2.5).after == 2.5
