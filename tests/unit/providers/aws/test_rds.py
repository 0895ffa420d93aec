"""The provider's calls, against a client that answers as it is told."""

from __future__ import annotations

import traceback
from typing import Any

import pytest
from botocore.exceptions import ClientError, HTTPClientError
from botocore.parsers import ResponseParserError
from pydantic import SecretStr

from openclaw.providers.aws.rds import RDSProvider, RDSProviderFactory
from openclaw.providers.aws.rds_fields import compare
from openclaw.providers.aws.rds_model import RDSRemoval
from openclaw.providers.credentials.secret import StaticSource
from openclaw.providers.descriptors import Target
from openclaw.providers.errors import (
    ExternalConflict,
    ExternalInvalid,
    ExternalNotFound,
    ExternalTransient,
    ExternalUnauthorised,
)
from openclaw.providers.protocol import Lister
from tests.unit.providers.aws.test_rds_fields import as_wanted, wanted

SECRET = "a-password-nobody-sees"
PROTECTED = "Cannot delete protected DB Instance"


def refusal(code: str, message: str = "") -> ClientError:
    body = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    return ClientError(body, "Operation")


class Client:
    """Answers in the order in which it was told; remembers the calls."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.closed = False

    def __getattr__(self, operation: str) -> Any:
        async def call(**parameters: Any) -> Any:
            self.calls.append((operation, parameters))
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call

    async def close(self) -> None:
        self.closed = True


def instance(**parts: Any) -> dict[str, Any]:
    return {"DBInstanceIdentifier": "orders-1", "DBInstanceStatus": "available", **parts}


async def test_looking() -> None:
    client = Client({"DBInstances": [instance()]}, {"DBInstances": []}, refusal("DBInstanceNotFound"))
    provider = RDSProvider(client)
    assert (await provider.get("orders-1")).status == "available"
    for _ in range(2):
        with pytest.raises(ExternalNotFound):
            await provider.get("orders-1")


async def test_listing_page_by_page() -> None:
    client = Client({"DBInstances": [instance()] * 2, "Marker": "more"}, {"DBInstances": []})
    provider = RDSProvider(client)
    assert isinstance(provider, Lister)
    page = await provider.list_page("")
    assert (len(page.items), page.next_token) == (2, "more")
    assert (await provider.list_page(page.next_token)).next_token == ""
    assert client.calls == [
        ("describe_db_instances", {"MaxRecords": 100}),
        ("describe_db_instances", {"MaxRecords": 100, "Marker": "more"}),
    ]


async def test_creating_sets_the_owner_in_the_same_call() -> None:
    client = Client({"DBInstance": instance(DBInstanceStatus="creating")})
    made = await RDSProvider(client).create(wanted(password=SecretStr(SECRET)))
    assert made.status == "creating"
    (call,) = client.calls
    assert call[0] == "create_db_instance"
    assert call[1]["MasterUserPassword"] == SECRET
    assert {"Key": "openclaw.dev/owner-uid", "Value": "uid-1"} in call[1]["Tags"]


async def test_changing_tags_and_values_by_a_call_each() -> None:
    want = wanted(tags={"team": "shop"}, iops=3000, apply_immediately=True)
    observed = as_wanted(want, iops=1000, tags={})
    client = Client({}, {"DBInstance": instance(Iops=3000)})
    after = await RDSProvider(client).update(want, observed, compare(want, observed))
    assert after.iops == 3000
    assert [call[0] for call in client.calls] == ["add_tags_to_resource", "modify_db_instance"]
    assert client.calls[0][1]["ResourceName"] == "arn"
    assert client.calls[1][1] == {
        "DBInstanceIdentifier": "orders-1",
        "ApplyImmediately": True,
        "Iops": 3000,
        "AllocatedStorage": 50,
    }


async def test_tags_alone_need_no_modification() -> None:
    want = wanted(tags={"team": "shop"})
    observed = as_wanted(want, tags={})
    client = Client({})
    after = await RDSProvider(client).update(want, observed, compare(want, observed))
    assert after.owner_uid == "uid-1"
    assert len(client.calls) == 1


async def test_nothing_to_modify_is_no_error() -> None:
    want = wanted(iops=3000)
    observed = as_wanted(want, iops=1000)
    client = Client(refusal("InvalidParameterCombination", "No modifications were requested"))
    assert await RDSProvider(client).update(want, observed, compare(want, observed)) == observed


@pytest.mark.parametrize(
    ("snapshot", "sent"),
    [
        (None, {"SkipFinalSnapshot": True}),
        ("last", {"SkipFinalSnapshot": False, "FinalDBSnapshotIdentifier": "last"}),
    ],
)
async def test_deleting(snapshot: str | None, sent: dict[str, Any]) -> None:
    client = Client({})
    await RDSProvider(client).delete("orders-1", RDSRemoval(final_snapshot=snapshot))
    assert client.calls == [("delete_db_instance", {"DBInstanceIdentifier": "orders-1", **sent})]


async def test_protection_is_lifted_where_it_may_be() -> None:
    client = Client(refusal("InvalidParameterCombination", PROTECTED), {}, {})
    await RDSProvider(client).delete("orders-1", RDSRemoval(lift_protection=True))
    assert [call[0] for call in client.calls] == [
        "delete_db_instance",
        "modify_db_instance",
        "delete_db_instance",
    ]
    assert client.calls[1][1]["DeletionProtection"] is False


async def test_protection_stays_where_it_must() -> None:
    client = Client(refusal("InvalidParameterCombination", PROTECTED))
    with pytest.raises(ExternalConflict, match="protected"):
        await RDSProvider(client).delete("orders-1", RDSRemoval())
    assert len(client.calls) == 1


async def test_what_is_being_deleted_already_is_no_error() -> None:
    message = "Instance orders-1 is already being deleted."
    client = Client(
        refusal("InvalidDBInstanceState", message), refusal("InvalidDBInstanceState", "is creating")
    )
    provider = RDSProvider(client)
    await provider.delete("orders-1", RDSRemoval())
    with pytest.raises(ExternalConflict):
        await provider.delete("orders-1", RDSRemoval())


@pytest.mark.parametrize(
    "raised",
    [
        refusal("InvalidParameterValue", f"The password {SECRET} is too short"),
        HTTPClientError(error=OSError(f"while sending {SECRET}")),
        ResponseParserError(f"<html>{SECRET}<br>"),
    ],
)
async def test_no_error_and_no_traceback_has_the_password(raised: Exception) -> None:
    with pytest.raises((ExternalInvalid, ExternalTransient)) as caught:
        await RDSProvider(Client(raised)).create(wanted(password=SecretStr(SECRET)))
    assert SECRET not in "".join(traceback.format_exception(caught.value))


async def test_an_error_of_the_credentials_goes_through_as_it_is() -> None:
    error = ExternalUnauthorised("the Secret is missing", code="SecretMissing")
    with pytest.raises(ExternalUnauthorised) as caught:
        await RDSProvider(Client(error)).get("orders-1")
    assert caught.value is error


async def test_a_defect_is_not_hidden_as_an_outage() -> None:
    with pytest.raises(TypeError):
        await RDSProvider(Client(TypeError("no"))).get("orders-1")


async def test_a_region_is_needed() -> None:
    with pytest.raises(ExternalInvalid, match="region"):
        await RDSProviderFactory().connect(Target("1"), StaticSource({}))


async def test_closing() -> None:
    client = Client()
    await RDSProvider(client).close()
    assert client.closed
