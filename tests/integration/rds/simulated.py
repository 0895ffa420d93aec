"""A world in virtual time: the embedded cluster, the real runtime and controller, and an RDS that is slow."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Self

import pytest

from openclaw.api.rdsinstance import RDSInstance
from openclaw.controllers.rds.reconciler import RDSInstanceReconciler
from openclaw.controllers.rds.settings import RDSSettings
from openclaw.runtime import Manager, Options
from openclaw.testing import Client
from openclaw.testing.cluster.cluster import FakeCluster
from openclaw.testing.rds import READS, AccessKey, Account, Behaviour, RDSStandIn, Region, WallClock

Object = dict[str, Any]

NAMESPACE: Final = "default"
REGION: Final = "eu-central-1"
KIND: Final = "RDSInstance"
PASSWORD: Final = "correct-horse-battery"
AGENT: Final = "openclaw"
_ACCOUNTS = itertools.count(200000000001)


class Simulation:
    """Use as an async context manager on a `FastLoop`.

    Attributes:
        cluster: the API server.
        rds: the stand-in, on the loop's clock, with RDS' own timelines.
        client: the user's.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, behaviour: Behaviour | None = None) -> None:
        self._monkeypatch = monkeypatch
        loop = asyncio.get_running_loop()
        self.rds = RDSStandIn(clock=WallClock(source=loop.time), behaviour=behaviour)
        self.cluster = FakeCluster(crds=[RDSInstance], controllers=True)
        self.client: Client = None  # type: ignore[assignment]  # set in __aenter__

    async def __aenter__(self) -> Self:
        await self.rds.start()
        for service in ("RDS", "STS"):
            self._monkeypatch.setenv(f"AWS_ENDPOINT_URL_{service}", self.rds.url)
        await self.cluster.start()
        self.client = self.cluster.client()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cluster.stop()
        await self.rds.stop()

    # Accounts and objects

    def new_account(self) -> tuple[Account, AccessKey]:
        account = self.rds.account(str(next(_ACCOUNTS)))
        return account, self.rds.new_key(account.id)

    async def add_secret(self, name: str, namespace: str = NAMESPACE, **content: str) -> None:
        metadata = {"name": name, "namespace": namespace}
        await self.client.apply(
            {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": content}
        )

    async def add_key(self, key: AccessKey, name: str = "aws", namespace: str = NAMESPACE) -> None:
        await self.add_secret(name, namespace, AWS_ACCESS_KEY_ID=key.id, AWS_SECRET_ACCESS_KEY=key.secret)

    async def create(
        self, name: str, *, namespace: str = NAMESPACE, credentials: str = "aws", **spec: Any
    ) -> Object:
        return await self.client.create(
            {
                "apiVersion": "database.openclaw.dev/v1alpha1",
                "kind": KIND,
                "metadata": {"name": name, "namespace": namespace},
                "spec": {
                    "region": REGION,
                    "credentialsSecretRef": {"name": credentials},
                    "engine": "postgres",
                    "engineVersion": "16.8",
                    "dbInstanceClass": "db.t3.micro",
                    "allocatedStorage": 20,
                    "masterUsername": "shop",
                    "masterPasswordSecretRef": {"name": "master", "key": "password"},
                    "dbName": "shop",
                    "applyImmediately": True,
                    **spec,
                },
            }
        )

    async def until(
        self,
        name: str,
        condition: Callable[[Object], Any],
        *,
        namespace: str = NAMESPACE,
        timeout: float = 7200,
    ) -> Object:
        """Wait for an object's state; `timeout` in virtual seconds."""
        return await self.client.wait_for(KIND, namespace, name, condition, timeout)

    # The operator

    @asynccontextmanager
    async def operator(self, settings: RDSSettings | None = None, **options: Any) -> AsyncIterator[Manager]:
        """The operator with its shipped settings; killed at the end, wherever it is."""
        reconciler = RDSInstanceReconciler(settings or RDSSettings(), clock=self.cluster.clock.date)
        manager = Manager(
            reconciler,
            options=Options(**options),
            transport=self.cluster.transport(user_agent=AGENT),
        )
        task = asyncio.create_task(manager.serve(), name="operator")
        try:
            yield manager
        finally:
            while not task.done():
                task.cancel()
                await asyncio.wait([task], timeout=1)
            with suppress(asyncio.CancelledError):
                task.result()

    def writes(self, account: Account) -> list[str]:
        """What had an effect in RDS, in order."""
        calls = self.rds.ledger.calls(account=account.id)
        return [call.operation for call in calls if call.effect and call.operation not in READS]


def region_of(account: Account) -> Region:
    return account.region(REGION)


def available(item: Object) -> bool:
    status = item.get("status", {})
    conditions = {it["type"]: it["status"] for it in status.get("conditions", ())}
    return (
        status.get("phase") == "Available"
        and status.get("observedGeneration") == item["metadata"]["generation"]
        and conditions.get("Available") == conditions.get("Synced") == "True"
    )
