"""The object goes when the instance was seen to be gone; nothing is lost, and there is a way out."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw.api.rdsinstance import Phase
from openclaw.providers.errors import ExternalInvalid, ExternalTransient
from tests.unit.controllers.rds.world import World


async def deleted(**spec: Any) -> World:
    world = World(**spec)
    await world.available()
    world.delete()
    return world


async def test_a_final_snapshot_of_a_name_of_its_own_is_the_default() -> None:
    world = await deleted()
    await world.run()
    (removal,) = world.rds.removed.values()
    assert removal.final_snapshot == world.obj.status.final_snapshot_id
    assert removal.final_snapshot is not None
    assert removal.final_snapshot.startswith(world.rds.only.identity)
    another = World()
    another.body["metadata"]["uid"] = "another"
    await another.available()
    another.delete()
    await another.run()
    assert another.obj.status.final_snapshot_id != removal.final_snapshot


async def test_the_object_goes_only_when_the_instance_was_seen_to_be_gone() -> None:
    world = await deleted()
    for _ in range(4):
        await world.run(after=60)
        assert not world.gone()
        assert world.phase() is Phase.DELETING
    assert world.rds.calls("delete") == 1
    world.rds.instances.clear()
    world.rds.errors["get"] = [ExternalTransient("no answer")] * 3
    await world.tried(after=60)
    assert not world.gone()
    await world.run(after=60)
    assert world.gone()
    assert world.events[-1] == "Deleted"


async def test_no_snapshot_where_none_is_wanted() -> None:
    world = await deleted(deletionPolicy="Delete")
    await world.run()
    (removal,) = world.rds.removed.values()
    assert removal.final_snapshot is None


@pytest.mark.parametrize("by", ["policy", "annotation"])
async def test_orphaning_needs_no_credentials_and_makes_no_call(by: str) -> None:
    world = await deleted(deletionPolicy="Orphan" if by == "policy" else "Snapshot")
    world.secrets.clear()
    if by == "annotation":
        await world.run()
        assert not world.gone()
        assert world.said("Degraded") == ("True", "SecretMissing")
        world.annotate(orphan="true")
    await world.run()
    assert world.gone()
    assert world.rds.ledger == []
    assert world.rds.only.status == "available"


async def test_missing_credentials_hold_the_object_and_are_asked_for_slowly() -> None:
    world = await deleted()
    aws = world.secrets.pop("aws")
    for _ in range(3):
        await world.run(after=300)
        assert not world.gone()
        assert world.result is not None
        assert world.result.requeue_after == 300
    assert world.phase() is Phase.DELETING
    assert "'aws'" in world.message()
    world.secrets["aws"] = aws
    await world.run()
    assert world.rds.calls("delete") == 1


async def test_the_password_is_not_needed_to_delete() -> None:
    world = await deleted()
    del world.secrets["master"]
    await world.run()
    assert world.rds.calls("delete") == 1


@pytest.mark.parametrize(("spec", "lifted"), [(False, True), (True, False), (..., False)])
async def test_protection_is_lifted_only_when_the_spec_says_so(spec: object, lifted: bool) -> None:
    world = await deleted(deletionProtection=spec)
    world.rds.set(deletion_protection=True)
    await world.run()
    assert (world.rds.only.status == "deleting") is lifted
    if not lifted:
        assert world.said("Degraded") == ("True", "DeletionProtected")
        assert not world.gone()


async def test_what_was_never_asked_for_goes_at_once() -> None:
    world = World()
    world.secrets.clear()
    await world.run()
    world.delete()
    await world.run()
    assert world.gone()


async def test_what_was_refused_goes_without_credentials() -> None:
    world = World()
    world.rds.errors["create"] = [ExternalInvalid("no")]
    await world.run()
    world.secrets.clear()
    world.delete()
    await world.run()
    assert world.gone()


async def test_what_was_perhaps_made_is_looked_for_until_it_must_have_shown_itself() -> None:
    world = World(deletionPolicy="Delete")
    world.rds.lost.add("create")
    await world.tried()
    (identity,) = world.rds.instances
    world.rds.invisible.add(identity)
    world.delete()
    await world.run(after=10)
    assert not world.gone()
    world.rds.invisible.clear()
    await world.run(after=30)
    assert world.rds.calls("delete") == 1
    world.rds.instances.clear()
    await world.run(after=90)
    assert world.gone()


async def test_deleted_while_it_is_being_made() -> None:
    world = World()
    await world.run()
    world.delete()
    await world.run(after=30)
    assert world.phase() is Phase.DELETING
    assert world.said("Progressing") == ("True", "Deleting")
    assert world.rds.removed == {}
    world.rds.become("available")
    await world.run(after=300)
    (removal,) = world.rds.removed.values()
    assert removal.final_snapshot is not None


async def test_a_snapshot_that_can_not_be_made_is_told_and_loses_nothing() -> None:
    world = await deleted()
    world.rds.become("failed")
    await world.run()
    assert world.said("Degraded") == ("True", "SnapshotImpossible")
    assert not world.gone()
    world.spec(deletionPolicy="Delete")
    await world.run()
    assert world.rds.calls("delete") == 2
    assert world.rds.only.status == "deleting"


async def test_an_instance_that_is_another_objects_by_now_is_left_alone() -> None:
    world = await deleted()
    world.rds.set(tags={"openclaw.dev/owner-uid": "another"})
    await world.run()
    assert world.gone()
    assert world.events[-1] == "LeftAlone"
    assert world.rds.calls("delete") == 0


async def test_what_was_made_and_is_only_observed_since_stays() -> None:
    world = await deleted()
    world.spec(managementPolicy="Observe")
    await world.run()
    assert world.gone()
    assert world.rds.calls("delete") == 0
    assert world.rds.only.status == "available"


async def test_an_object_that_has_lost_its_marks_still_deletes_its_instance() -> None:
    world = await deleted()
    world.marks.clear()
    await world.run()
    assert not world.gone()
    assert world.rds.calls("delete") == 1
