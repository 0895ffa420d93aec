"""What is seen late, changed by others, and who is whose."""

from __future__ import annotations

import base64
import re
from math import inf

import pytest

from openclaw.testing.rds import AWSError, Behaviour, Stage, Timelines
from openclaw.testing.rds.cloud import Cloud
from tests.unit.testing.rds.calling import ACCOUNT, REGION, Caller


def test_a_new_instance_is_seen_late_and_in_listings_later_still() -> None:
    caller = Caller(Behaviour(describe_lag=3, listing_lag=6))
    caller.create()

    def listed() -> int:
        return len(caller("DescribeDBInstances")["DBInstances"])

    with pytest.raises(AWSError, match="DBInstanceNotFound"):
        caller.describe()
    with pytest.raises(AWSError, match="DBInstanceAlreadyExists"):
        caller.create()
    caller.clock.advance(3)
    assert (caller.status(), listed()) == ("creating", 0)
    caller.clock.advance(3)
    assert listed() == 1


def test_a_modification_is_seen_late() -> None:
    caller = Caller(Behaviour(timelines=Timelines.instant()))
    caller.create()
    caller.region.behaviour.describe_lag = 5
    caller.clock.advance(5)
    caller.modify(DBInstanceClass="db.t3.small")
    assert caller.describe()["DBInstanceClass"] == "db.t3.micro"
    caller.clock.advance(5)
    assert caller.describe()["DBInstanceClass"] == "db.t3.small"


def test_what_is_gone_is_seen_for_a_while() -> None:
    caller = Caller(Behaviour(timelines=Timelines.instant(), describe_lag=2))
    caller.create()
    caller.clock.advance(2)
    caller.region.remove("orders")
    assert caller.status() == "available"
    caller.clock.advance(2)
    with pytest.raises(AWSError, match="DBInstanceNotFound"):
        caller.status()


def test_somebody_elses_instance_and_changes() -> None:
    caller = Caller()
    region = caller.region
    region.add("theirs", AllocatedStorage=50, MultiAZ=True, tags={"team": "other"})
    found = caller.describe("theirs")
    assert (found["AllocatedStorage"], found["MultiAZ"], found["DBInstanceStatus"]) == (50, True, "available")
    assert found["TagList"] == [{"Key": "team", "Value": "other"}]
    region.play("theirs", Stage("maintenance", 10))
    region.change("theirs", AllocatedStorage=70)
    region.tag("theirs", {})
    found = caller.describe("theirs")
    assert (found["AllocatedStorage"], found["TagList"]) == (70, [])
    assert caller.statuses(20, "theirs") == ["maintenance", "available"], "it goes on with what it does"
    region.play("theirs", Stage("incompatible-network", inf))
    caller.clock.advance(1e9)
    assert caller.status("theirs") == "incompatible-network"
    with pytest.raises(LookupError, match="no database other"):
        region.change("other", AllocatedStorage=70)


def test_accounts_and_regions_have_their_own() -> None:
    caller = Caller()
    caller.create()
    others = [caller.cloud.account("210987654321").region(REGION), caller.cloud.account(ACCOUNT).region("x")]
    assert [region.databases for region in others] == [[], []]
    assert [region.name for region in caller.cloud.account(ACCOUNT).regions] == [REGION, "x"]


def test_a_key_that_may_not() -> None:
    caller = Caller()
    caller.key.denied.add("rds:DeleteDBInstance")
    caller.create()
    with pytest.raises(AWSError, match=r"AccessDenied.*rds:DeleteDBInstance.*db:orders") as refused:
        caller("DeleteDBInstance", "orders", SkipFinalSnapshot="true")
    assert refused.value.status == 403
    assert caller.status() == "creating"


def test_calls_beyond_an_accounts_rate_are_refused_and_have_no_effect() -> None:
    caller = Caller()
    caller.cloud.throttle(ACCOUNT, rate=0.5, burst=3)

    def passed(count: int) -> int:
        done = 0
        for number in range(count):
            try:
                caller.create(f"db{caller.clock.now():.0f}-{number}")
                done += 1
            except AWSError as error:
                assert error.code == "Throttling"  # noqa: PT017
        return done

    assert passed(10) == 3
    caller.clock.advance(4)
    assert passed(10) == 2
    assert len(caller.region.databases) == 5
    caller.cloud.unthrottle(ACCOUNT)
    caller.clock.advance(1)
    assert passed(10) == 10


def test_roles_are_assumed_by_those_they_trust_until_the_session_ends() -> None:
    caller = Caller()
    cloud: Cloud = caller.cloud
    identities = cloud.identities
    role = cloud.add_role("deploy", "210987654321", trusts={caller.key.arn}, external_id="shop")
    asked = {"RoleArn": role.arn, "RoleSessionName": "me", "DurationSeconds": "900"}
    with pytest.raises(AWSError, match="AccessDenied"):
        identities.assume_role(caller.key, asked)
    with pytest.raises(AWSError, match="AccessDenied"):
        identities.assume_role(cloud.new_key(user="other"), {**asked, "ExternalId": "shop"})
    answer = identities.assume_role(caller.key, {**asked, "ExternalId": "shop"})["Credentials"]

    with pytest.raises(AWSError, match="InvalidClientTokenId"):
        identities.find(answer["AccessKeyId"], None)
    session = identities.find(answer["AccessKeyId"], answer["SessionToken"])
    assert session.account == "210987654321"
    caller.clock.advance(900)
    with pytest.raises(AWSError, match="ExpiredToken"):
        identities.find(answer["AccessKeyId"], answer["SessionToken"])


def test_no_repr_holds_a_secret() -> None:
    caller = Caller()
    caller.create()
    database = caller.region.database("orders")
    role = caller.cloud.add_role("deploy", web_identities={"a.web.identity"})
    text = f"{database!r} {caller.key!r} {role!r}"
    for secret in ("correct-horse", caller.key.secret, "a.web.identity"):
        assert secret not in text


def test_versions_and_classes_on_offer() -> None:
    caller = Caller()
    versions = caller("DescribeDBEngineVersions", Engine="postgres", EngineVersion="16")["DBEngineVersions"]
    assert [version["EngineVersion"] for version in versions] == ["16.8", "16.9"]
    targets = {it["EngineVersion"]: it["IsMajorVersionUpgrade"] for it in versions[0]["ValidUpgradeTarget"]}
    assert targets == {"16.9": False, "17.4": True, "17.5": True}
    (default,) = caller("DescribeDBEngineVersions", Engine="mysql", DefaultOnly="true")["DBEngineVersions"]
    assert default["EngineVersion"] == "8.4.5"

    asked = {"Engine": "postgres", "EngineVersion": "16.8", "DBInstanceClass": "db.t3.micro"}
    options = caller("DescribeOrderableDBInstanceOptions", **asked)["OrderableDBInstanceOptions"]
    sizes = {it["StorageType"]: (it["MinStorageSize"], it["MaxStorageSize"]) for it in options}
    assert sizes["gp3"] == (20, 65536)
    asked["DBInstanceClass"] = "db.t3.giant"
    assert caller("DescribeOrderableDBInstanceOptions", **asked)["OrderableDBInstanceOptions"] == []


@pytest.mark.parametrize("number", ["000000000001", "123456789012", "999999999999"])
def test_an_access_key_holds_its_accounts_number(number: str) -> None:
    key = Cloud().new_key(number)
    assert re.fullmatch("AKIA[A-Z2-7]{16}", key.id)
    decoded = int.from_bytes(base64.b32decode(key.id[4:])[:6])
    assert f"{(decoded & 0x7FFFFFFFFF80) >> 7:012d}" == number
