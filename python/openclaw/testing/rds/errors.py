"""Refusals, with AWS' own codes and, where they are known, its words."""

from __future__ import annotations

from typing import Final

_NOT_FOUND: Final = 404
_FORBIDDEN: Final = 403


class AWSError(Exception):
    """An answer that refuses.

    Attributes:
        code: AWS' code for it, such as `DBInstanceNotFound`.
        message: for people.
        status: of the HTTP response.
    """

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status


def instance_not_found(identifier: str) -> AWSError:
    """There is no such instance, or it cannot be seen yet."""
    return AWSError("DBInstanceNotFound", f"DBInstance {identifier} not found.", _NOT_FOUND)


def snapshot_not_found(identifier: str) -> AWSError:
    """There is no such snapshot."""
    return AWSError("DBSnapshotNotFound", f"DBSnapshot {identifier} not found.", _NOT_FOUND)


def invalid_value(message: str) -> AWSError:
    """A parameter's value is not allowed."""
    return AWSError("InvalidParameterValue", message)


def invalid_combination(message: str) -> AWSError:
    """Parameters do not go together, or not with what is there."""
    return AWSError("InvalidParameterCombination", message)


def invalid_state(message: str) -> AWSError:
    """The instance's status does not allow it."""
    return AWSError("InvalidDBInstanceState", message)


def access_denied(caller: str, action: str, resource: str) -> AWSError:
    """The caller is known and may not."""
    return AWSError(
        "AccessDenied",
        f"User: {caller} is not authorized to perform: {action} on resource: {resource} because no "
        "identity-based policy allows the action",
        _FORBIDDEN,
    )


def invalid_token() -> AWSError:
    """The access key is unknown or no longer active."""
    return AWSError(
        "InvalidClientTokenId", "The security token included in the request is invalid.", _FORBIDDEN
    )
