"""Drift is put right once, with what is on its way taken into account; passwords go when they change."""

from __future__ import annotations

import pytest

from openclaw.api.rdsinstance import Phase
from openclaw.providers.errors import ExternalInvalid, ExternalTransient
from tests.unit.controllers.rds.world import World


async def test_rest_costs_no_update() -> None:
    world = World(multiAZ=False, backupRetentionPeriod=7, tags={"team": "shop"})
    await world.available()
    for _ in range(5):
        await world.run(after=60)
    assert world.rds.calls("update") == 0
    assert world.applied == 1


async def test_only_what_the_user_set_is_put_right() -> None:
    world = World(backupRetentionPeriod=7)
    await world.available()
    world.rds.set(multi_az=True, publicly_accessible=True, iops=3000, backup_retention_period=1)
    await world.run(after=60)
    assert world.rds.calls("update") == 1
    assert world.rds.only.backup_retention_period == 7
    assert (world.rds.only.multi_az, world.rds.only.iops) == (True, 3000)


@pytest.mark.parametrize("observed", [50, 55, 500])
async def test_storage_at_or_above_is_in_sync(observed: int) -> None:
    world = World()
    await world.available()
    world.rds.set(allocated_storage=observed)
    await world.run(after=60)
    assert world.said("Synced")[0] == "True"
    assert world.rds.calls("update") == 0


async def test_a_shrink_is_never_sent() -> None:
    world = World()
    await world.available()
    world.spec(allocatedStorage=20)  # as if there were no CEL rule
    await world.run()
    assert world.rds.calls("update") == 0
    assert world.rds.only.allocated_storage == 50


async def test_what_is_pending_is_not_sent_again() -> None:
    world = World()
    await world.available()
    world.rds.applies = False
    world.spec(dbInstanceClass="db.m7g.large")
    await world.run()
    for _ in range(5):
        await world.run(after=60)
    assert world.rds.calls("update") == 1
    assert world.phase() is Phase.MODIFYING
    world.rds.set(db_instance_class="db.m7g.large", pending={})
    await world.run(after=60)
    assert world.phase() is Phase.AVAILABLE


async def test_what_waits_for_the_window_is_made_at_once_when_that_is_asked_for() -> None:
    world = World(applyImmediately=False)
    await world.available()
    world.rds.applies = False
    world.spec(dbInstanceClass="db.m7g.large")
    await world.run()
    await world.run(after=90)
    assert world.said("Synced") == ("True", "PendingMaintenance")
    world.rds.applies = True
    world.spec(applyImmediately=True)
    await world.run(after=60)
    assert world.rds.calls("update") == 2
    assert world.rds.only.db_instance_class == "db.m7g.large"


async def test_available_right_after_an_update_is_not_believed() -> None:
    world = World()
    await world.available()
    world.spec(dbInstanceClass="db.m7g.large")
    await world.run()
    for _ in range(3):
        await world.run(after=15)
        assert world.phase() is Phase.MODIFYING
    world.rds.become("modifying")
    await world.run(after=60)
    assert world.phase() is Phase.MODIFYING
    world.rds.become("available")
    await world.run(after=60)
    assert world.phase() is Phase.AVAILABLE


async def test_an_update_without_effect_is_told_and_not_repeated() -> None:
    world = World()
    await world.available()
    world.rds.ignores = lambda _: True
    world.spec(iops=3000)
    await world.run()
    for _ in range(10):
        await world.run(after=60)
    assert world.rds.calls("update") == 1
    assert world.said("Synced") == ("False", "UpdateWithoutEffect")
    assert "iops: (none) -> 3000" in world.message("Synced")
    world.annotate(now="again")
    await world.run()
    assert world.rds.calls("update") == 2
    world.spec(iops=4000)
    await world.run(after=90)
    assert world.rds.calls("update") == 3
    world.rds.set(iops=4000)
    await world.run(after=90)
    assert world.said("Synced") == ("True", "InSync")


async def test_a_refused_update_is_told_and_not_repeated() -> None:
    world = World()
    await world.available()
    world.rds.errors["update"] = [ExternalInvalid("InvalidParameterValue: iops too small")]
    world.spec(iops=3)
    await world.run()
    for _ in range(5):
        await world.run(after=60)
        assert world.phase() is Phase.DEGRADED
    assert world.rds.calls("update") == 1
    assert world.said("Degraded") == ("True", "UpdateRefused")
    assert world.said("Available")[0] == "True"
    world.spec(iops=3000)
    await world.run()
    await world.run(after=90)
    assert world.phase() is Phase.AVAILABLE
    assert world.rds.calls("update") == 2


async def test_a_refused_update_that_is_taken_back_is_forgotten() -> None:
    world = World()
    await world.available()
    world.rds.errors["update"] = [ExternalInvalid("InvalidParameterValue: iops too small")]
    world.spec(iops=3)
    await world.run()
    assert world.phase() is Phase.DEGRADED
    world.spec(iops=...)
    await world.run()
    assert world.phase() is Phase.AVAILABLE
    assert world.said("Degraded") == ("False", "AsExpected")


async def test_a_password_on_its_way_is_no_change_that_waits_for_the_window() -> None:
    world = World(applyImmediately=False)
    await world.available()
    world.rds.set(password_pending=True)
    await world.run(after=60)
    assert world.phase() is Phase.MODIFYING
    assert [it.field for it in world.obj.status.pending_changes] == ["masterPasswordSecretRef"]


async def test_no_change_is_sent_while_rds_is_at_work() -> None:
    world = World()
    await world.available()
    world.rds.become("upgrading")
    world.spec(dbInstanceClass="db.m7g.large")
    await world.run()
    await world.run(after=60)
    assert world.rds.calls("update") == 0
    assert "upgrading" in (world.obj.status.drift[0].refused or "")
    world.rds.become("available")
    await world.run(after=60)
    assert world.rds.calls("update") == 1


async def test_a_full_disk_is_mended_by_a_larger_one() -> None:
    world = World()
    await world.available()
    world.rds.become("storage-full")
    await world.run(after=60)
    assert world.phase() is Phase.DEGRADED
    world.spec(allocatedStorage=100)
    await world.run()
    assert world.rds.calls("update") == 1
    assert world.phase() is Phase.MODIFYING
    await world.run(after=10)
    assert world.phase() is Phase.DEGRADED, "it is full until RDS says otherwise"
    world.rds.become("available")
    await world.run(after=300)
    assert world.phase() is Phase.AVAILABLE


async def test_a_password_goes_once_for_each_change() -> None:
    world = World()
    await world.available()
    world.secret("master", password="the second")
    await world.run()
    assert list(world.rds.passwords.values()) == ["the second"]
    await world.run(after=90)
    world.secret("master", password="the second")  # written anew, the same
    await world.run(after=90)
    assert world.rds.calls("update") == 1
    assert (world.obj.status.password.secret or "").endswith("/3"), "and is not looked into again"
    world.secret("master", password="the third")
    await world.run()
    world.secret("master", password="the fourth")
    await world.run()
    assert world.rds.calls("update") == 3
    assert list(world.rds.passwords.values()) == ["the fourth"]


async def test_a_password_whose_answer_was_lost_is_sent_again() -> None:
    world = World()
    await world.available()
    world.secret("master", password="the second")
    world.rds.lost.add("update")
    assert isinstance(await world.tried(), ExternalTransient)
    await world.run(after=30)
    await world.run(after=90)
    await world.run(after=90)
    assert world.rds.calls("update") == 2
    assert world.phase() is Phase.AVAILABLE


async def test_nobody_sees_a_password() -> None:
    world = World()
    await world.available()
    secret = "s3cr3t-and-never-told"
    world.secret("master", password=secret)
    world.rds.errors["update"] = [ExternalInvalid("InvalidParameterValue: too short")]
    await world.run()
    await world.run(after=90)
    told = f"{world.body} {world.notes} {world.rds.ledger}"
    assert secret not in told
    assert secret not in repr(world.rds.only)


async def test_a_change_while_being_made_waits_until_it_serves() -> None:
    world = World()
    await world.run()
    world.spec(dbInstanceClass="db.m7g.large")
    await world.run(after=30)
    assert world.rds.calls("update") == 0
    assert world.phase() is Phase.CREATING
    world.rds.become("available")
    await world.run(after=30)
    assert world.rds.calls("update") == 1


async def test_storage_waits_until_rds_has_optimized_it_and_nothing_else_does() -> None:
    world = World()
    await world.available()
    world.rds.become("storage-optimization")
    world.spec(allocatedStorage=100, backupRetentionPeriod=7)
    await world.run()
    assert world.rds.only.backup_retention_period == 7
    assert world.rds.only.allocated_storage == 50
    await world.run(after=90)
    assert [it.field for it in world.obj.status.drift] == ["allocatedStorage"]
    assert world.rds.calls("update") == 1
    world.rds.become("available")
    await world.run(after=90)
    assert world.rds.only.allocated_storage == 100


async def test_tags_need_not_wait_until_rds_is_done() -> None:
    world = World()
    await world.available()
    world.rds.become("modifying")
    world.spec(tags={"team": "shop"}, iops=3000)
    await world.run()
    assert world.rds.only.tags["team"] == "shop"
    assert world.rds.only.iops is None


async def test_a_deadline_runs_from_the_beginning_and_anew_with_a_new_update() -> None:
    world = World()
    await world.available()
    world.spec(dbInstanceClass="db.m7g.large")
    await world.run()
    world.rds.become("modifying")
    await world.run(after=45 * 60)
    assert world.phase() is Phase.MODIFYING
    await world.run(after=45 * 60)
    assert world.said("Degraded") == ("True", "DeadlineExceeded")
    await world.run(after=60)
    assert world.phase() is Phase.DEGRADED, "it is not over by being told"
    world.rds.become("available")
    world.spec(dbInstanceClass="db.m7g.xlarge")
    await world.run(after=60)
    assert world.phase() is Phase.MODIFYING
    world.rds.become("modifying")
    await world.run(after=45 * 60)
    assert world.phase() is Phase.MODIFYING


async def test_nobody_can_connect_where_there_is_no_endpoint() -> None:
    world = World()
    await world.run()
    world.rds.set(status="available", endpoint=None)
    await world.run(after=60)
    assert world.said("Available")[0] == "False"
