"""From the errors of AWS and its SDK to those of providers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import aiohttp

from openclaw.providers.errors import (
    ExternalAlreadyExists,
    ExternalConflict,
    ExternalInvalid,
    ExternalNotFound,
    ExternalTerminal,
    ExternalThrottled,
    ExternalTransient,
    ExternalUnauthorised,
    ProviderError,
)

__all__ = ["PROTECTED", "QUOTA_SECONDS", "client_error", "is_no_room", "sdk_error"]

PROTECTED: Final = "DeletionProtected"
"""The code of a refused deletion of a protected instance, for which AWS has no word of its own."""
QUOTA_SECONDS: Final = 300.0
"""What a quota or a lack of capacity is waited for: it passes, but not soon."""

_LONGEST: Final = 1024

_THROTTLED: Final = frozenset(
    {
        "BandwidthLimitExceeded",
        "PriorRequestNotComplete",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
# Another set of the same credentials may be good.
_EXPIRED: Final = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "InvalidToken",
        "RequestExpired",
        "TokenRefreshRequired",
        "UnrecognizedClientException",
    }
)
_UNAUTHORISED: Final = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "AuthFailure",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "NotAuthorized",
        "OptInRequired",
        "SignatureDoesNotMatch",
        "SubscriptionRequiredException",
        "UnauthorizedOperation",
    }
)
_NOT_FOUND: Final = frozenset({"DBInstanceNotFound", "DBInstanceNotFoundFault"})
_ALREADY_EXISTS: Final = frozenset({"DBInstanceAlreadyExists", "DBInstanceAlreadyExistsFault"})
_CONFLICT: Final = frozenset(
    {
        "DBSnapshotAlreadyExists",
        "DBUpgradeDependencyFailure",
        "InvalidDBClusterStateFault",
        "InvalidDBInstanceState",
        "InvalidDBInstanceStateFault",
        "InvalidDBSnapshotState",
    }
)
# Storage can be changed again in some hours; AWS says so with the code of a wrong parameter.
_BEING_OPTIMIZED: Final = "is being optimized"
# A quota is raised, capacity comes back: these pass, but not soon.
_PASSES_LATER: Final = (
    "QuotaExceeded",
    "InsufficientDBInstanceCapacity",
    "InsufficientStorageClusterCapacity",
)
# Something that the object asks for is not there, not allowed, or not offered.
_INVALID: Final = frozenset(
    {
        "DBSubnetGroupDoesNotCoverEnoughAZs",
        "KMSKeyNotAccessibleFault",
        "MalformedQueryString",
        "MissingParameter",
        "ProvisionedIopsNotAvailableInAZFault",
        "ValidationError",
        "VpcEncryptionControlViolationException",
    }
)
_INVALID_FORMS: Final = re.compile(r"Invalid.*|.*(NotFound|NotSupported)(Fault)?")


def client_error(response: Mapping[str, Any], *, hide: str = "") -> ProviderError:
    """The error that AWS has answered with.

    Args:
        response: `ClientError.response`.
        hide: a secret of the request, which the answer must not repeat.
    """
    told = response.get("Error") or {}
    metadata = response.get("ResponseMetadata") or {}
    code = str(told.get("Code") or "")
    status = metadata.get("HTTPStatusCode") or 0
    text = _clean(f"{code}: {told.get('Message') or HTTPStatus(status).phrase if status else code}", hide)
    if code in _THROTTLED or status == HTTPStatus.TOO_MANY_REQUESTS:
        headers = metadata.get("HTTPHeaders") or {}
        return ExternalThrottled(text, code=code, retry_after=_seconds(headers.get("retry-after")))
    if code in _EXPIRED or code in _UNAUTHORISED or status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return ExternalUnauthorised(text, code=code, expired=code in _EXPIRED)
    if code.endswith(_PASSES_LATER):
        return ExternalTransient(text, code=code, retry_after=QUOTA_SECONDS, outcome_unknown=False)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or not status:
        return ExternalTransient(text, code=code)
    if "protected" in text and "delet" in text.lower():
        return ExternalConflict(text, code=PROTECTED)
    if _BEING_OPTIMIZED in text:
        return ExternalConflict(text, code=code)
    return _plain(code)(text, code=code)


def is_no_room(error: ProviderError) -> bool:
    """Whether a quota or AWS' capacity is used up: somebody should know, and it may pass."""
    return error.code.endswith(_PASSES_LATER)


def _plain(code: str) -> type[ProviderError]:
    """The class of an error that has nothing but a text and a code."""
    for kind, codes in (
        (ExternalNotFound, _NOT_FOUND),
        (ExternalAlreadyExists, _ALREADY_EXISTS),
        (ExternalConflict, _CONFLICT),
        (ExternalInvalid, _INVALID),
    ):
        if code in codes:
            return kind
    return ExternalInvalid if _INVALID_FORMS.fullmatch(code) else ExternalTerminal


def sdk_error(error: Exception, *, hide: str = "") -> ProviderError | None:
    """The error for one that the SDK has raised: refused, no answer, not sent. None for a defect of ours."""
    from botocore import exceptions as sdk  # noqa: PLC0415 - only where the SDK is in use
    from botocore.parsers import ResponseParserError  # noqa: PLC0415

    kind = type(error).__name__
    if isinstance(error, ResponseParserError | LookupError):
        # Some proxy has answered, perhaps with the request: nothing of it is told. XML that is none of AWS'
        # makes the SDK raise a KeyError.
        return ExternalTransient(f"{kind}: the answer can't be read as one of AWS", code=kind)
    text = _clean(f"{kind}: {error}", hide)
    if isinstance(error, sdk.ClientError):
        return client_error(error.response, hide=hide)
    if isinstance(error, sdk.ParamValidationError):
        # Its text repeats values.
        return ExternalInvalid(f"{kind}: the SDK refuses a parameter", code=kind)
    if isinstance(error, sdk.NoCredentialsError | sdk.PartialCredentialsError | sdk.CredentialRetrievalError):
        return ExternalUnauthorised(text, code=kind)
    if isinstance(error, sdk.EndpointConnectionError | sdk.ConnectTimeoutError | sdk.ProxyConnectionError):
        return ExternalTransient(text, code=kind, outcome_unknown=False)
    if isinstance(error, sdk.InvalidEndpointConfigurationError | sdk.InvalidRegionError):
        return ExternalInvalid(text, code=kind)
    if isinstance(error, sdk.BotoCoreError | aiohttp.ClientError | OSError):
        return ExternalTransient(text, code=kind)
    return None


def _clean(text: str, hide: str) -> str:
    if hide:
        text = text.replace(hide, "[redacted]")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _seconds(value: object) -> float | None:
    try:
        return max(0.0, float(str(value)))
    except ValueError:
        return None
