"""AWS' errors in the words of providers."""

from __future__ import annotations

from typing import Any

import aiohttp
import botocore.session
import pytest
from botocore import exceptions as sdk
from botocore.parsers import ResponseParserError

from openclaw.providers.aws.errors import PROTECTED, QUOTA_SECONDS, client_error, sdk_error
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


def response(
    code: str, message: str = "", status: int = 400, *, retry_after: str | None = None
) -> dict[str, Any]:
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": headers},
    }


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("DBInstanceNotFound", 404, ExternalNotFound),
        ("DBInstanceAlreadyExists", 400, ExternalAlreadyExists),
        ("InvalidDBInstanceState", 400, ExternalConflict),
        ("DBSnapshotAlreadyExists", 400, ExternalConflict),
        ("InvalidParameterValue", 400, ExternalInvalid),
        ("InvalidParameterCombination", 400, ExternalInvalid),
        ("DBSubnetGroupNotFoundFault", 404, ExternalInvalid),
        ("KMSKeyNotAccessibleFault", 400, ExternalInvalid),
        ("ValidationError", 400, ExternalInvalid),
        ("Throttling", 400, ExternalThrottled),
        ("RequestLimitExceeded", 503, ExternalThrottled),
        ("Whatever", 429, ExternalThrottled),
        ("AccessDenied", 403, ExternalUnauthorised),
        ("SignatureDoesNotMatch", 403, ExternalUnauthorised),
        ("ExpiredToken", 403, ExternalUnauthorised),
        ("InvalidClientTokenId", 403, ExternalUnauthorised),
        ("Whatever", 403, ExternalUnauthorised),
        ("InternalFailure", 500, ExternalTransient),
        ("ServiceUnavailable", 503, ExternalTransient),
        ("", 502, ExternalTransient),
        ("InstanceQuotaExceeded", 400, ExternalTransient),
        ("InsufficientDBInstanceCapacity", 400, ExternalTransient),
        ("SomethingNew", 400, ExternalTerminal),
    ],
)
def test_codes(code: str, status: int, kind: type[ProviderError]) -> None:
    error = client_error(response(code, "said so", status))
    assert type(error) is kind
    assert error.code == code
    assert "said so" in str(error)


def test_every_error_that_rds_declares_for_our_calls_is_meant() -> None:
    """None of them is an error of no known kind."""
    model = botocore.session.get_session().get_service_model("rds")
    calls = (
        "DescribeDBInstances",
        "CreateDBInstance",
        "ModifyDBInstance",
        "DeleteDBInstance",
        "AddTagsToResource",
    )
    codes = {
        it.metadata.get("error", {}).get("code") or it.name
        for call in calls
        for it in model.operation_model(call).error_shapes
    }
    unknown = {it for it in codes if isinstance(client_error(response(it)), ExternalTerminal)}
    assert unknown == set()


def test_a_throttled_call_waits_as_long_as_is_asked() -> None:
    error = client_error(response("Throttling", retry_after="7"))
    assert error.retry_after == 7.0
    assert client_error(response("Throttling")).retry_after is None
    assert client_error(response("Throttling", retry_after="soon")).retry_after is None


def test_a_quota_is_waited_for_slowly_and_has_no_effect() -> None:
    error = client_error(response("InstanceQuotaExceeded"))
    assert error.retry_after == QUOTA_SECONDS
    assert not error.outcome_unknown


def test_storage_that_is_being_optimized_is_a_conflict_and_no_wrong_parameter() -> None:
    message = (
        "You can't currently modify the storage of this DB instance because the previous storage change is "
        "being optimized."
    )
    assert isinstance(client_error(response("InvalidParameterCombination", message)), ExternalConflict)


def test_protection_from_deletion_is_a_conflict_of_its_own() -> None:
    message = "Cannot delete protected DB Instance, please disable deletion protection and try again."
    error = client_error(response("InvalidParameterCombination", message))
    assert isinstance(error, ExternalConflict)
    assert error.code == PROTECTED


@pytest.mark.parametrize(
    ("code", "expired"), [("ExpiredToken", True), ("InvalidClientTokenId", True), ("AccessDenied", False)]
)
def test_credentials_that_may_only_be_old_are_told(code: str, expired: bool) -> None:
    error = client_error(response(code, status=403))
    assert isinstance(error, ExternalUnauthorised)
    assert error.expired is expired


@pytest.mark.parametrize(
    ("raised", "kind", "unknown"),
    [
        (sdk.EndpointConnectionError(endpoint_url="http://x"), ExternalTransient, False),
        (sdk.ConnectTimeoutError(endpoint_url="http://x"), ExternalTransient, False),
        (sdk.ReadTimeoutError(endpoint_url="http://x"), ExternalTransient, True),
        (sdk.ConnectionClosedError(endpoint_url="http://x"), ExternalTransient, True),
        (sdk.HTTPClientError(error=OSError("reset")), ExternalTransient, True),
        (sdk.NoCredentialsError(), ExternalUnauthorised, False),
        (sdk.InvalidRegionError(region_name="nowhere"), ExternalInvalid, False),
        (aiohttp.ClientPayloadError("cut"), ExternalTransient, True),
        (ConnectionResetError("reset"), ExternalTransient, True),
        (sdk.ClientError(response("DBInstanceNotFound", status=404), "Describe"), ExternalNotFound, False),
    ],
)
def test_what_the_sdk_raises(raised: Exception, kind: type[ProviderError], unknown: bool) -> None:
    error = sdk_error(raised)
    assert type(error) is kind
    assert error.outcome_unknown is unknown


def test_a_defect_of_ours_stays_what_it_is() -> None:
    assert sdk_error(TypeError("no")) is None


@pytest.mark.parametrize("raised", [ResponseParserError("p4ssw0rd<br>"), KeyError("CreateDBInstanceResult")])
def test_an_answer_that_is_none_of_aws_may_have_had_its_effect_and_is_not_repeated(raised: Exception) -> None:
    error = sdk_error(raised)
    assert isinstance(error, ExternalTransient)
    assert error.outcome_unknown
    assert "p4ssw0rd" not in str(error)


def test_no_text_repeats_a_secret() -> None:
    secret = "p4ssw0rd-of-somebody"
    told = client_error(response("InvalidParameterValue", f"{secret} is too short"), hide=secret)
    assert secret not in str(told)
    refused = sdk.ParamValidationError(report=f"Invalid type for parameter, value: {secret}")
    assert secret not in str(sdk_error(refused))
    assert len(str(client_error(response("Invalid", "x" * 10000)))) <= 1024
