"""What the stand-in answers is what moto answers: names, types, codes.

What moto does not play (statuses, pending values, throttling) is in the stand-in's own tests.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.contract.rds.places import ACCOUNT, REGION, Place, client

DATABASE: dict[str, Any] = {
    "Engine": "postgres",
    "DBInstanceClass": "db.t3.micro",
    "AllocatedStorage": 20,
    "MasterUsername": "shop",
    "MasterUserPassword": "correct-horse",
}


async def _create(rds: Any, identifier: str, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = await rds.create_db_instance(DBInstanceIdentifier=identifier, **DATABASE | more)
    return dict(made["DBInstance"])


def _refusal(error: pytest.ExceptionInfo[ClientError]) -> tuple[str, int]:
    response = error.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


async def test_a_new_instance_is_described_by_the_same_names_and_types(place: Place) -> None:
    async with client(place, await place.key()) as rds:
        await _create(rds, "Orders", DBName="shop", Tags=[{"Key": "team", "Value": "a b/c"}], MultiAZ=True)
        (found,) = (await rds.describe_db_instances(DBInstanceIdentifier="orders"))["DBInstances"]

    assert found["DBInstanceIdentifier"] == "orders", "RDS keeps it in lower case"
    assert found["DBInstanceStatus"] == "available"
    assert found["DBInstanceArn"] == f"arn:aws:rds:{REGION}:{ACCOUNT}:db:orders"
    assert found["DbiResourceId"].startswith("db-")
    expected = {name: value for name, value in DATABASE.items() if name != "MasterUserPassword"}
    assert {name: found[name] for name in expected} == expected
    assert found["DBName"] == "shop"
    assert found["MultiAZ"] is True
    assert found["StorageEncrypted"] is found["DeletionProtection"] is False
    assert found["BackupRetentionPeriod"] == 1
    assert found["TagList"] == [{"Key": "team", "Value": "a b/c"}]
    assert found["Endpoint"]["Address"].startswith("orders.")
    assert found["Endpoint"]["Address"].endswith(f".{REGION}.rds.amazonaws.com")
    assert found["Endpoint"]["Port"] == 5432
    assert isinstance(found["InstanceCreateTime"], datetime)
    assert isinstance(found["EngineVersion"], str)
    assert [group["Status"] for group in found["VpcSecurityGroups"]] == ["active"]
    assert [group["ParameterApplyStatus"] for group in found["DBParameterGroups"]] == ["in-sync"]
    assert DATABASE["MasterUserPassword"] not in str(found)


async def test_what_is_given_is_kept(place: Place) -> None:
    given = {
        "Port": 6000,
        "BackupRetentionPeriod": 7,
        "DeletionProtection": True,
        "StorageEncrypted": True,
        "StorageType": "gp2",
        "CopyTagsToSnapshot": True,
        "AutoMinorVersionUpgrade": False,
        "PreferredMaintenanceWindow": "mon:01:00-mon:01:30",
        "PreferredBackupWindow": "05:00-05:30",
    }
    async with client(place, await place.key()) as rds:
        made = await _create(rds, "orders", **given)
    shown = {**made, "Port": made["DbInstancePort"]}
    assert {name: shown[name] for name in given} == given


@pytest.mark.parametrize("identifier", ["orders", "Orders"])
async def test_a_name_is_given_once(place: Place, identifier: str) -> None:
    async with client(place, await place.key()) as rds:
        await _create(rds, "orders")
        with pytest.raises(rds.exceptions.DBInstanceAlreadyExistsFault) as refused:
            await _create(rds, identifier)
    assert _refusal(refused) == ("DBInstanceAlreadyExists", 400)


async def test_what_is_not_there_is_not_found(place: Place) -> None:
    async with client(place, await place.key()) as rds:
        for call, parameters in (
            (rds.describe_db_instances, {}),
            (rds.modify_db_instance, {"AllocatedStorage": 30}),
            (rds.delete_db_instance, {"SkipFinalSnapshot": True}),
        ):
            with pytest.raises(rds.exceptions.DBInstanceNotFoundFault) as refused:
                await call(DBInstanceIdentifier="nothing", **parameters)
            assert _refusal(refused) == ("DBInstanceNotFound", 404)
        with pytest.raises(rds.exceptions.DBSnapshotNotFoundFault) as refused:
            await rds.describe_db_snapshots(DBSnapshotIdentifier="nothing")
        assert _refusal(refused) == ("DBSnapshotNotFound", 404)


@pytest.mark.parametrize("identifier", ["1orders", "or--ders", "orders-", "or_ders", "a" * 64])
async def test_a_wrong_identifier_is_refused(place: Place, identifier: str) -> None:
    async with client(place, await place.key()) as rds:
        with pytest.raises(ClientError) as refused:
            await _create(rds, identifier)
    assert _refusal(refused) == ("InvalidParameterValue", 400)


async def test_an_unknown_engine_is_refused(place: Place) -> None:
    async with client(place, await place.key()) as rds:
        with pytest.raises(ClientError) as refused:
            await _create(rds, "orders", Engine="dbase")
    assert _refusal(refused) == ("InvalidParameterValue", 400)


async def test_a_listing_comes_in_pages(place: Place) -> None:
    names = [f"db{number:02d}" for number in range(45)]
    async with client(place, await place.key()) as rds:
        for name in reversed(names):
            await _create(rds, name)
        pages: list[list[str]] = []
        marker: dict[str, str] = {}
        while not pages or marker:
            answer = await rds.describe_db_instances(MaxRecords=20, **marker)
            pages.append([found["DBInstanceIdentifier"] for found in answer["DBInstances"]])
            marker = {"Marker": answer["Marker"]} if answer.get("Marker") else {}
        assert len((await rds.describe_db_instances())["DBInstances"]) == 45, "100 a page by default"
    assert [len(page) for page in pages] == [20, 20, 5]
    assert sorted(name for page in pages for name in page) == names


async def test_a_listing_is_filtered(place: Place) -> None:
    async with client(place, await place.key()) as rds:
        for name in ("a", "b", "c"):
            await _create(rds, name)
        await _create(rds, "m", Engine="mysql")

        async def found(name: str, *values: str) -> list[str]:
            answer = await rds.describe_db_instances(Filters=[{"Name": name, "Values": list(values)}])
            return sorted(it["DBInstanceIdentifier"] for it in answer["DBInstances"])

        assert await found("db-instance-id", "a", "c", "zz") == ["a", "c"]
        assert await found("engine", "mysql") == ["m"]
        with pytest.raises(ClientError) as refused:
            await found("colour", "red")
    assert _refusal(refused) == ("InvalidParameterValue", 400)


async def test_a_modification_applied_at_once(place: Place) -> None:
    change = {"AllocatedStorage": 40, "DBInstanceClass": "db.t3.small", "BackupRetentionPeriod": 9}
    async with client(place, await place.key()) as rds:
        await _create(rds, "orders")
        await rds.modify_db_instance(DBInstanceIdentifier="orders", ApplyImmediately=True, **change)
        (found,) = (await rds.describe_db_instances(DBInstanceIdentifier="orders"))["DBInstances"]
    assert {name: found[name] for name in change} == change
    assert found["DBInstanceStatus"] == "available"


async def test_protection_keeps_from_deletion_until_it_is_lifted(place: Place) -> None:
    async with client(place, await place.key()) as rds:
        await _create(rds, "orders", DeletionProtection=True)
        with pytest.raises(ClientError) as refused:
            await rds.delete_db_instance(DBInstanceIdentifier="orders", SkipFinalSnapshot=True)
        assert _refusal(refused) == ("InvalidParameterCombination", 400)
        assert "disable deletion protection" in str(refused.value)
        await rds.modify_db_instance(DBInstanceIdentifier="orders", DeletionProtection=False)
        await rds.delete_db_instance(DBInstanceIdentifier="orders", SkipFinalSnapshot=True)
        assert (await rds.describe_db_instances())["DBInstances"] == []
        assert (await rds.describe_db_snapshots())["DBSnapshots"] == []


async def test_deletion_with_a_final_snapshot(place: Place) -> None:
    async with client(place, await place.key()) as rds:
        await _create(rds, "orders")
        answer = await rds.delete_db_instance(
            DBInstanceIdentifier="orders", FinalDBSnapshotIdentifier=f"orders-{'a' * 248}"
        )
        assert answer["DBInstance"]["DBInstanceStatus"] == "deleting"
        with pytest.raises(rds.exceptions.DBInstanceNotFoundFault):
            await rds.describe_db_instances(DBInstanceIdentifier="orders")
        (snapshot,) = (await rds.describe_db_snapshots())["DBSnapshots"]
        expected = {
            "DBSnapshotIdentifier": f"orders-{'a' * 248}",
            "DBInstanceIdentifier": "orders",
            "Status": "available",
            "AllocatedStorage": 20,
            "Engine": "postgres",
        }
        assert {name: snapshot[name] for name in expected} == expected

        await _create(rds, "orders")
        with pytest.raises(rds.exceptions.DBSnapshotAlreadyExistsFault) as refused:
            await rds.delete_db_instance(
                DBInstanceIdentifier="orders", FinalDBSnapshotIdentifier=f"orders-{'a' * 248}"
            )
        assert _refusal(refused) == ("DBSnapshotAlreadyExists", 400)


async def test_tags_are_added_listed_and_removed(place: Place) -> None:
    async with client(place, await place.key()) as rds:
        made = await _create(rds, "orders", Tags=[{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}])
        arn = made["DBInstanceArn"]

        async def tags() -> dict[str, str]:
            answer = await rds.list_tags_for_resource(ResourceName=arn)
            return {tag["Key"]: tag["Value"] for tag in answer["TagList"]}

        assert await tags() == {"a": "1", "b": "2"}
        await rds.add_tags_to_resource(
            ResourceName=arn, Tags=[{"Key": "b", "Value": "3"}, {"Key": "c", "Value": "4"}]
        )
        assert await tags() == {"a": "1", "b": "3", "c": "4"}
        await rds.remove_tags_from_resource(ResourceName=arn, TagKeys=["a", "c"])
        assert await tags() == {"b": "3"}


async def test_a_revoked_key_is_refused(place: Place) -> None:
    key = await place.key()
    async with client(place, key) as rds:
        await rds.describe_db_instances()
        await place.revoke(key)
        with pytest.raises(ClientError) as refused:
            await rds.describe_db_instances()
    assert _refusal(refused) == ("InvalidClientTokenId", 403)


async def test_a_wrong_secret_is_refused(place: Place) -> None:
    async with client(place, await place.key(), secret="wrong") as rds:
        with pytest.raises(ClientError) as refused:
            await rds.describe_db_instances()
    assert _refusal(refused) == ("SignatureDoesNotMatch", 403)


async def test_a_caller_may_only_what_it_is_allowed(place: Place) -> None:
    async with client(place, await place.key("rds:CreateDBInstance")) as rds:
        with pytest.raises(ClientError) as refused:
            await _create(rds, "orders")
        assert (await rds.describe_db_instances())["DBInstances"] == []
    assert _refusal(refused) == ("AccessDenied", 403)


async def test_who_is_calling(place: Place) -> None:
    async with client(place, await place.key(), "sts") as sts:
        answer = await sts.get_caller_identity()
    assert answer["Account"] == ACCOUNT
    assert answer["Arn"].startswith(f"arn:aws:iam::{ACCOUNT}:user/")


class _Session:
    def __init__(self, answer: dict[str, Any]) -> None:
        credentials = answer["Credentials"]
        self.id = str(credentials["AccessKeyId"])
        self.secret = str(credentials["SecretAccessKey"])
        self.token = str(credentials["SessionToken"])
        self.expires = credentials["Expiration"]


async def test_a_role_is_assumed_and_its_session_is_good_for_rds(place: Place) -> None:
    role = await place.role()
    async with client(place, await place.key(), "sts") as sts:
        answer = await sts.assume_role(RoleArn=role, RoleSessionName="me", DurationSeconds=900)
    session = _Session(answer)
    assert answer["AssumedRoleUser"]["Arn"] == f"arn:aws:sts::{ACCOUNT}:assumed-role/operator/me"
    assert isinstance(session.expires, datetime)
    assert session.id.startswith("ASIA")
    async with client(place, session, token=session.token) as rds:
        await _create(rds, "orders")
        assert len((await rds.describe_db_instances())["DBInstances"]) == 1


async def test_a_role_is_assumed_with_a_web_identity_and_no_key(place: Place) -> None:
    role = await place.role()
    async with client(place, None, "sts") as sts:
        answer = await sts.assume_role_with_web_identity(
            RoleArn=role, RoleSessionName="pod", WebIdentityToken="a.web.identity"
        )
    session = _Session(answer)
    assert answer["AssumedRoleUser"]["Arn"] == f"arn:aws:sts::{ACCOUNT}:assumed-role/operator/pod"
    async with client(place, session, token=session.token) as rds:
        assert (await rds.describe_db_instances())["DBInstances"] == []
