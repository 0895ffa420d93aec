"""RDS fails, hangs, lies, throttles and goes away: one database each time, and never a second."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from openclaw.testing.rds import (
    HANG,
    HANG_AFTER,
    OUTAGE,
    THROTTLE,
    Cut,
    Fault,
    Garble,
    LoseAnswer,
    Outcome,
    Refuse,
)
from tests.integration.rds.world import World, condition, phase, quick_settings
from tests.integration.reliability.waiting import eventually

FAULTS: dict[str, Outcome] = {
    "cut": Cut(),
    "lost": LoseAnswer(),
    "garbled": Garble(b"<html><br>"),
    "garbled-wellformed": Garble(),
    "outage": OUTAGE,
    "throttled": THROTTLE,
    "internal": Refuse("InternalFailure", status=500),
}
HAVE_EFFECT = (LoseAnswer(), Garble(b"<html><br>"), Garble())
NewWorld = Callable[[], Awaitable[World]]


async def _in_each(new_world: NewWorld, story: Callable[[World, Outcome], Awaitable[None]]) -> None:
    """The story once with each fault, all at the same time, in worlds of their own."""

    async def told(name: str) -> None:
        world = await new_world()
        try:
            async with world.operator():
                await story(world, FAULTS[name])
        except BaseException as error:
            error.add_note(f"with the fault {name}")
            raise

    async with asyncio.TaskGroup() as group:
        for name in FAULTS:
            group.create_task(told(name))


@pytest.mark.parametrize("operation", ["DescribeDBInstances", "CreateDBInstance"])
async def test_a_fault_while_it_is_made(new_world: NewWorld, operation: str) -> None:
    async def story(world: World, outcome: Outcome) -> None:
        fault = Fault(outcome, operation=operation, account=world.account.id, times=2)
        world.rds.faults.add(fault)
        await world.create()
        await world.available(timeout=40)
        assert fault.hit == (1 if operation == "CreateDBInstance" and outcome in HAVE_EFFECT else 2)
        assert len(world.region.databases) == 1
        assert world.writes().count("CreateDBInstance") == 1

    await _in_each(new_world, story)


async def test_a_fault_while_it_is_changed(new_world: NewWorld) -> None:
    async def story(world: World, outcome: Outcome) -> None:
        await world.create()
        await world.available()
        fault = world.rds.faults.add(Fault(outcome, operation="ModifyDBInstance", account=world.account.id))
        await world.change(allocatedStorage=40)
        await world.until(lambda it: it["status"]["observed"]["allocatedStorage"] == 40, timeout=40)
        await world.available()
        assert fault.hit == 1

    await _in_each(new_world, story)


async def test_a_fault_while_it_is_deleted(new_world: NewWorld) -> None:
    async def story(world: World, outcome: Outcome) -> None:
        await world.create()
        await world.available()
        fault = world.rds.faults.add(Fault(outcome, operation="DeleteDBInstance", account=world.account.id))
        await world.delete()
        await world.gone(timeout=40)
        assert fault.hit == 1
        assert world.region.databases == []
        assert len(world.region.snapshots) == 1

    await _in_each(new_world, story)


@pytest.mark.parametrize("lag", [0.5, 1.5])
async def test_a_new_instance_that_is_seen_late_is_not_made_twice(world: World, lag: float) -> None:
    behaviour = world.account.behaviour
    behaviour.describe_lag, behaviour.listing_lag = lag, lag + 0.3
    async with world.operator():
        await world.create()
        await world.available()
    assert world.calls("CreateDBInstance") == 1


async def test_what_is_asked_for_is_told_when_it_is_not_taken_for_lost(world: World) -> None:
    """Deleted by somebody, a database is not made again, for it would be empty."""
    async with world.operator(settings=quick_settings(visible=0.3)):
        await world.create()
        await world.available()
        world.region.remove(world.database.identifier)
        item = await world.until(phase("Failed"))
        assert condition(item, "Degraded")["reason"] == "Lost"
    assert world.writes() == ["CreateDBInstance"]


async def test_a_partition(world: World) -> None:
    async with world.operator():
        await world.create()
        await world.available()
        await world.rds.stop()
        await world.change(allocatedStorage=40)
        item = await world.until(lambda it: it["status"].get("lastErrorClass") is not None)
        assert item["status"]["lastErrorClass"] == "Transient"
        await world.rds.start()
        await world.until(lambda it: it["status"]["observed"]["allocatedStorage"] == 40, timeout=50)


@pytest.mark.parametrize("hang", [HANG, HANG_AFTER], ids=["before", "after"])
async def test_a_create_that_hangs_when_the_operator_is_stopped(world: World, hang: Outcome) -> None:
    fault = world.rds.faults.add(Fault(hang, operation="CreateDBInstance", account=world.account.id))
    async with world.operator():
        await world.create()
        await eventually(fault.reached.is_set, "the create")
    async with world.operator():
        await world.available()
    assert len(world.region.databases) == 1
