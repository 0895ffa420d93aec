"""Made once, whatever is lost; nobody else's is taken, unless that was asked for."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any

import pytest

from openclaw.api.rdsinstance import Phase
from openclaw.kube.errors import Conflict
from openclaw.providers.errors import (
    ExternalInvalid,
    ExternalTransient,
    ExternalUnauthorised,
    ProviderError,
)
from openclaw.providers.marks import CREATED, CREATING
from tests.unit.controllers.rds.world import PASSWORD, World


async def test_it_is_marked_before_it_is_asked_for_and_owned_from_the_first_moment() -> None:
    world = World()
    world.rds.errors["create"] = [ExternalTransient("no answer")]
    await world.tried()
    assert CREATING in world.marks
    await world.run(after=1)
    assert world.rds.only.owner_uid == world.obj.uid
    assert world.rds.only.tags["openclaw.dev/owner"] == "shop/orders"
    assert CREATING not in world.marks
    assert CREATED in world.marks


async def test_what_can_not_be_there_is_not_looked_for() -> None:
    world = World()
    await world.run()
    assert [line.split()[0] for line in world.rds.ledger] == ["create"]
    named = World(dbInstanceIdentifier="legacy")
    await named.run()
    assert named.rds.ledger == ["get legacy", "create legacy"]


async def test_no_mark_on_the_newest_state_no_call() -> None:
    world = World()
    world.conflicts = 1
    with pytest.raises(Conflict):
        await world.run()
    assert world.rds.calls("create") == 0
    await world.run()
    assert world.rds.calls("create") == 1


@pytest.mark.parametrize("visible", [True, False])
async def test_a_lost_answer_is_no_second_instance(visible: bool) -> None:
    world = World()
    world.rds.lost.add("create")
    await world.tried()
    if not visible:
        world.rds.invisible.add(world.rds.only.identity)
        await world.run(after=5)
        assert world.phase() is Phase.CREATING
        world.rds.invisible.clear()
    await world.run(after=30)
    assert len(world.rds.instances) == 1
    assert world.phase() is Phase.CREATING
    world.rds.become("available")
    await world.run(after=300)
    # What the lost call has sent is not known for sure: the password is sent once more.
    await world.run(after=90)
    assert world.phase() is Phase.AVAILABLE
    assert world.rds.calls("update") == 1
    await world.run(after=90)
    assert world.rds.calls("update") == 1


async def test_a_process_that_dies_after_the_call_is_no_second_instance() -> None:
    world = World()
    await world.run(crash=True)
    assert "status" not in world.body
    await world.run(after=5)
    assert world.rds.calls("create") == 1
    assert world.phase() is Phase.CREATING


async def test_what_is_not_visible_yet_is_not_absent_but_what_stays_away_is_lost() -> None:
    world = World()
    await world.run()
    world.rds.invisible.add(world.rds.only.identity)
    await world.run(after=30)
    assert world.phase() is Phase.CREATING
    await world.run(after=60)
    assert world.phase() is Phase.FAILED
    assert world.rds.calls("create") == 1


async def test_a_refused_creation_rests_until_spec_or_secret_change() -> None:
    world = World()
    world.rds.errors["create"] = [ExternalInvalid(f"InvalidParameter: {n}") for n in range(3)]
    await world.run()
    assert world.phase() is Phase.FAILED
    calls = len(world.rds.ledger)
    for _ in range(5):
        await world.run(after=3600)
    assert len(world.rds.ledger) == calls
    world.secret("master", password="longer than before")
    await world.run()
    assert world.rds.calls("create") == 2
    world.spec(dbInstanceClass="db.m7g.large")
    await world.run()
    assert world.rds.calls("create") == 3
    world.annotate(now="1")
    await world.run()
    assert world.rds.calls("create") == 4
    assert world.phase() is Phase.CREATING


@pytest.mark.parametrize(
    "passing",
    [
        ExternalTransient("no answer"),
        ExternalUnauthorised("not allowed"),
        ExternalTransient("none left", code="InstanceQuotaExceeded", outcome_unknown=False),
    ],
    ids=["outage", "denied", "quota"],
)
async def test_what_failed_and_meets_trouble_when_its_inputs_are_right_is_tried_again(
    passing: ProviderError,
) -> None:
    world = World()
    world.rds.errors["create"] = [ExternalInvalid("InvalidParameter"), passing]
    await world.run()
    assert world.phase() is Phase.FAILED
    world.spec(dbInstanceClass="db.m7g.large")
    with contextlib.suppress(ProviderError):
        await world.run()
    await world.run(after=300)
    assert world.phase() is Phase.CREATING, "nobody changes anything any more"


async def test_a_secret_that_is_missing_costs_no_call_and_passes() -> None:
    world = World()
    aws = world.secrets.pop("aws")
    await world.run()
    assert world.said("Degraded") == ("True", "SecretMissing")
    assert world.rds.ledger == []
    world.secrets["aws"] = aws
    await world.run()
    assert world.phase() is Phase.CREATING


async def foreign(**spec: Any) -> World:
    """An object that names an instance of somebody else."""
    world = World()
    await world.available()
    instance = dataclasses.replace(world.rds.only, identity="legacy", tags={"team": "shop"})
    later = World(dbInstanceIdentifier="legacy", **spec)
    later.rds.instances["legacy"] = instance
    return later


async def test_what_is_somebody_elses_is_left_alone() -> None:
    world = await foreign(backupRetentionPeriod=7)
    before = world.rds.only
    await world.run()
    await world.run(after=300)
    assert world.said("Synced") == ("False", "Conflict")
    assert world.rds.only == before
    assert set(world.rds.ledger) == {"get legacy"}
    world.delete()
    await world.run()
    assert world.gone()
    assert world.rds.only == before


async def test_adoption_is_asked_for_by_name_shown_first_and_keeps_the_password() -> None:
    world = await foreign(backupRetentionPeriod=7)
    world.annotate(adopt="another")
    await world.run()
    assert world.said("Synced") == ("False", "Conflict")
    world.annotate(adopt="legacy")
    await world.run()
    assert world.obj.status.adopting == "legacy"
    assert {it.field for it in world.obj.status.drift} >= {"backupRetentionPeriod", "owner"}
    assert world.rds.calls("update") == 0
    await world.run(after=5)
    assert world.rds.only.owner_uid == world.obj.uid
    assert world.rds.only.backup_retention_period == 7
    assert world.rds.only.tags["team"] == "shop"
    assert world.rds.passwords == {}, "the password is taken to be the right one"
    await world.run(after=90)
    assert world.phase() is Phase.AVAILABLE
    assert world.rds.calls("update") == 1
    world.secret("master", password="a new one")
    await world.run()
    assert world.rds.passwords == {"legacy": "a new one"}


async def test_what_was_observed_first_is_adopted_when_that_is_asked_for() -> None:
    world = await foreign(managementPolicy="Observe")
    for _ in range(2):
        await world.run(after=90)
    assert world.obj.status.resource_id, "it is known already, and was never this object's"
    world.annotate(adopt="legacy")
    await world.run()
    world.spec(managementPolicy="Full")
    for _ in range(3):
        await world.run(after=90)
    assert world.phase() is Phase.AVAILABLE
    assert world.rds.only.owner_uid == world.obj.uid


async def test_an_adoption_that_dies_on_the_way_keeps_the_password_too() -> None:
    world = await foreign()
    world.annotate(adopt="legacy")
    await world.run(crash=True)
    for _ in range(3):
        await world.run(after=90)
    assert world.phase() is Phase.AVAILABLE
    assert world.rds.passwords == {}
    world.secret("master", password="a new one")
    await world.run()
    assert world.rds.passwords == {"legacy": "a new one"}


async def test_of_two_objects_that_adopt_one_instance_the_last_has_it_and_there_is_no_fight() -> None:
    world = await foreign()
    world.annotate(adopt="legacy")
    for _ in range(3):
        await world.run(after=90)
    assert world.phase() is Phase.AVAILABLE
    world.rds.set(tags={**world.rds.only.tags, "openclaw.dev/owner-uid": "another"})
    calls = world.rds.calls("update")
    for _ in range(3):
        await world.run(after=300)
        assert world.said("Synced") == ("False", "Conflict")
    assert world.rds.calls("update") == calls
    assert world.rds.only.owner_uid == "another"


async def test_an_adoption_that_fails_on_the_way_goes_on() -> None:
    world = await foreign()
    world.rds.set(tags={"openclaw.dev/owner-uid": "former"})
    world.annotate(adopt="legacy")
    await world.run()
    world.rds.errors["update"] = [ExternalTransient("no answer")]
    await world.tried(after=5)
    await world.run(after=30)
    assert world.rds.only.owner_uid == world.obj.uid
    await world.run(after=90)
    assert world.obj.status.adopting is None
    assert world.phase() is Phase.AVAILABLE


async def test_observing_changes_nothing_and_tells_what_would_be() -> None:
    world = await foreign(managementPolicy="Observe", backupRetentionPeriod=7)
    before = world.rds.only
    await world.run()
    assert world.phase() is Phase.AVAILABLE
    assert [it.field for it in world.obj.status.drift] == ["backupRetentionPeriod"]
    assert world.obj.status.endpoint == before.endpoint
    assert world.marks == {}
    world.delete()
    await world.run()
    assert world.gone()
    assert world.rds.only == before
    assert set(world.rds.ledger) == {"get legacy"}


async def test_the_password_is_the_one_of_the_secret() -> None:
    world = World()
    await world.run()
    assert list(world.rds.passwords.values()) == [PASSWORD]


async def test_each_change_of_phase_is_an_event_and_each_phase_says_since_when() -> None:
    world = World()
    await world.run()
    since = world.obj.status.phase_since
    await world.run(after=30)
    assert world.obj.status.phase_since == since
    world.rds.become("available")
    await world.run(after=30)
    assert world.obj.status.phase_since != since
    world.rds.become("storage-full")
    await world.run(after=60)
    world.rds.become("available")
    await world.run(after=60)
    assert world.events == ["Creating", "Available", "Degraded", "Available"]
