"""Failures as kube-apiserver words them: `Status` bodies.

The texts follow `k8s.io/apimachinery/pkg/api/errors`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

__all__ = [
    "Cause",
    "StatusError",
    "already_exists",
    "bad_request",
    "conflict",
    "expired",
    "forbidden",
    "internal",
    "invalid",
    "method_not_allowed",
    "no_such_path",
    "not_found",
    "success",
    "throttled",
    "timeout",
    "unauthorized",
    "unavailable",
    "unsupported_media_type",
]

_REASONS: Final = {
    "FieldValueRequired": "Required value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueNotFound": "Not found",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
    "FieldValueTypeInvalid": "Invalid value",
    "InternalError": "Internal error",
}


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is wrong, as in `Status.details.causes`.

    Attributes:
        reason: such as `FieldValueInvalid`.
        message: with the kind of fault in front, `Invalid value: "x": must be …`, but without the field.
        field: such as `spec.replicas`, `spec.ports[0].name`; "" for the whole object.
    """

    reason: str
    message: str
    field: str

    @classmethod
    def of(cls, reason: str, field: str, detail: str = "", value: str | None = None) -> Cause:
        """A cause with the usual words in front; `value` is the bad value as JSON would show it."""
        parts = [_REASONS[reason], value, detail]
        return cls(reason, ": ".join(part for part in parts if part), field)

    @property
    def text(self) -> str:
        """`spec.replicas: Invalid value: -1: must be …`, a part of the status' message."""
        return f"{self.field}: {self.message}" if self.field else self.message

    def to_dict(self) -> dict[str, str]:
        """As in the body."""
        return {"reason": self.reason, "message": self.message, "field": self.field}


class StatusError(Exception):
    """A refusal of the server: what becomes the body of a failed request, and its HTTP code.

    Attributes:
        details: `Status.details`; None for none.
        warnings: texts of Warning headers that the answer has besides.
        retry_after: seconds, also sent as a header.
        continue_token: how an expired list can be gone on with all the same; "" for none.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.warnings: tuple[str, ...] = ()
        self.retry_after = retry_after
        self.continue_token = ""
        if retry_after is not None:
            self.details = {**(details or {}), "retryAfterSeconds": retry_after}

    def to_dict(self) -> dict[str, Any]:
        """The `Status`."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.continue_token} if self.continue_token else {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def success(*, name: str, group: str, kind: str, uid: str) -> dict[str, Any]:
    """The `Status` that a deletion answers with when nothing of the object is left."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": _details(name=name, group=group, kind=kind, uid=uid),
    }


def bad_request(message: str) -> StatusError:
    """400."""
    return StatusError(400, "BadRequest", message)


def unauthorized() -> StatusError:
    """401."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(group: str, plural: str, name: str, message: str) -> StatusError:
    """403; `message` says who may not do what, or which plugin refused."""
    qualified = f"{plural}.{group}" if group else plural
    text = f'{qualified} "{name}" is forbidden: {message}' if name else f"{qualified} is forbidden: {message}"
    return StatusError(403, "Forbidden", text, details=_details(name=name, group=group, kind=plural))


def not_found(group: str, plural: str, name: str) -> StatusError:
    """404 for an object."""
    qualified = f"{plural}.{group}" if group else plural
    details = _details(name=name, group=group, kind=plural)
    return StatusError(404, "NotFound", f'{qualified} "{name}" not found', details=details)


def no_such_path() -> StatusError:
    """404 for a resource that is not served."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", details={})


def method_not_allowed(what: str = "") -> StatusError:
    """405."""
    message = what or "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, details={})


def already_exists(group: str, plural: str, name: str) -> StatusError:
    """409 for a creation."""
    qualified = f"{plural}.{group}" if group else plural
    details = _details(name=name, group=group, kind=plural)
    return StatusError(409, "AlreadyExists", f'{qualified} "{name}" already exists', details=details)


def conflict(group: str, plural: str, name: str, message: str) -> StatusError:
    """409 for a write."""
    qualified = f"{plural}.{group}" if group else plural
    return StatusError(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {qualified} "{name}": {message}',
        details=_details(name=name, group=group, kind=plural),
    )


def expired(message: str) -> StatusError:
    """410."""
    return StatusError(410, "Expired", message)


def unsupported_media_type(accepted: Sequence[str]) -> StatusError:
    """415."""
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        f"{', '.join(accepted)}"
    )
    return StatusError(415, "UnsupportedMediaType", message)


def invalid(group: str, kind: str, name: str, causes: Sequence[Cause]) -> StatusError:
    """422; `kind` is the kind's name, not the resource's."""
    qualified = f"{kind}.{group}" if group else kind
    texts = list(dict.fromkeys(cause.text for cause in causes))
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = _details(name=name, group=group, kind=kind)
    details["causes"] = [cause.to_dict() for cause in causes]
    return StatusError(422, "Invalid", f'{qualified} "{name}" is invalid: {listed}', details=details)


def throttled(retry_after: int, message: str = "too many requests, please try again later") -> StatusError:
    """429; `retry_after` in seconds."""
    return StatusError(429, "TooManyRequests", message, retry_after=retry_after)


def internal(message: str) -> StatusError:
    """500."""
    details = {"causes": [{"message": message}]}
    return StatusError(500, "InternalError", f"Internal error occurred: {message}", details=details)


def unavailable(message: str = "the server is currently unable to handle the request") -> StatusError:
    """503."""
    return StatusError(503, "ServiceUnavailable", message)


def timeout(message: str) -> StatusError:
    """504."""
    return StatusError(504, "Timeout", f"Timeout: {message}")


def _details(*, name: str, group: str, kind: str, uid: str = "") -> dict[str, Any]:
    given = {"name": name, "group": group, "kind": kind, "uid": uid}
    return {key: value for key, value in given.items() if value}
