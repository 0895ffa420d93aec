"""Each row of the state machine, reached by a story."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable

import pytest

from openclaw.api.rdsinstance import Phase
from openclaw.controllers.rds.phases import TABLE, Poll, Row, Signal, row_of
from openclaw.providers.aws.errors import client_error
from openclaw.providers.errors import (
    ExternalConflict,
    ExternalInvalid,
    ExternalTerminal,
    ExternalTransient,
    ExternalUnauthorised,
    ProviderError,
)
from tests.unit.controllers.rds.world import SETTINGS, World

Story = Callable[[World], Awaitable[None]]
STORIES: dict[Signal, Story] = {}


def story(signal: Signal) -> Callable[[Story], Story]:
    def told(it: Story) -> Story:
        STORIES[signal] = it
        return it

    return told


@story(Signal.INPUT_MISSING)
async def secret_missing(world: World) -> None:
    del world.secrets["master"]
    await world.run()
    assert world.rds.ledger == []
    assert "'master'" in world.message()


@story(Signal.TAKEN)
async def taken(world: World) -> None:
    await world.available()
    other = world.rds.only
    world.__init__(dbInstanceIdentifier=other.identity)  # type: ignore[misc]
    world.body["metadata"]["uid"] = "another"
    world.rds.instances[other.identity] = other
    await world.run()
    assert world.rds.calls("create") == 0


@story(Signal.SHOWN)
async def shown(world: World) -> None:
    await taken(world)
    world.annotate(adopt=world.rds.only.identity)
    await world.run()
    assert world.obj.status.adopting == world.rds.only.identity
    assert world.rds.calls("update") == 0


@story(Signal.NOT_FOUND)
async def nothing_to_observe(world: World) -> None:
    world.spec(managementPolicy="Observe", dbInstanceIdentifier="orders-1")
    await world.run()
    assert world.rds.ledger == ["get orders-1"]


@story(Signal.CREATED)
async def created(world: World) -> None:
    await world.run()
    assert world.rds.calls("create") == 1


@story(Signal.INVISIBLE)
async def invisible(world: World) -> None:
    await world.run()
    world.rds.invisible.add(world.rds.only.identity)
    await world.run(after=5)
    assert world.rds.calls("create") == 1


@story(Signal.BUILDING)
async def building(world: World) -> None:
    await world.run()
    await world.run(after=30)


@story(Signal.CREATE_REFUSED)
async def create_refused(world: World) -> None:
    world.rds.errors["create"] = [ExternalInvalid("InvalidParameterCombination: no such class")]
    await world.run()
    assert "no such class" in world.message()


@story(Signal.SETTLED)
async def settled(world: World) -> None:
    await world.run()
    world.rds.become("available")
    await world.run(after=30)


@story(Signal.DEFERRED)
async def deferred(world: World) -> None:
    await world.available()
    world.spec(applyImmediately=False, dbInstanceClass="db.m7g.large")
    world.rds.applies = False
    await world.run()
    await world.run(after=90)
    assert [it.field for it in world.obj.status.pending_changes] == ["dbInstanceClass"]
    assert world.obj.status.drift == []
    assert world.rds.calls("update") == 1


@story(Signal.MISMATCH)
async def mismatch(world: World) -> None:
    await world.available()
    world.rds.set(engine="mysql")
    await world.run(after=60)
    assert "RDS can't change the engine" in world.message("Synced")
    assert world.rds.calls("update") == 0


@story(Signal.WITHOUT_EFFECT)
async def without_effect(world: World) -> None:
    await world.available()
    world.rds.ignores = lambda _: True
    world.spec(iops=3000)
    await world.run()
    await world.run(after=90)


@story(Signal.UPDATED)
async def updated(world: World) -> None:
    await world.available()
    world.spec(dbInstanceClass="db.m7g.large")
    await world.run()
    assert world.rds.calls("update") == 1


@story(Signal.STALE)
async def stale(world: World) -> None:
    await updated(world)
    await world.run(after=10)
    assert world.rds.calls("update") == 1


@story(Signal.CHANGING)
async def changing(world: World) -> None:
    await world.available()
    world.rds.become("modifying")
    await world.run(after=60)


@story(Signal.UPDATE_REFUSED)
async def update_refused(world: World) -> None:
    await world.available()
    world.rds.errors["update"] = [ExternalInvalid("InvalidParameterValue: iops")]
    world.spec(iops=3)
    await world.run()
    assert "InvalidParameterValue: iops" in world.message()


@story(Signal.IMPAIRED)
async def impaired(world: World) -> None:
    await world.available()
    world.rds.become("storage-full")
    await world.run(after=60)
    assert "raise allocatedStorage" in world.message()


@story(Signal.OVERDUE)
async def overdue(world: World) -> None:
    await building(world)
    await world.run(after=41 * 60)
    assert "Creating for more than 40 min" in world.message()


@story(Signal.BROKEN)
async def broken(world: World) -> None:
    await world.run()
    world.rds.become("incompatible-create")
    await world.run(after=60)
    assert "delete this object" in world.message()


@story(Signal.LOST)
async def lost(world: World) -> None:
    await world.available()
    world.rds.instances.clear()
    await world.run(after=60)
    assert world.rds.calls("create") == 0
    assert "is not made again by itself" in world.message()


@story(Signal.GOING)
async def going(world: World) -> None:
    await world.available()
    world.rds.become("deleting")
    await world.run(after=60)


@story(Signal.UNKNOWN_STATUS)
async def unknown_status(world: World) -> None:
    await world.available()
    world.rds.become("pondering")
    await world.run(after=60)
    assert "pondering" in world.message()


@story(Signal.NO_ROOM)
async def no_room(world: World) -> None:
    world.rds.errors["create"] = [client_error({"Error": {"Code": "InstanceQuotaExceeded"}})]
    await world.run()
    assert "InstanceQuotaExceeded" in world.message()


@story(Signal.BUSY)
async def busy(world: World) -> None:
    await world.available()
    world.rds.errors["update"] = [ExternalConflict("InvalidDBInstanceState")]
    world.spec(dbInstanceClass="db.m7g.large")
    await world.run()


@story(Signal.UNAUTHORISED)
async def unauthorised(world: World) -> None:
    await world.available()
    world.rds.keys = set()
    await world.run(after=60)


@story(Signal.UNREACHABLE)
async def unreachable(world: World) -> None:
    await world.available()
    world.rds.errors["get"] = [ExternalTransient("no answer")] * 3
    assert isinstance(await world.tried(after=60), ExternalTransient)


@story(Signal.REFUSED)
async def refused(world: World) -> None:
    await world.available()
    world.rds.errors["get"] = [ExternalTerminal("OptInRequired: not in this region")]
    await world.run(after=60)


@story(Signal.DELETING)
async def deleting(world: World) -> None:
    await world.available()
    world.delete()
    await world.run()
    assert world.rds.only.status == "deleting"


@story(Signal.DELETE_PROTECTED)
async def delete_protected(world: World) -> None:
    await world.available()
    world.rds.set(deletion_protection=True)
    world.delete()
    await world.run()
    assert world.rds.removed == {}


@story(Signal.NO_SNAPSHOT)
async def no_snapshot(world: World) -> None:
    await world.available()
    world.rds.become("failed")
    world.delete()
    await world.run()
    assert world.rds.removed == {}


@story(Signal.DELETE_OVERDUE)
async def delete_overdue(world: World) -> None:
    await deleting(world)
    await world.run(after=61 * 60)


def test_every_signal_has_one_row_and_one_story() -> None:
    assert [row.signal for row in TABLE] == list(Signal)
    assert set(STORIES) == set(Signal)


def expected_interval(row: Row, phase: Phase) -> float | None:
    return {
        Poll.PHASE: SETTINGS.polls.get(phase),
        Poll.SOON: SETTINGS.soon,
        Poll.SLOW: SETTINGS.slow,
        Poll.NEVER: None,
    }[row.poll]


@pytest.mark.parametrize("signal", list(Signal))
async def test_a_row_says_the_phase_the_conditions_and_when_to_look_again(signal: Signal) -> None:
    world, row = World(), row_of(signal)
    await STORIES[signal](world)
    kept = Phase.PENDING if signal in (Signal.INPUT_MISSING, Signal.NO_ROOM) else Phase.AVAILABLE
    phase = row.to or kept
    assert world.phase() is phase
    told = row.degraded or row.to is not None
    if told:
        status = {True: "True", False: "False", None: "Unknown"}[row.synced]
        assert world.said("Synced") == (status, row.reason)
        assert world.said("Degraded")[0] == str(row.degraded)
        if row.degraded:
            assert world.said("Degraded")[1] == row.reason
            assert world.message()
        over = signal in (Signal.OVERDUE, Signal.DELETE_OVERDUE)
        assert world.said("Progressing")[0] == str(row.waiting is not None and not over)
    if row.poll is Poll.BACKOFF:
        assert world.result is None
    else:
        assert world.result is not None
        assert world.result.requeue_after == expected_interval(row, phase)
    assert not world.gone()


@pytest.mark.parametrize("error", [ExternalTransient("x"), ExternalUnauthorised("x"), ExternalTerminal("x")])
async def test_the_class_of_the_last_error_is_told_until_a_call_succeeds(error: ProviderError) -> None:
    world = World()
    await world.available()
    world.rds.errors["get"] = [error] * 3
    with contextlib.suppress(ExternalTransient):
        await world.run(after=60)
    assert world.body["status"]["lastErrorClass"] == type(error).__name__.removeprefix("External")
    world.rds.errors.clear()
    await world.run(after=300)
    assert "lastErrorClass" not in world.body["status"]
    assert world.said("Degraded") == ("False", "AsExpected")
    assert world.phase() is Phase.AVAILABLE
