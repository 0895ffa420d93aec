from __future__ import annotations

from math import inf
from typing import Any

import pytest

from openclaw.testing.rds import AWSError, Behaviour, Stage, Timelines
from tests.unit.testing.rds.calling import Caller

LONG = 2000


def ready(caller: Caller | None = None, **parameters: str) -> Caller:
    """A caller with an instance that is available."""
    caller = caller or Caller()
    caller.create(**parameters)
    caller.clock.advance(LONG)
    assert caller.status() == "available"
    return caller


def test_a_new_instance_has_an_endpoint_only_when_it_has_been_created() -> None:
    caller = Caller()
    answer = caller.create()["DBInstance"]
    assert (answer["DBInstanceStatus"], answer["Endpoint"]) == ("creating", None)
    assert caller.statuses(400) == ["creating", "backing-up", "available"]
    assert caller.describe()["Endpoint"]["Port"] == 5432


def test_statuses_follow_the_timeline_that_was_declared() -> None:
    stages = (Stage("creating", 3), Stage("configuring-enhanced-monitoring", 2), Stage("rebooting", 1))
    caller = Caller(Behaviour(timelines=Timelines(create=stages)))
    caller.create()
    assert caller.statuses(10) == ["creating", "configuring-enhanced-monitoring", "rebooting", "available"]


def test_a_stage_without_end_is_kept() -> None:
    caller = Caller(Behaviour(timelines=Timelines(create=(Stage("creating", inf),))))
    caller.create()
    caller.clock.advance(1e9)
    assert caller.status() == "creating"


def test_right_after_a_modification_the_instance_is_available_with_values_pending() -> None:
    caller = ready()
    caller.modify(DBInstanceClass="db.t3.small")
    found = caller.describe()
    assert found["DBInstanceStatus"] == "available"
    assert found["PendingModifiedValues"] == {"DBInstanceClass": "db.t3.small"}
    assert found["DBInstanceClass"] == "db.t3.micro"
    assert caller.statuses(300) == ["available", "modifying", "available"]
    found = caller.describe()
    assert (found["DBInstanceClass"], found["PendingModifiedValues"]) == ("db.t3.small", {})


def test_storage_that_has_grown_is_optimised_and_cannot_grow_again_meanwhile() -> None:
    caller = ready()
    caller.modify(AllocatedStorage="200")
    caller.clock.advance(130)
    assert caller.status() == "storage-optimization"
    assert caller.describe()["AllocatedStorage"] == 200
    with pytest.raises(AWSError, match=r"InvalidParameterCombination.*being optimized"):
        caller.modify(AllocatedStorage="300")
    # What needs no work neither waits for it nor cuts it short.
    caller.modify(DeletionProtection="true")
    assert caller.describe()["DeletionProtection"] is True
    assert caller.statuses(LONG) == ["storage-optimization", "available"]


def test_other_timelines_for_upgrades_and_passwords() -> None:
    caller = ready()
    caller.modify(EngineVersion="16.9")
    assert caller.statuses(400) == ["available", "upgrading", "available"]
    assert caller.describe()["EngineVersion"] == "16.9"
    caller.modify(MasterUserPassword="battery-staple")
    assert caller.describe()["PendingModifiedValues"] == {"MasterUserPassword": "****"}
    assert caller.statuses(100) == ["available", "resetting-master-credentials", "available"]
    database = caller.region.database("orders")
    assert database is not None
    assert database.password == "battery-staple"


def test_what_is_not_applied_at_once_waits_for_the_maintenance_window() -> None:
    caller = ready()
    caller.modify(at_once=False, DBInstanceClass="db.t3.small", DeletionProtection="true")
    caller.clock.advance(LONG)
    found = caller.describe()
    assert found["DBInstanceClass"] == "db.t3.micro"
    assert found["PendingModifiedValues"] == {"DBInstanceClass": "db.t3.small"}
    assert found["DeletionProtection"] is True, "some changes never wait"
    caller.region.maintain("orders")
    caller.clock.advance(LONG)
    found = caller.describe()
    assert (found["DBInstanceClass"], found["PendingModifiedValues"]) == ("db.t3.small", {})


def test_a_change_at_once_takes_those_along_that_wait() -> None:
    caller = ready()
    caller.modify(at_once=False, DBInstanceClass="db.t3.small")
    caller.modify(BackupRetentionPeriod="9")
    caller.clock.advance(LONG)
    found = caller.describe()
    assert (found["DBInstanceClass"], found["BackupRetentionPeriod"]) == ("db.t3.small", 9)


def test_asking_for_what_is_there_takes_a_waiting_change_back() -> None:
    caller = ready()
    caller.modify(at_once=False, DBInstanceClass="db.t3.small")
    caller.modify(at_once=False, DBInstanceClass="db.t3.micro")
    assert caller.describe()["PendingModifiedValues"] == {}


def test_the_same_again_is_no_modification() -> None:
    caller = ready()
    caller.modify(AllocatedStorage="100", DBInstanceClass="db.t3.micro")
    assert caller.statuses(300) == ["available"]


@pytest.mark.parametrize(("asked", "becomes"), [("101", 110), ("110", 110), ("111", 111), ("100", 100)])
def test_storage_grows_by_a_tenth_at_least(asked: str, becomes: int) -> None:
    caller = ready()
    caller.modify(AllocatedStorage=asked)
    caller.clock.advance(LONG)
    assert caller.describe()["AllocatedStorage"] == becomes


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"AllocatedStorage": "99"}, "InvalidParameterCombination.*cannot be reduced"),
        (
            {"EngineVersion": "15.13"},
            "InvalidParameterCombination: Cannot upgrade postgres from 16.8 to 15.13",
        ),
        ({"EngineVersion": "17.5"}, "InvalidParameterCombination.*AllowMajorVersionUpgrade"),
        ({"EngineVersion": "99"}, "InvalidParameterCombination: Cannot find version 99"),
        ({"DBInstanceClass": "db.t3.giant"}, "InvalidParameterCombination"),
        ({"MasterUserPassword": "short"}, "InvalidParameterValue.*shorter than 8"),
        ({"MasterUserPassword": "with@sign@"}, "InvalidParameterValue.*not a valid password"),
        ({"Engine": "mysql"}, "InvalidParameterValue.*cannot be modified"),
        ({"AllocatedStorage": "much"}, "InvalidParameterValue.*AllocatedStorage"),
        ({"MadeUp": "1"}, "InvalidParameterValue.*does not know the parameter MadeUp"),
        ({}, "InvalidParameterCombination: No modifications were requested"),
    ],
)
def test_modifications_that_are_refused(change: dict[str, Any], refusal: str) -> None:
    caller = ready()
    before = caller.describe()
    with pytest.raises(AWSError, match=refusal):
        caller.modify(**change)
    assert caller.describe() == before


def test_a_major_upgrade_that_is_allowed() -> None:
    caller = ready()
    caller.modify(EngineVersion="17.5", AllowMajorVersionUpgrade="true")
    caller.clock.advance(LONG)
    assert caller.describe()["EngineVersion"] == "17.5"


@pytest.mark.parametrize("version", ["16", "16.9"])
def test_a_major_version_is_its_newest_one(version: str) -> None:
    caller = Caller()
    caller.create(EngineVersion=version)
    assert caller.describe()["EngineVersion"] == "16.9"


@pytest.mark.parametrize("status", ["creating", "modifying", "deleting", "stopped", "failed"])
def test_nothing_is_modified_in_other_statuses(status: str) -> None:
    caller = ready()
    caller.region.play("orders", Stage(status, inf))
    with pytest.raises(AWSError, match="InvalidDBInstanceState"):
        caller.modify(DBInstanceClass="db.t3.small")


def test_a_create_that_lacks_something_is_refused() -> None:
    caller = Caller()
    with pytest.raises(AWSError, match=r"MissingParameter.*MasterUserPassword"):
        caller("CreateDBInstance", "orders", Engine="postgres", DBInstanceClass="db.t3.micro",
               AllocatedStorage="20", MasterUsername="shop")  # fmt: skip
    assert caller.region.databases == []


def test_the_quota_of_instances() -> None:
    caller = Caller(Behaviour(instance_quota=1))
    caller.create("a")
    with pytest.raises(AWSError, match="InstanceQuotaExceeded"):
        caller.create("b")


def test_deletion_takes_its_time_and_the_name_is_free_after() -> None:
    caller = ready()
    first = caller.describe()["DbiResourceId"]
    caller("DeleteDBInstance", "orders", SkipFinalSnapshot="true")
    with pytest.raises(AWSError, match=r"InvalidDBInstanceState.*already being deleted"):
        caller("DeleteDBInstance", "orders", SkipFinalSnapshot="true")
    with pytest.raises(AWSError, match="DBInstanceAlreadyExists"):
        caller.create()
    assert caller.statuses(200) == ["deleting", "DBInstanceNotFound"]
    caller.create()
    assert caller.describe()["DbiResourceId"] != first


def test_the_final_snapshot_is_available_once_the_instance_is_gone() -> None:
    caller = ready()
    caller("DeleteDBInstance", "orders", FinalDBSnapshotIdentifier="Orders-Last")
    (snapshot,) = caller("DescribeDBSnapshots")["DBSnapshots"]
    assert (snapshot["DBSnapshotIdentifier"], snapshot["Status"]) == ("orders-last", "creating")
    caller.clock.advance(LONG)
    (snapshot,) = caller("DescribeDBSnapshots", "orders")["DBSnapshots"]
    assert snapshot["Status"] == "available"
    assert caller("DescribeDBSnapshots", "others")["DBSnapshots"] == []


@pytest.mark.parametrize(
    ("parameters", "refusal"),
    [
        ({}, "InvalidParameterCombination.*is required"),
        ({"SkipFinalSnapshot": "true", "FinalDBSnapshotIdentifier": "last"}, "InvalidParameterCombination"),
        ({"FinalDBSnapshotIdentifier": "la--st"}, "InvalidParameterValue"),
    ],
)
def test_deletions_that_are_refused(parameters: dict[str, str], refusal: str) -> None:
    caller = ready()
    with pytest.raises(AWSError, match=refusal):
        caller("DeleteDBInstance", "orders", **parameters)
    assert caller.status() == "available"
    assert caller.region.snapshots == []


def test_what_is_being_created_can_be_deleted_only_without_a_snapshot() -> None:
    caller = Caller()
    caller.create()
    with pytest.raises(AWSError, match=r"InvalidDBInstanceState.*snapshot"):
        caller("DeleteDBInstance", "orders", FinalDBSnapshotIdentifier="last")
    caller("DeleteDBInstance", "orders", SkipFinalSnapshot="true")
    assert caller.statuses(200) == ["deleting", "DBInstanceNotFound"]
    assert caller.region.snapshots == []
