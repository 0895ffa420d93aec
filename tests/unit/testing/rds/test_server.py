"""What an AWS client sees of faults, over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from botocore.exceptions import ClientError, ConnectionClosedError, EndpointConnectionError, HTTPClientError
from botocore.parsers import ResponseParserError

from openclaw.testing.rds import (
    HANG,
    HANG_AFTER,
    OUTAGE,
    THROTTLE,
    Cut,
    Fault,
    Garble,
    LoseAnswer,
    ManualClock,
    Outcome,
    Pretend,
    RDSStandIn,
    Refuse,
    Wait,
)

REGION = "eu-central-1"
DATABASE: dict[str, Any] = {
    "Engine": "postgres",
    "DBInstanceClass": "db.t3.micro",
    "AllocatedStorage": 20,
    "MasterUsername": "shop",
    "MasterUserPassword": "correct-horse",
}
_SESSION = get_session()
_CONFIG = AioConfig(retries={"total_max_attempts": 1, "mode": "standard"})


@pytest_asyncio.fixture
async def clock() -> ManualClock:
    return ManualClock()


@pytest_asyncio.fixture
async def rds(clock: ManualClock) -> AsyncIterator[RDSStandIn]:
    async with RDSStandIn(clock=clock) as started:
        yield started


@pytest_asyncio.fixture
async def client(rds: RDSStandIn) -> AsyncIterator[Any]:
    key = rds.new_key()
    async with _SESSION.create_client(
        "rds",
        region_name=REGION,
        endpoint_url=rds.url,
        config=_CONFIG,
        aws_access_key_id=key.id,
        aws_secret_access_key=key.secret,
    ) as made:
        yield made


async def create(client: Any, identifier: str = "orders") -> None:
    await client.create_db_instance(DBInstanceIdentifier=identifier, **DATABASE)


def there(rds: RDSStandIn) -> list[str]:
    return [database.identifier for database in rds.account().region(REGION).databases]


@pytest.mark.parametrize(
    ("outcome", "error", "effect"),
    [
        (THROTTLE, ClientError, False),
        (OUTAGE, ClientError, False),
        (Refuse("InsufficientDBInstanceCapacity"), ClientError, False),
        (Cut(), ConnectionClosedError, False),
        (LoseAnswer(), ConnectionClosedError, True),
        (Garble(), KeyError, True),
        (Garble(b"<html><br>"), ResponseParserError, True),
    ],
)
async def test_a_fault_happens_to_the_calls_it_is_for(
    rds: RDSStandIn, client: Any, outcome: Outcome, error: type[Exception], effect: bool
) -> None:
    fault = rds.faults.add(Fault(outcome, operation="CreateDBInstance", first=2, times=2))
    await create(client, "first")
    await client.describe_db_instances()
    assert not fault.reached.is_set()
    for name in ("second", "third"):
        with pytest.raises(error) as raised:
            await create(client, name)
        if isinstance(outcome, Refuse):
            assert isinstance(raised.value, ClientError)
            assert raised.value.response["Error"]["Code"] == outcome.code
            assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == outcome.status
    await create(client, "fourth")
    assert there(rds) == (["first", "fourth", "second", "third"] if effect else ["first", "fourth"])
    assert (fault.hit, fault.reached.is_set()) == (2, True)
    results = [call.result for call in rds.ledger.calls("CreateDBInstance")]
    assert results == ["ok", *[outcome.code if isinstance(outcome, Refuse) else "lost"] * 2, "ok"]


@pytest.mark.parametrize(("outcome", "effect"), [(HANG, []), (HANG_AFTER, ["orders"])])
async def test_a_call_that_hangs_ends_when_the_client_gives_up(
    rds: RDSStandIn, client: Any, outcome: Outcome, effect: list[str]
) -> None:
    fault = rds.faults.add(Fault(outcome))
    calling = asyncio.create_task(create(client))
    await asyncio.wait_for(fault.reached.wait(), 10)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    async with asyncio.timeout(10):
        while [call.result for call in rds.ledger] != ["lost"]:
            await asyncio.sleep(0.01)
    assert there(rds) == effect


async def test_latency_is_of_the_stand_ins_clock(rds: RDSStandIn, client: Any, clock: ManualClock) -> None:
    fault = rds.faults.add(Fault(Wait(3600)))
    calling = asyncio.create_task(create(client))
    await asyncio.wait_for(fault.reached.wait(), 10)
    assert there(rds) == []
    clock.advance(3600)
    await asyncio.wait_for(calling, 10)
    assert there(rds) == ["orders"]


async def test_a_success_that_is_none(rds: RDSStandIn, client: Any, clock: ManualClock) -> None:
    await create(client)
    clock.advance(1000)
    rds.faults.add(Fault(Pretend(), operation="CreateDBInstance"))
    rds.faults.add(Fault(Pretend(), operation="DeleteDBInstance"))
    await create(client, "others")
    await client.delete_db_instance(DBInstanceIdentifier="orders", FinalDBSnapshotIdentifier="last")
    assert there(rds) == ["orders"]
    assert rds.account().region(REGION).snapshots == []
    assert [(call.result, call.effect) for call in rds.ledger] == [("ok", True), ("ok", False), ("ok", False)]


async def test_conditions_of_a_fault(rds: RDSStandIn, client: Any) -> None:
    with rds.faults.always(THROTTLE, identifier="orders"):
        await create(client, "others")
        with pytest.raises(ClientError):
            await create(client)
    with rds.faults.always(THROTTLE, account="210987654321"):
        await create(client)
    with rds.faults.always(THROTTLE, region="eu-west-1"):
        await client.describe_db_instances()
    assert rds.ledger.counts() == {
        ("CreateDBInstance", "ok"): 2,
        ("CreateDBInstance", "Throttling"): 1,
        ("DescribeDBInstances", "ok"): 1,
    }


async def test_it_can_be_away_and_comes_back_as_it_was(rds: RDSStandIn, client: Any) -> None:
    await create(client)
    url = rds.url
    await rds.stop()
    with pytest.raises((EndpointConnectionError, HTTPClientError)):
        await client.describe_db_instances()
    await rds.start()
    assert rds.url == url
    assert len((await client.describe_db_instances())["DBInstances"]) == 1


async def test_the_ledger_tells_what_was_asked(rds: RDSStandIn, client: Any, clock: ManualClock) -> None:
    began = clock.now()
    await create(client, "Orders")
    clock.advance(30)
    with pytest.raises(ClientError):
        await create(client, "orders")
    clock.advance(31)
    await client.describe_db_instances()
    made, refused, listed = rds.ledger
    assert (made.time, made.account, made.region) == (began, "123456789012", REGION)
    assert (made.operation, made.identifier, made.result, made.effect) == (
        "CreateDBInstance", "orders", "ok", True,
    )  # fmt: skip
    assert (refused.result, refused.effect) == ("DBInstanceAlreadyExists", False)
    assert listed.identifier == ""
    ledger = rds.ledger
    assert ledger.calls(since=began + 1, until=began + 61) == [refused]
    assert ledger.calls("CreateDBInstance", identifier="orders", result="ok") == [made]
    assert (ledger.busiest(60), ledger.busiest(30), ledger.busiest(62)) == (2, 1, 3)
    assert ledger.busiest(account="210987654321") == 0
    assert "correct-horse" not in repr(list(ledger))


@pytest.mark.parametrize(
    ("headers", "body", "code"),
    [
        ({}, "Action=DescribeDBInstances", "MissingAuthenticationToken"),
        ({"Authorization": "Bearer x"}, "Action=DescribeDBInstances", "IncompleteSignature"),
        ({}, "Action=GetCallerIdentity", "MissingAuthenticationToken"),
        ({}, "Action=MakeCoffee", "InvalidAction"),
        ({}, "A=1&A.B=2", "MalformedInput"),
        ({}, "", "InvalidAction"),
    ],
)
async def test_what_is_no_call_is_refused_in_words(
    rds: RDSStandIn, headers: dict[str, str], body: str, code: str
) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(rds.url, data=body, headers=form | headers) as answer,
    ):
        assert answer.status in (400, 403)
        assert f"<Code>{code}</Code>" in await answer.text()
