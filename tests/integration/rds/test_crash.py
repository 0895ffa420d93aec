"""The operator dies at every single call, and the next one ends where an undisturbed one does.

One database or none, never a second and never a lost one; in virtual time, on the embedded cluster.
"""

from __future__ import annotations

import asyncio
import base64
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from openclaw.controllers.rds import password
from openclaw.providers.aws.rds_model import OWNER_TAG
from openclaw.testing.rds import AccessKey, Account, Behaviour, Region, Timelines
from tests.integration.rds.crashing import Wire
from tests.integration.rds.fast_time import fast_time
from tests.integration.rds.simulated import KIND, PASSWORD, Simulation, available, region_of

Object = dict[str, Any]

NAME = "orders"
CHANGED = "another-horse-9"
SHORT = Timelines().scaled(0.15)  # fewer looks at an RDS that is at work
_MOST_CALLS = 60


class Run:
    """One namespace and account, in which one operator after the other works."""

    def __init__(self, world: Simulation, namespace: str, account: Account, key: AccessKey) -> None:
        self.world = world
        self.namespace = namespace
        self.account = account
        self.key = key
        self.wire = Wire(world, namespace, account.id)

    @property
    def region(self) -> Region:
        return region_of(self.account)

    @classmethod
    async def new(cls, world: Simulation, number: int) -> Run:
        namespace = f"run-{number}"
        await world.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        account, key = world.new_account()
        await world.add_key(key, namespace=namespace)
        await world.add_secret("master", namespace, password=PASSWORD)
        return cls(world, namespace, account, key)

    async def until(self, condition: Callable[[Object], Any]) -> Object:
        return await self.world.until(NAME, condition, namespace=self.namespace)

    async def gone(self) -> None:
        await self.world.client.wait_gone(KIND, self.namespace, NAME, 7200)

    async def create(self, **spec: Any) -> None:
        await self.world.create(NAME, namespace=self.namespace, **spec)

    async def change(self, **spec: Any) -> None:
        await self.world.client.patch(KIND, self.namespace, NAME, {"spec": spec})

    async def delete(self) -> None:
        await self.world.client.delete(KIND, self.namespace, NAME)

    # What must hold at the end

    async def check_one(self, *, storage: int = 20, password: str = PASSWORD) -> None:
        item = await self.world.client.get(KIND, self.namespace, NAME)
        (database,) = self.region.databases
        assert database.tags[OWNER_TAG] == item["metadata"]["uid"]
        assert database.values["AllocatedStorage"] == storage
        assert database.password == password
        assert self.world.writes(self.account).count("CreateDBInstance") == 1
        assert "DeleteDBInstance" not in self.world.writes(self.account)
        secret = await self.world.client.get("Secret", self.namespace, f"{NAME}-connection")
        assert base64.b64decode(secret["data"]["password"]).decode() == password
        assert base64.b64decode(secret["data"]["endpoint"]).decode() == database.endpoint[0]

    def check_none(self, *, snapshots: int) -> None:
        assert self.region.databases == []
        assert len(self.region.snapshots) == snapshots
        assert self.world.writes(self.account).count("CreateDBInstance") <= 1


Step = Callable[[Run], Awaitable[None]]


async def _created(run: Run) -> None:
    await run.create()
    async with run.wire.operator():
        await run.until(available)


async def _being_made(run: Run) -> None:
    await run.create()
    async with run.wire.operator():
        await run.until(lambda item: item["status"]["observed"]["status"] == "creating")


async def _nothing(run: Run) -> None:
    pass


async def _new_password(run: Run) -> None:
    await run.world.add_secret("master", run.namespace, password=CHANGED)


async def _theirs(run: Run) -> None:
    run.region.add("theirs", DBInstanceClass="db.t3.large", MasterUserPassword=PASSWORD, DBName="shop")


async def _adopt(run: Run) -> None:
    await run.create(dbInstanceIdentifier="theirs", masterUsername="master", engineVersion=None)
    annotations = {"database.openclaw.dev/adopt": "theirs"}
    await run.world.client.patch(KIND, run.namespace, NAME, {"metadata": {"annotations": annotations}})


async def _at_rest(run: Run) -> None:
    await run.until(available)


async def _has_new_password(run: Run) -> None:
    await run.until(
        lambda item: (
            available(item)
            and run.region.databases[0].password == CHANGED
            and run.region.databases[0].status == "available"
        )
    )


async def _check_adopted(run: Run) -> None:
    item = await run.world.client.get(KIND, run.namespace, NAME)
    (database,) = run.region.databases
    assert database.tags[OWNER_TAG] == item["metadata"]["uid"]
    assert database.values["DBInstanceClass"] == "db.t3.micro"
    assert "CreateDBInstance" not in run.world.writes(run.account)


async def _check_snapshot(run: Run) -> None:
    run.check_none(snapshots=1)


# What was before, what the user does, when it is over, and what must hold then.
SCENES: dict[str, tuple[Step, Step, Step, Step]] = {
    "create": (_nothing, Run.create, _at_rest, Run.check_one),
    "modify": (
        _created,
        lambda run: run.change(allocatedStorage=40, tags={"team": "shop"}),
        _at_rest,
        lambda run: run.check_one(storage=40),
    ),
    "password": (_created, _new_password, _has_new_password, lambda run: run.check_one(password=CHANGED)),
    "delete": (_created, Run.delete, Run.gone, _check_snapshot),
    "delete-while-being-made": (_being_made, Run.delete, Run.gone, _check_snapshot),
    "adopt": (_theirs, _adopt, _at_rest, _check_adopted),
}


async def _disturbed(run: Run, scene: str, at: int, *, after: bool) -> str:
    """A run whose operator dies at call number `at`, and another one after it; the call's name."""
    before, act, over, check = SCENES[scene]
    await before(run)
    await act(run)
    async with run.wire.operator(at, after=after):
        await asyncio.wait_for(run.wire.died.wait(), 7200)
        call = run.wire.calls[at - 1]
    try:
        async with run.wire.operator():
            await over(run)
        await check(run)
    except BaseException as error:
        error.add_note(f"after it died {'after' if after else 'before'} call {at}, {call}")
        raise
    return call


@pytest.fixture(autouse=True)
def cheap_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long by intent is not what is tried here."""
    monkeypatch.setitem(password._COST, "n", 2)


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("scene", "lag"),
    [
        *((scene, 0.0) for scene in SCENES),
        ("create", 25.0),
    ],
)
@fast_time
async def test_a_death_at_any_call_is_made_good_by_the_next(
    *, monkeypatch: pytest.MonkeyPatch, scene: str, lag: float
) -> None:
    behaviour = Behaviour(timelines=SHORT, describe_lag=lag, listing_lag=1.5 * lag)
    async with Simulation(monkeypatch, behaviour) as world:
        undisturbed = await Run.new(world, 0)
        before, act, over, check = SCENES[scene]
        await before(undisturbed)
        await act(undisturbed)
        async with undisturbed.wire.operator():
            await over(undisturbed)
            calls = list(undisturbed.wire.calls)
        await check(undisturbed)
        assert 4 <= len(calls) < _MOST_CALLS, calls
        # Looks that follow each other while RDS is at work are alike: one of them is enough.
        chosen = [
            at for at, call in enumerate(calls) if call != "DescribeDBInstances" or calls[at - 1] != call
        ]
        for number, at in enumerate(chosen):
            for after in (False, True):
                run = await Run.new(world, 2 * number + after + 1)
                await _disturbed(run, scene, at + 1, after=after)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("lag", [0.0, 25.0])
@fast_time
async def test_an_object_deleted_while_nobody_knows_what_came_of_its_creation(
    *, monkeypatch: pytest.MonkeyPatch, lag: float
) -> None:
    behaviour = Behaviour(timelines=SHORT, describe_lag=lag, listing_lag=1.5 * lag)
    async with Simulation(monkeypatch, behaviour) as world:
        undisturbed = await Run.new(world, 0)
        await undisturbed.create()
        async with undisturbed.wire.operator():
            await undisturbed.until(lambda item: item["status"]["phase"] == "Creating")
            calls = len(undisturbed.wire.calls)
        made = []
        for at in range(1, calls + 1):
            for after in (False, True):
                run = await Run.new(world, 2 * at + after)
                await run.create()
                async with run.wire.operator(at, after=after):
                    await asyncio.wait_for(run.wire.died.wait(), 7200)
                    call = run.wire.calls[at - 1]
                made.append(bool(run.region.databases))
                await run.delete()
                try:
                    async with run.wire.operator():
                        await run.gone()
                    run.check_none(snapshots=int(made[-1]))
                except BaseException as error:
                    error.add_note(f"after it died {'after' if after else 'before'} call {at}, {call}")
                    raise
        assert set(made) == {False, True}


@pytest.mark.timeout(240)
@fast_time
async def test_deaths_again_and_again_through_a_whole_life(*, monkeypatch: pytest.MonkeyPatch) -> None:
    behaviour = Behaviour(timelines=SHORT, describe_lag=10, listing_lag=20)
    async with Simulation(monkeypatch, behaviour) as world:
        for seed in range(12):
            chance = random.Random(seed)
            run = await Run.new(world, seed)

            async def survive(over: Step, run: Run = run, chance: random.Random = chance) -> None:
                for _ in range(4):
                    at, after = chance.randint(1, 9), chance.random() < 0.5
                    async with run.wire.operator(at, after=after):
                        ended = asyncio.ensure_future(over(run))
                        died = asyncio.ensure_future(run.wire.died.wait())
                        await asyncio.wait({ended, died}, return_when=asyncio.FIRST_COMPLETED)
                        died.cancel()
                        if not ended.done():
                            ended.cancel()
                        else:
                            await ended
                async with run.wire.operator():
                    await over(run)

            try:
                await run.create()
                await survive(_at_rest)
                await run.check_one()
                await run.change(allocatedStorage=40)
                await survive(_at_rest)
                await run.check_one(storage=40)
                await run.delete()
                await survive(Run.gone)
                run.check_none(snapshots=1)
            except BaseException as error:
                error.add_note(f"with seed {seed}")
                raise
