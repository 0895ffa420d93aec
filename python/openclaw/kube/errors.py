"""Errors of the API server, one class for each reason that a caller may have to tell apart.

The names are those of `metav1.StatusReason`; the mapping from HTTP codes follows
`k8s.io/apimachinery/pkg/api/errors`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import orjson

__all__ = [
    "AlreadyExists",
    "ApiError",
    "BadRequest",
    "Conflict",
    "Forbidden",
    "Invalid",
    "KubeError",
    "NotFound",
    "ResourceExpired",
    "ServerTimeout",
    "ServiceUnavailable",
    "TooManyRequests",
    "Unauthorized",
    "Unreachable",
    "error_from_status",
    "status_error",
]

_MESSAGE_LIMIT = 2048
_TYPED_PATCH = "failed to create typed patch object"


class KubeError(Exception):
    """A request to the API server that did not succeed."""


class Unreachable(KubeError):
    """No complete answer came: refused, reset, timed out, TLS failure. The effect of a write is unknown."""


class ApiError(KubeError):
    """The API server answered with a failure `Status`.

    Attributes:
        code: the HTTP status code.
        reason: `Status.reason`, or "" where there was none.
        message: `Status.message`, the server's own words.
        details: `Status.details` (`kind`, `name`, `causes`, …).
        retry_after: seconds the server asks us to wait, or None.
    """

    reasons: ClassVar[frozenset[str]] = frozenset()
    codes: ClassVar[frozenset[int]] = frozenset()

    def __init__(
        self,
        code: int,
        reason: str = "",
        message: str = "",
        *,
        request: str = "",
        details: dict[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.code = code
        self.reason = reason
        self.message = message[:_MESSAGE_LIMIT]
        self.request = request
        self.details = details or {}
        self.retry_after = retry_after
        super().__init__(
            f"{request}: {code} {reason}: {self.message}" if request else f"{code} {reason}: {self.message}"
        )

    @property
    def causes(self) -> list[dict[str, str]]:
        """`Status.details.causes`: one entry (`field`, `message`, `reason`) for each thing that is wrong."""
        causes = self.details.get("causes")
        return causes if isinstance(causes, list) else []


class BadRequest(ApiError):
    """400: the request itself is malformed, for instance an unknown field under strict validation."""

    reasons = frozenset({"BadRequest"})
    codes = frozenset({400})


class Unauthorized(ApiError):
    """401: the credentials are missing, expired or unknown."""

    reasons = frozenset({"Unauthorized"})
    codes = frozenset({401})


class Forbidden(ApiError):
    """403: RBAC, an admission plugin, or a quota refuses."""

    reasons = frozenset({"Forbidden"})
    codes = frozenset({403})


class NotFound(ApiError):
    """404: the object, its namespace, or the whole resource does not exist."""

    reasons = frozenset({"NotFound"})
    codes = frozenset({404})


class Conflict(ApiError):
    """409: the write names a resourceVersion or uid that is not the current one, or others own its fields.

    Of a patch with another uid the server says 422.
    """

    reasons = frozenset({"Conflict"})
    codes = frozenset({409})


class AlreadyExists(ApiError):
    """409: an object of that name exists."""

    reasons = frozenset({"AlreadyExists"})


class ResourceExpired(ApiError):
    """410: the resourceVersion or continue token is too old; list again."""

    reasons = frozenset({"Expired", "Gone"})
    codes = frozenset({410})


class Invalid(ApiError):
    """422: the object does not pass validation; `causes` names the fields."""

    reasons = frozenset({"Invalid"})
    codes = frozenset({422})


class TooManyRequests(ApiError):
    """429: priority and fairness, or an eviction, asks us to wait `retry_after` seconds."""

    reasons = frozenset({"TooManyRequests"})
    codes = frozenset({429})


class ServiceUnavailable(ApiError):
    """503, or 500: the server, or something behind it, cannot answer now."""

    reasons = frozenset({"ServiceUnavailable", "InternalError"})
    codes = frozenset({500, 502, 503})


class ServerTimeout(ApiError):
    """504, or a `ServerTimeout`: the server gave up waiting. The effect of a write is unknown."""

    reasons = frozenset({"ServerTimeout", "Timeout"})
    codes = frozenset({504})


_CLASSES: tuple[type[ApiError], ...] = (
    BadRequest,
    Unauthorized,
    Forbidden,
    NotFound,
    AlreadyExists,
    Conflict,
    ResourceExpired,
    Invalid,
    TooManyRequests,
    ServiceUnavailable,
    ServerTimeout,
)


def _class_of(code: int, reason: str) -> type[ApiError]:
    for candidate in _CLASSES:
        if reason and reason in candidate.reasons:
            return candidate
    for candidate in _CLASSES:
        if code in candidate.codes:
            return candidate
    return ApiError


def status_error(status: dict[str, Any], *, request: str = "", retry_after: float | None = None) -> ApiError:
    """The error that a `Status` object stands for."""
    code = status.get("code")
    code = code if isinstance(code, int) else 500
    reason = str(status.get("reason") or "")
    message = str(status.get("message") or "")
    if not reason and _TYPED_PATCH in message:
        # A server-side apply with a value of the wrong type: the server calls that an error of its own.
        reason = "Invalid"
    details = status.get("details")
    details = details if isinstance(details, dict) else {}
    if reason == "Invalid" and _names_another_uid(details):
        # The object of the name is another one by now. To a PUT or DELETE the server answers 409 then; of a
        # patch it says that the uid cannot be changed.
        reason = "Conflict"
    if retry_after is None and isinstance(details.get("retryAfterSeconds"), int):
        retry_after = float(details["retryAfterSeconds"])
    return _class_of(code, reason)(
        code,
        reason,
        message,
        request=request,
        details=details,
        retry_after=retry_after,
    )


def _names_another_uid(details: dict[str, Any]) -> bool:
    causes = details.get("causes")
    return isinstance(causes, list) and any(it.get("field") == "metadata.uid" for it in causes)


def error_from_status(
    code: int, body: bytes, *, request: str = "", retry_after: float | None = None
) -> ApiError:
    """The error for an HTTP answer of `code`; `body` is a `Status` or, from a proxy, anything else."""
    try:
        status = orjson.loads(body)
    except orjson.JSONDecodeError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        if not isinstance(status.get("code"), int):
            status["code"] = code
        return status_error(status, request=request, retry_after=retry_after)
    text = body[:200].decode("utf-8", "replace").strip()
    return _class_of(code, "")(code, "", text, request=request, retry_after=retry_after)
