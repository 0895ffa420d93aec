"""With the shipped settings and RDS' own slowness, in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from openclaw.controllers.rds import password
from openclaw.providers.resilience.settings import ResilienceSettings
from openclaw.testing.rds import OUTAGE
from tests.integration.rds.fast_time import fast_time
from tests.integration.rds.simulated import KIND, NAMESPACE, PASSWORD, Simulation, available, region_of

MINUTE = 60.0


@pytest.fixture(autouse=True)
def cheap_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long by intent is not what is tried here."""
    monkeypatch.setitem(password._COST, "n", 2)


@fast_time
async def test_the_life_of_a_database_takes_as_long_as_rds_does(*, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Simulation(monkeypatch) as world:
        account, key = world.new_account()
        await world.add_key(key)
        await world.add_secret("master", password=PASSWORD)
        async with world.operator():
            await world.create("orders")
            await world.until("orders", available)
            await world.client.patch(KIND, NAMESPACE, "orders", {"spec": {"allocatedStorage": 40}})
            await world.until("orders", available)
            await world.client.delete(KIND, NAMESPACE, "orders")
            await world.client.wait_gone(KIND, NAMESPACE, "orders", 7200)
        assert region_of(account).databases == []
        assert world.writes(account) == ["CreateDBInstance", "ModifyDBInstance", "DeleteDBInstance"]


@fast_time
async def test_an_outage_is_waited_for_with_few_calls_and_recovered_from(
    *, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Simulation(monkeypatch) as world:
        account, key = world.new_account()
        await world.add_key(key)
        await world.add_secret("master", password=PASSWORD)
        names = [f"db{number}" for number in range(10)]
        async with world.operator():
            for name in names:
                await world.create(name)
            for name in names:
                await world.until(name, available)
            with world.rds.faults.always(OUTAGE) as outage:
                await asyncio.sleep(30 * MINUTE)
                for item in await world.client.list(KIND, NAMESPACE):
                    assert item["status"]["phase"] == "Available", "that it cannot be seen changes nothing"
                    assert item["status"]["lastErrorClass"] in ("Transient", "BreakerOpen")
            # The breaker opens after some failures; then one probe, of at most three attempts, at a time.
            settings = ResilienceSettings()
            probes = 30 * MINUTE / settings.breaker_longest + 4
            assert outage.hit <= settings.breaker_failures + settings.concurrency + 3 * probes
            for name in names:
                await world.until(
                    name, lambda item: available(item) and "lastErrorClass" not in item["status"], timeout=600
                )
        assert world.writes(account) == ["CreateDBInstance"] * 10


@fast_time
async def test_a_throttling_storm_ends_with_one_database_each(*, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Simulation(monkeypatch) as world:
        account, key = world.new_account()
        world.rds.throttle(account.id, rate=0.5, burst=2)
        await world.add_key(key)
        await world.add_secret("master", password=PASSWORD)
        names = [f"db{number}" for number in range(30)]
        async with world.operator():
            for name in names:
                await world.create(name)
            for name in names:
                await world.until(name, available)
        assert len(region_of(account).databases) == 30
        assert world.writes(account) == ["CreateDBInstance"] * 30
        throttled = world.rds.ledger.calls(result="Throttling")
        assert 0 < len(throttled) < len(world.rds.ledger) / 3, "most calls are made when they may be"
