"""The client in process and the SDK's over HTTP: the same calls, the same answers, errors and effects."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from openclaw.providers.aws.errors import sdk_error
from openclaw.testing.rds import (
    OUTAGE,
    THROTTLE,
    Cut,
    FailAfter,
    Fault,
    Garble,
    LoseAnswer,
    ManualClock,
    RDSStandIn,
)
from openclaw.testing.rds.faults import Outcome, Pretend, Refuse
from tests.contract.rds.places import ACCOUNT, InProcessPlace, StandInPlace, client

NEW: dict[str, Any] = {
    "Engine": "postgres",
    "EngineVersion": "16.8",
    "DBInstanceClass": "db.t3.micro",
    "AllocatedStorage": 20,
    "MasterUsername": "shop",
    "MasterUserPassword": "correct-horse",
    "VpcSecurityGroupIds": ["sg-1", "sg-2"],
    "Tags": [{"Key": "team", "Value": "a b/c"}, {"Key": "empty", "Value": ""}],
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("describe_db_instances", {}),
    ("create_db_instance", {"DBInstanceIdentifier": "orders", **NEW}),
    ("create_db_instance", {"DBInstanceIdentifier": "Orders", **NEW}),
    ("create_db_instance", {"DBInstanceIdentifier": "other", **NEW, "EngineVersion": "1.0"}),
    ("create_db_instance", {"DBInstanceIdentifier": "no-engine"}),
    ("create_db_instance", {"DBInstanceIdentifier": 4}),
    ("describe_db_instances", {"DBInstanceIdentifier": "orders"}),
    ("describe_db_instances", {"DBInstanceIdentifier": "nobody"}),
    ("describe_db_instances", {"Filters": [{"Name": "engine", "Values": ["postgres", "mysql"]}]}),
    ("describe_db_instances", {"MaxRecords": 3}),
    ("modify_db_instance", {"DBInstanceIdentifier": "orders"}),
    ("modify_db_instance", {"DBInstanceIdentifier": "orders", "MultiAZ": True, "AllocatedStorage": 40}),
    ("modify_db_instance", {"DBInstanceIdentifier": "orders", "DBPortNumber": 6000, "Iops": 3000}),
    (
        "modify_db_instance",
        {"DBInstanceIdentifier": "orders", "DeletionProtection": True, "ApplyImmediately": True},
    ),
    ("modify_db_instance", {"DBInstanceIdentifier": "orders", "VpcSecurityGroupIds": []}),
    ("modify_db_instance", {"DBInstanceIdentifier": "orders", "DBParameterGroupName": "mine"}),
    (
        "add_tags_to_resource",
        {
            "ResourceName": f"arn:aws:rds:eu-central-1:{ACCOUNT}:db:orders",
            "Tags": [{"Key": "x", "Value": "y"}],
        },
    ),
    ("add_tags_to_resource", {"ResourceName": "arn:nobody", "Tags": []}),
    ("list_tags_for_resource", {"ResourceName": f"arn:aws:rds:eu-central-1:{ACCOUNT}:db:orders"}),
    ("delete_db_instance", {"DBInstanceIdentifier": "orders", "SkipFinalSnapshot": True}),
    (
        "modify_db_instance",
        {"DBInstanceIdentifier": "orders", "DeletionProtection": False, "MasterUserPassword": "x"},
    ),
    (
        "modify_db_instance",
        {"DBInstanceIdentifier": "orders", "DeletionProtection": False, "MasterUserPassword": "another-one"},
    ),
    ("describe_db_instances", {}),
    ("delete_db_instance", {"DBInstanceIdentifier": "orders", "SkipFinalSnapshot": False}),
    ("delete_db_instance", {"DBInstanceIdentifier": "orders", "FinalDBSnapshotIdentifier": "orders-end"}),
    ("describe_db_snapshots", {"DBInstanceIdentifier": "orders"}),
    ("delete_db_instance", {"DBInstanceIdentifier": "orders", "SkipFinalSnapshot": True}),
    ("describe_db_engine_versions", {"Engine": "postgres"}),
]
OUTCOMES: list[Outcome] = [
    *(OUTAGE, THROTTLE, Cut(), LoseAnswer(), FailAfter(), Pretend(), Garble(), Garble(b"none", 502)),
    Refuse("AccessDenied", "no", 403),
]


@pytest.fixture(params=[None, *OUTCOMES], ids=lambda it: type(it).__name__)
def outcome(request: pytest.FixtureRequest) -> Outcome | None:
    found: Outcome | None = request.param
    return found


async def _played(kind: type[StandInPlace], outcome: Outcome | None) -> list[object]:
    """What comes of the calls, one after the other, each hit once by the fault before it is sent as it is."""
    told: list[object] = []
    async with RDSStandIn(clock=ManualClock(), chance=random.Random(1)) as rds:
        place = kind(rds)
        async with client(place, await place.key()) as aws:
            for operation, parameters in CALLS:
                if outcome is not None:
                    fault = rds.faults.add(Fault(outcome))
                    told.append(await _told(getattr(aws, operation), parameters))
                    rds.faults.remove(fault)
                told.append(await _told(getattr(aws, operation), parameters))
                rds.clock.advance(400)  # type: ignore[attr-defined]  # it is a ManualClock
        told += [(it.operation, it.identifier, it.result, it.effect, it.account) for it in rds.ledger]
    return told


async def _told(call: Callable[..., Any], parameters: dict[str, Any]) -> object:
    try:
        answer = await call(**parameters)
    except ClientError as error:
        found = error.response
        return found.get("Error"), found["ResponseMetadata"]["HTTPStatusCode"], repr(sdk_error(error))
    except (BotoCoreError, LookupError, ResponseParserError) as error:
        where = re.sub(r'"https?://[^"]*"', "URL", repr(sdk_error(error)))
        return type(error), where
    answer.pop("ResponseMetadata")
    return answer


async def test_in_process_is_as_over_http(outcome: Outcome | None) -> None:
    over_http = await _played(StandInPlace, outcome)
    assert await _played(InProcessPlace, outcome) == over_http
    assert len(over_http) > len(CALLS)
