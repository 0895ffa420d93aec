"""How often RDS is called for many instances, with the shipped settings, in virtual time."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterable
from typing import Any

import pytest

from openclaw.controllers.rds import password
from openclaw.providers.aws.rds_model import OWNER_TAG
from openclaw.providers.marks import IDENTITY
from openclaw.testing.rds import Behaviour, Timelines
from tests.integration.rds.fast_time import fast_time
from tests.integration.rds.simulated import KIND, PASSWORD, Simulation, available, region_of

Object = dict[str, Any]

MINUTE = 60.0


@pytest.fixture(autouse=True)
def cheap_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long by intent is not what is counted here."""
    monkeypatch.setitem(password._COST, "n", 2)


class Tenant:
    """A namespace with an account of its own."""

    def __init__(self, world: Simulation, namespace: str) -> None:
        self.world = world
        self.namespace = namespace
        self.account, self.key = world.new_account()

    @classmethod
    async def new(cls, world: Simulation, namespace: str) -> Tenant:
        made = cls(world, namespace)
        await world.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        await world.add_key(made.key, namespace=namespace)
        await world.add_secret("master", namespace, password=PASSWORD)
        return made

    async def multiply(self, name: str, numbers: Iterable[int]) -> None:
        """More instances that an operator has brought to rest, like the one there is."""
        first = await self.world.client.get(KIND, self.namespace, name)
        known = first["status"]["externalID"]
        for number in numbers:
            identity = f"{known[:-4]}{number:04d}"
            item = copy.deepcopy(first)
            metadata = item["metadata"]
            annotations = {**metadata["annotations"], IDENTITY: identity}
            item["metadata"] = {
                "name": f"db{number}",
                "namespace": self.namespace,
                "annotations": annotations,
                "finalizers": metadata["finalizers"],
            }
            status = item.pop("status")
            made = await self.world.client.create(item)
            database = region_of(self.account).add(
                identity,
                tags={OWNER_TAG: made["metadata"]["uid"]},
                EngineVersion="16.8",
                MasterUsername="shop",
                DBName="shop",
            )
            status |= {
                "externalID": identity,
                "arn": database.arn,
                "resourceID": database.resource_id,
                "endpoint": database.endpoint[0],
            }
            await self.world.client.patch(
                KIND, self.namespace, f"db{number}", {"status": status}, subresource="status"
            )


@pytest.mark.timeout(240)
@fast_time
async def test_a_thousand_at_rest_make_few_calls_also_when_the_operator_starts(
    *, monkeypatch: pytest.MonkeyPatch
) -> None:
    behaviour = Behaviour(timelines=Timelines.instant())
    async with Simulation(monkeypatch, behaviour) as world:
        tenants = [await Tenant.new(world, f"account-{number}") for number in range(3)]
        async with world.operator():
            for tenant in tenants:
                await world.create("db0", namespace=tenant.namespace)
                await world.until("db0", available, namespace=tenant.namespace)
        for tenant in tenants:
            await tenant.multiply("db0", range(1, 333))
        await tenants[0].multiply("db0", [333])
        made = world.rds.ledger.counts()["CreateDBInstance", "ok"]
        since = world.rds.clock.now()
        async with world.operator():
            await asyncio.sleep(6 * MINUTE)
        items = await world.client.list(KIND)
        assert len(items) == 1000
        assert all(map(available, items))
        for tenant in tenants:
            ledger, account = world.rds.ledger, tenant.account.id
            calls = ledger.calls(account=account, since=since)
            assert {call.operation for call in calls} == {"DescribeDBInstances"}
            assert {call.identifier for call in calls} == {""}, "one listing serves all"
            # A listing of 333 is four pages; at most two begin within any minute.
            assert ledger.busiest(MINUTE, account=account, since=since) <= 10
            assert 4 * 5 <= len(calls) <= 10 * 6
        assert world.rds.ledger.counts()["CreateDBInstance", "ok"] == made


@pytest.mark.timeout(240)
@fast_time
async def test_refused_credentials_of_many_do_not_flood(*, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred instances whose key is refused ask once each, and again after five minutes or more."""
    async with Simulation(monkeypatch) as world:
        tenant = await Tenant.new(world, "refused")
        tenant.key.active = False
        for number in range(200):
            await world.create(f"db{number}", namespace=tenant.namespace)
        async with world.operator():
            await asyncio.sleep(10 * MINUTE)
            refused = world.rds.ledger.calls(result="InvalidClientTokenId")
            assert len(refused) == len(world.rds.ledger)
            assert len(refused) <= 3 * 200
            tenant.key.active = True
            await world.client.wait_list(
                KIND, tenant.namespace, lambda items: all(map(available, items)), timeout=30 * MINUTE
            )
        assert len(region_of(tenant.account).databases) == 200
