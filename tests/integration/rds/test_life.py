"""The whole life of an RDSInstance."""

from __future__ import annotations

from typing import Any

from openclaw.testing.rds import Stage
from tests.integration.rds.world import PASSWORD, World, condition, in_sync, phase, quick_timelines


async def test_from_creation_to_the_final_snapshot(world: World) -> None:
    async with world.operator():
        await world.create(tags={"team": "shop"})
        await world.until(phase("Creating"))
        item = await world.available()

        status, database = item["status"], world.database
        assert status["externalID"] == database.identifier
        assert database.identifier.startswith(f"{world.namespace}-orders-")
        assert (status["endpoint"], status["port"]) == database.endpoint
        assert status["observed"].pop("status") in ("backing-up", "available")
        assert status["observed"] == {
            "dbInstanceClass": "db.t3.micro",
            "allocatedStorage": 20,
            "storageType": "gp3",
            "engineVersion": "16.8",
            "multiAZ": False,
        }
        assert database.tags["team"] == "shop"
        assert database.password == PASSWORD
        address, port = database.endpoint
        assert await world.connection() == {
            "username": "shop",
            "password": PASSWORD,
            "endpoint": address,
            "port": str(port),
            "dbName": "shop",
            "uri": f"postgresql://shop:{PASSWORD}@{address}:{port}/shop",
        }

        await world.change(allocatedStorage=40, dbInstanceClass="db.t3.small", tags={"team": "ops"})
        await world.until(phase("Modifying"))
        item = await world.available()
        assert item["status"]["observed"]["allocatedStorage"] == 40
        assert world.database.tags["team"] == "ops"
        assert world.writes().count("ModifyDBInstance") == 1

        await world.delete()
        item = await world.until(phase("Deleting"))
        await world.gone()
    assert world.region.databases == []
    (snapshot,) = world.region.snapshots
    assert snapshot.status == "available"
    assert snapshot.identifier == item["status"]["finalSnapshotID"]
    assert snapshot.identifier.startswith(f"{item['status']['externalID']}-final-")
    assert world.writes() == [
        "CreateDBInstance", "AddTagsToResource", "ModifyDBInstance", "DeleteDBInstance",
    ]  # fmt: skip


async def test_what_it_becomes_is_told_by_events(world: World) -> None:
    async with world.operator():
        await world.create()
        await world.available()
        await world.delete()
        await world.gone()
    reasons = [event["reason"] for event in await world.events()]
    assert {"Creating", "Available", "Deleting", "Deleted"} <= set(reasons)


async def test_a_changed_password_is_set_once_and_handed_on(world: World) -> None:
    async with world.operator():
        await world.create()
        await world.available()
        await world.add_secret("master", password="another-horse-9")
        await world.until(phase("Modifying"))
        await world.available()
        assert world.database.password == "another-horse-9"
        assert (await world.connection())["password"] == "another-horse-9"
        assert world.writes().count("ModifyDBInstance") == 1
        # The same password in a Secret that was written again is no change.
        await world.add_secret("master", password="another-horse-9", note="rotated by hand")
        await world.annotate(reconcile_now="1")
        await world.until(lambda item: item["status"]["reconcileRequested"] == "1")
        assert world.writes().count("ModifyDBInstance") == 1


async def test_an_upgrade(world: World) -> None:
    async with world.operator():
        await world.create()
        await world.available()
        # Long enough to be seen, however late somebody looks.
        world.account.behaviour.timelines = quick_timelines(upgrade=(Stage("upgrading", 2.0),))
        await world.change(engineVersion="16.9")
        await world.until(lambda item: item["status"]["observed"]["status"] == "upgrading")
        item = await world.available()
    assert item["status"]["observed"]["engineVersion"] == "16.9"
    assert "pending" not in condition(item, "Synced")["message"], "what was pending before"
    assert world.writes().count("ModifyDBInstance") == 1


def _at_rest(item: dict[str, Any]) -> bool:
    return in_sync(item) and item["status"]["observed"]["status"] == "available"


async def test_a_restart_finds_everything_as_it_was_and_writes_nothing(world: World) -> None:
    async with world.operator():
        await world.create()
        before = await world.until(_at_rest)
    calls = world.writes()
    async with world.operator():
        await world.annotate(reconcile_now="1")
        after = await world.until(lambda item: item["status"]["reconcileRequested"] == "1" and _at_rest(item))
    assert world.writes() == calls
    for item in (before, after):
        item["status"].pop("reconcileRequested", None)
    assert after["status"] == before["status"]
    assert condition(after, "Degraded")["status"] == "False"
