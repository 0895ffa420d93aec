"""The annotations by which people steer one object."""

from __future__ import annotations

from openclaw.testing.rds import Fault, Pretend
from tests.integration.rds.world import World, condition, failed_runs, is_, phase, quiet
from tests.integration.reliability.waiting import eventually


async def test_a_paused_object_is_left_alone_until_it_is_not(world: World) -> None:
    async with world.operator():
        await world.create(annotations={"openclaw.dev/paused": "true"})
        await world.until(lambda item: is_(item, "Paused"))
        await quiet(world)
        assert world.calls() == 0
        await world.annotate(paused=None)
        item = await world.available()
        assert condition(item, "Paused") == {}

        await world.annotate(paused="true")
        await world.until(lambda item: is_(item, "Paused"))
        writes = world.writes()
        await world.change(allocatedStorage=40)
        await world.delete()
        await quiet(world)
        assert world.writes() == writes, "its deletion waits too"
        await world.annotate(paused="false")
        await world.gone()
    assert world.region.databases == []


async def test_reconcile_now_looks_at_once_also_at_what_has_failed(world: World) -> None:
    async with world.operator():
        await world.create(dbInstanceClass="db.t3.giant")
        await world.until(phase("Failed"))
        calls = world.calls()
        await quiet(world)
        assert world.calls() == calls, "nothing is asked of RDS for what has failed"
        await world.annotate(reconcile_now="once more")
        item = await world.until(lambda it: it["status"].get("reconcileRequested") == "once more")
        assert item["status"]["phase"] == "Failed"
        assert world.calls("CreateDBInstance") == 2
        await world.change(dbInstanceClass="db.t3.micro")
        await world.available()
    assert world.writes() == ["CreateDBInstance"]


async def test_a_failed_one_is_tried_again_when_its_secret_changes(world: World) -> None:
    await world.add_secret("master", password="tiny")
    async with world.operator():
        await world.create()
        item = await world.until(phase("Failed"))
        assert "shorter than 8" in condition(item, "Degraded")["message"]
        await world.add_secret("master", password="long-enough-now")
        await world.available()
    assert world.database.password == "long-enough-now"


async def test_the_poll_interval_of_an_object(world: World) -> None:
    async with world.operator() as manager:
        await world.create()
        await world.available()
        await world.annotate(poll_interval="2h", reconcile_now="1")
        await world.until(lambda item: item["status"].get("reconcileRequested") == "1")
        (queue,) = [controller.queue for controller in manager.controllers]

        def next_look() -> bool:
            waits = [seconds for _, seconds in queue.waiting(10)]
            return len(waits) == 1 and 7000 < waits[0] <= 7200

        await eventually(next_look, "a look in two hours")


async def test_an_update_without_effect_is_sent_again_when_asked(world: World) -> None:
    async with world.operator() as manager:
        await world.create()
        await world.available()
        fault = world.rds.faults.add(Fault(Pretend(), operation="ModifyDBInstance", times=None))
        await world.change(dbInstanceClass="db.t3.small")
        await world.until(lambda item: condition(item, "Synced").get("reason") == "UpdateWithoutEffect")
        looks = world.calls("DescribeDBInstances")
        await eventually(lambda: world.calls("DescribeDBInstances") > looks + 4, "more looks")
        # A run that could not write what it had sent into the status sends it again: at least once.
        sent, failed = world.calls("ModifyDBInstance"), failed_runs(manager)
        assert sent <= 1 + failed, f"a condition, not a loop:\n{await world.told()}"
        world.rds.faults.remove(fault)
        await world.annotate(reconcile_now="again")
        await world.available()
    assert world.database.values["DBInstanceClass"] == "db.t3.small"
