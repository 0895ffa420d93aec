"""An instance that exists becomes the object's only when asked for, and is shown before it is changed."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw.providers.aws.rds_model import OWNER_TAG
from tests.integration.rds.world import World, condition, degraded, is_, phase, quiet
from tests.integration.reliability.waiting import eventually

ADOPT = {"database.openclaw.dev/adopt": "theirs"}


def _by(item: dict[str, Any], field: str) -> dict[str, Any]:
    return next(dict(it) for it in item["status"]["drift"] if it["field"] == field)


@pytest.mark.parametrize("tags", [{}, {OWNER_TAG: "another-object"}], ids=["unmarked", "another's"])
async def test_what_exists_is_not_taken_without_being_asked(world: World, tags: dict[str, str]) -> None:
    world.region.add("theirs", tags=tags)
    async with world.operator():
        await world.create(dbInstanceIdentifier="theirs", allocatedStorage=50)
        item = await world.until(degraded("Conflict"))
        await quiet(world)
        assert item["status"]["phase"] == "Pending"
        assert "theirs" in condition(item, "Degraded")["message"]
        await world.delete()
        await world.gone()
    assert world.writes() == []
    assert dict(world.database.tags) == tags


async def test_another_identifier_than_the_one_annotated_is_not_adopted(world: World) -> None:
    world.region.add("theirs")
    async with world.operator():
        await world.create(
            dbInstanceIdentifier="theirs", annotations={"database.openclaw.dev/adopt": "others"}
        )
        await world.until(degraded("Conflict"))
    assert world.writes() == []


async def test_adoption_shows_first_and_then_brings_in_line(world: World) -> None:
    world.region.add("theirs", DBInstanceClass="db.t3.large", tags={"team": "theirs"})
    shown = []
    async with world.operator():
        await world.create(
            dbInstanceIdentifier="theirs",
            masterUsername="master",
            dbName=None,
            engineVersion=None,
            annotations=ADOPT,
        )

        async def looked() -> bool:
            item = await world.get()
            if item.get("status", {}).get("adopting"):
                shown.append((item, list(world.writes())))
            return bool(shown)

        await eventually(looked, "what is to be adopted", interval=0.005)
        await world.until(phase("Modifying"))
        item = await world.available()
    first, writes = shown[0]
    assert writes == [], "nothing was changed before it was shown"
    assert first["status"]["adopting"] == "theirs"
    assert _by(first, "dbInstanceClass") == {
        "field": "dbInstanceClass",
        "observed": "db.t3.large",
        "wanted": "db.t3.micro",
    }
    assert "CreateDBInstance" not in world.writes()
    assert world.database.values["DBInstanceClass"] == "db.t3.micro"
    assert world.database.tags[OWNER_TAG] == item["metadata"]["uid"]
    assert world.database.tags["team"] == "theirs", "what is not ours stays"
    assert "adopting" not in item["status"]


async def test_what_cannot_be_changed_is_told_and_left(world: World) -> None:
    world.region.add("theirs", MasterUsername="somebody")
    async with world.operator():
        await world.create(dbInstanceIdentifier="theirs", dbName=None, engineVersion=None, annotations=ADOPT)
        item = await world.until(lambda it: condition(it, "Synced").get("reason") == "Mismatch")
    assert _by(item, "masterUsername")["refused"]
    assert is_(item, "Available")


async def test_observing_changes_nothing_and_leaves_everything(world: World) -> None:
    world.region.add("theirs", DBInstanceClass="db.t3.large")
    before = world.database
    async with world.operator():
        await world.create(dbInstanceIdentifier="theirs", managementPolicy="Observe", dbName=None)
        item = await world.until(lambda it: condition(it, "Synced").get("reason") == "Mismatch")
        assert item["status"]["observed"]["dbInstanceClass"] == "db.t3.large"
        assert item["status"]["endpoint"] == before.endpoint[0]
        world.region.change("theirs", AllocatedStorage=77)
        await world.until(lambda it: it["status"]["observed"]["allocatedStorage"] == 77)
        await world.delete()
        await world.gone()
    assert world.writes() == []
    assert world.database.tags == before.tags
