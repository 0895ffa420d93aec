"""What becomes of the database when the object is deleted: what the policy says, and never anything else."""

from __future__ import annotations

from math import inf

import pytest

from openclaw.providers.aws.rds_model import OWNER_TAG
from openclaw.testing.rds import Stage
from tests.integration.rds.world import World, condition, degraded, phase, quick_timelines, quiet
from tests.integration.reliability.waiting import eventually

FINALIZER = "database.openclaw.dev/rds-instance"


@pytest.mark.parametrize(
    ("policy", "databases", "snapshots"), [("Snapshot", 0, 1), ("Delete", 0, 0), ("Orphan", 1, 0)]
)
async def test_the_deletion_policy(world: World, policy: str, databases: int, snapshots: int) -> None:
    async with world.operator():
        await world.create(deletionPolicy=policy)
        await world.available()
        await world.delete()
        await world.gone()
    assert (len(world.region.databases), len(world.region.snapshots)) == (databases, snapshots)
    assert world.writes().count("DeleteDBInstance") == 1 - databases


@pytest.mark.parametrize("policy", ["Snapshot", "Delete"])
async def test_an_object_deleted_while_its_database_is_being_made(world: World, policy: str) -> None:
    world.account.behaviour.timelines = quick_timelines(create=(Stage("creating", 2.0),))
    async with world.operator():
        await world.create(deletionPolicy=policy)
        await world.until(lambda item: item["status"].get("observed", {}).get("status") == "creating")
        await world.delete()
        await world.gone()
    assert world.region.databases == []
    assert len(world.region.snapshots) == (1 if policy == "Snapshot" else 0)


async def test_an_object_that_never_had_a_database_goes_at_once(world: World) -> None:
    await world.client.delete("Secret", world.namespace, "aws")
    async with world.operator():
        await world.create()
        await world.until(degraded("SecretMissing"))
        await world.delete()
        await world.gone()
    assert world.calls() == 0


async def test_protection_set_in_aws_is_lifted_when_the_spec_says_so(world: World) -> None:
    async with world.operator():
        await world.create(deletionProtection=True)
        await world.available()
        await world.delete()
        await world.until(degraded("DeletionProtected"))
        await quiet(world)
        assert len(world.region.databases) == 1
        assert "DeleteDBInstance" not in world.writes()
        await world.change(deletionProtection=False)
        await world.gone()
    assert world.region.databases == []
    assert len(world.region.snapshots) == 1


async def test_orphaning_needs_no_credentials(world: World) -> None:
    async with world.operator():
        await world.create(deletionPolicy="Orphan")
        await world.available()
        await world.client.delete("Secret", world.namespace, "aws")
        await world.delete()
        await world.gone()
    assert len(world.region.databases) == 1


async def test_credentials_deleted_first_keep_the_object_until_they_are_back(world: World) -> None:
    async with world.operator():
        await world.create()
        await world.available()
        await world.client.delete("Secret", world.namespace, "aws")
        await world.delete()
        item = await world.until(degraded("SecretMissing"))
        assert FINALIZER in item["metadata"]["finalizers"]
        assert "aws" in condition(item, "Degraded")["message"]
        assert len(world.region.databases) == 1
        await world.add_credentials()
        await world.gone()
    assert world.region.databases == []
    assert len(world.region.snapshots) == 1


async def test_the_master_password_is_not_needed_for_a_deletion(world: World) -> None:
    async with world.operator():
        await world.create()
        await world.available()
        await world.client.delete("Secret", world.namespace, "master")
        await world.delete()
        await world.gone()
    assert world.region.databases == []


async def test_the_way_out_of_a_deletion_without_credentials(world: World) -> None:
    async with world.operator():
        await world.create()
        await world.available()
        await world.client.delete("Secret", world.namespace, "aws")
        await world.delete()
        await world.until(degraded("SecretMissing"))
        await world.annotate(orphan="true")
        await world.gone()
    assert len(world.region.databases) == 1, "left as it is"


async def test_a_database_that_is_gone_already(world: World) -> None:
    async with world.operator():
        await world.create()
        await world.available()
        world.region.remove(world.database.identifier)
        await world.delete()
        await world.gone()
    assert world.region.snapshots == []


async def test_a_database_that_somebody_has_made_anew_is_not_ours_to_delete(world: World) -> None:
    async with world.operator():
        await world.create()
        await world.available()
        name = world.database.identifier
    world.region.remove(name)
    world.region.add(name, tags={OWNER_TAG: "somebody-else"})
    await world.delete()
    async with world.operator():
        await world.gone()
    assert len(world.region.databases) == 1
    assert "DeleteDBInstance" not in world.writes()


async def test_the_object_stays_until_the_database_is_seen_to_be_gone(world: World) -> None:
    world.account.behaviour.timelines = quick_timelines(delete=(Stage("deleting", inf),))
    async with world.operator():
        await world.create()
        await world.available()
        await world.delete()
        await world.until(phase("Deleting"))
        before = world.calls("DescribeDBInstances")
        await eventually(lambda: world.calls("DescribeDBInstances") > before + 4, "more looks")
        item = await world.get()
        assert FINALIZER in item["metadata"]["finalizers"]
        world.region.remove(world.database.identifier)
        await world.gone()
    assert world.writes().count("DeleteDBInstance") == 1


async def test_an_instance_that_is_broken_can_be_deleted_without_a_snapshot(world: World) -> None:
    async with world.operator():
        await world.create()
        await world.available()
        world.region.play(world.database.identifier, Stage("failed", inf))
        await world.until(phase("Failed"))
        await world.delete()
        await world.until(degraded("SnapshotImpossible"))
        assert len(world.region.databases) == 1
        await world.change(deletionPolicy="Delete")
        await world.gone()
    assert world.region.databases == []
