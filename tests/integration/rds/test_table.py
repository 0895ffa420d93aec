"""Every row of the phase table is reached by what happens outside, and seen by who watches the object."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from math import inf
from typing import Any

import pytest

from openclaw.api.rdsinstance import Phase
from openclaw.controllers.rds import conditions
from openclaw.controllers.rds.phases import TABLE, Row, Signal, row_of
from openclaw.testing.rds import OUTAGE, Fault, Pretend, Refuse, Stage
from tests.integration.rds.world import KIND, World, is_, phase, quick_settings, quick_timelines
from tests.integration.reliability.waiting import eventually

Object = dict[str, Any]
Scene = Callable[[World], Awaitable[Any]]

SCENES: dict[Signal, Scene] = {}
SETTINGS: dict[Signal, dict[str, Any]] = {
    Signal.OVERDUE: {"deadlines": {Phase.CREATING: 0.5}},
    Signal.DELETE_OVERDUE: {"deadlines": {Phase.DELETING: 0.5}},
    Signal.STALE: {"settle": 3.0},
    Signal.LOST: {"visible": 0.3},
}


def scene(signal: Signal) -> Callable[[Scene], Scene]:
    def register(made: Scene) -> Scene:
        SCENES[signal] = made
        return made

    return register


async def created(world: World, **spec: Any) -> None:
    await world.create(**spec)
    await world.until(lambda item: is_(item, "Available"))


def play(status: str) -> Scene:
    async def played(world: World) -> None:
        await created(world)
        world.region.play(world.database.identifier, Stage(status, inf))

    return played


@scene(Signal.INPUT_MISSING)
async def _(world: World) -> None:
    await world.client.delete("Secret", world.namespace, "master")
    await world.create()


@scene(Signal.TAKEN)
async def _(world: World) -> None:
    world.region.add("theirs")
    await world.create(dbInstanceIdentifier="theirs")


@scene(Signal.SHOWN)
async def _(world: World) -> None:
    world.region.add("theirs")
    await world.create(dbInstanceIdentifier="theirs", annotations={"database.openclaw.dev/adopt": "theirs"})


@scene(Signal.NOT_FOUND)
async def _(world: World) -> None:
    await world.create(dbInstanceIdentifier="nothing", managementPolicy="Observe")


@scene(Signal.CREATED)
async def _(world: World) -> None:
    await world.create()


@scene(Signal.INVISIBLE)
async def _(world: World) -> None:
    world.account.behaviour.describe_lag = world.account.behaviour.listing_lag = 1.0
    await world.create()


@scene(Signal.BUILDING)
async def _(world: World) -> None:
    world.account.behaviour.timelines = quick_timelines(create=(Stage("creating", inf),))
    await world.create()


@scene(Signal.CREATE_REFUSED)
async def _(world: World) -> None:
    await world.create(dbInstanceClass="db.t3.giant")


@scene(Signal.SETTLED)
async def _(world: World) -> None:
    await world.create()


@scene(Signal.DEFERRED)
async def _(world: World) -> None:
    await created(world, applyImmediately=False)
    await world.change(dbInstanceClass="db.t3.small")


@scene(Signal.MISMATCH)
async def _(world: World) -> None:
    world.region.add("theirs", DBInstanceClass="db.t3.large")
    await world.create(dbInstanceIdentifier="theirs", managementPolicy="Observe")


@scene(Signal.WITHOUT_EFFECT)
async def _(world: World) -> None:
    await created(world)
    world.rds.faults.add(Fault(Pretend(), operation="ModifyDBInstance", account=world.account.id, times=None))
    await world.change(dbInstanceClass="db.t3.small")


@scene(Signal.UPDATED)
async def _(world: World) -> None:
    await created(world)
    await world.change(dbInstanceClass="db.t3.small")


@scene(Signal.STALE)
async def _(world: World) -> None:
    await created(world)
    world.account.behaviour.timelines = quick_timelines(modify=(Stage("available", 2.0),))
    await world.change(dbInstanceClass="db.t3.small")


@scene(Signal.CHANGING)
async def _(world: World) -> None:
    await created(world)
    world.account.behaviour.timelines = quick_timelines(modify=(Stage("modifying", inf),))
    await world.change(dbInstanceClass="db.t3.small")


@scene(Signal.UPDATE_REFUSED)
async def _(world: World) -> None:
    await created(world)
    await world.change(dbInstanceClass="db.t3.giant")


SCENES[Signal.IMPAIRED] = play("storage-full")
SCENES[Signal.BROKEN] = play("failed")
SCENES[Signal.GOING] = play("deleting")
SCENES[Signal.UNKNOWN_STATUS] = play("dreaming")


@scene(Signal.OVERDUE)
async def _(world: World) -> None:
    world.account.behaviour.timelines = quick_timelines(create=(Stage("creating", inf),))
    await world.create()


@scene(Signal.LOST)
async def _(world: World) -> None:
    await created(world)
    world.region.remove(world.database.identifier)


@scene(Signal.NO_ROOM)
async def _(world: World) -> None:
    world.rds.faults.add(
        Fault(
            Refuse("InstanceQuotaExceeded"),
            operation="CreateDBInstance",
            account=world.account.id,
            times=None,
        )
    )
    await world.create()


@scene(Signal.BUSY)
async def _(world: World) -> None:
    await created(world)
    world.rds.faults.add(
        Fault(
            Refuse("InvalidDBInstanceState"),
            operation="ModifyDBInstance",
            account=world.account.id,
            times=None,
        )
    )
    await world.change(dbInstanceClass="db.t3.small")


@scene(Signal.UNAUTHORISED)
async def _(world: World) -> None:
    await created(world)
    world.key.active = False


@scene(Signal.UNREACHABLE)
async def _(world: World) -> None:
    await created(world)
    world.rds.faults.add(Fault(OUTAGE, account=world.account.id, times=None))


@scene(Signal.REFUSED)
async def _(world: World) -> None:
    await created(world)
    world.rds.faults.add(Fault(Refuse("SomethingNew"), account=world.account.id, times=None))


@scene(Signal.DELETING)
async def _(world: World) -> None:
    await created(world)
    await world.delete()


@scene(Signal.DELETE_PROTECTED)
async def _(world: World) -> None:
    await created(world, deletionProtection=True)
    await world.delete()


@scene(Signal.NO_SNAPSHOT)
async def _(world: World) -> None:
    await play("failed")(world)
    await world.until(phase("Failed"))
    await world.delete()


@scene(Signal.DELETE_OVERDUE)
async def _(world: World) -> None:
    await created(world)
    world.account.behaviour.timelines = quick_timelines(delete=(Stage("deleting", inf),))
    await world.delete()


@asynccontextmanager
async def watched(world: World) -> AsyncIterator[list[Object]]:
    """Every state of the objects from now on."""
    states: list[Object] = []

    async def follow() -> None:
        async with aclosing(world.client.follow(KIND, world.namespace)) as batches:
            async for events in batches:
                states.extend(item for _, item in events)

    task = asyncio.create_task(follow())
    try:
        yield states
    finally:
        task.cancel()


def _shows(item: Object, row: Row) -> bool:
    """Whether an object says what the row has."""
    found = {it["type"]: it for it in item.get("status", {}).get("conditions", ())}
    if row.to is None and not row.degraded:
        return True  # says nothing new of the instance; that the run came to it was noted
    wanted = {True: "True", False: "False", None: "Unknown"}
    return bool(
        (row.to is None or item["status"].get("phase") == row.to.value)
        and found["Synced"]["status"] == wanted[row.synced]
        and found["Synced"]["reason"] == row.reason
        and found["Degraded"]["status"] == wanted[row.degraded]
    )


def test_there_is_a_scene_for_every_row() -> None:
    assert set(SCENES) == set(Signal) == {row.signal for row in TABLE}


@pytest.mark.parametrize("signal", list(Signal), ids=lambda signal: signal.name.lower())
async def test_a_row_is_reached(world: World, monkeypatch: pytest.MonkeyPatch, signal: Signal) -> None:
    reached: list[Signal] = []

    def noting(found: Signal) -> Row:
        reached.append(found)
        return row_of(found)

    monkeypatch.setattr(conditions, "row_of", noting)
    row = row_of(signal)
    settings = quick_settings(**SETTINGS.get(signal, {}))
    async with world.operator(settings=settings), watched(world) as states:
        await SCENES[signal](world)
        await eventually(
            lambda: signal in reached and any(_shows(item, row) for item in states if "status" in item),
            f"{signal}",
            timeout=15,
        )
