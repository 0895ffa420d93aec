"""A cluster with an RDSInstance in it, RDS played by the stand-in, and what is looked at in both."""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from openclaw.api.rdsinstance import Phase
from openclaw.controllers.rds.reconciler import RDSInstanceReconciler
from openclaw.controllers.rds.settings import RDSSettings
from openclaw.kube import ConfigSource, NotFound, Transport
from openclaw.runtime import Manager
from openclaw.testing import Client, ControlPlane
from openclaw.testing.rds import READS, Behaviour, Database, RDSStandIn, Region, Stage, Timelines, WallClock
from tests.integration.reliability.managers import serving

Object = dict[str, Any]

REGION: Final = "eu-central-1"
KIND: Final = "RDSInstance"
PASSWORD: Final = "correct-horse-battery"
WAIT: Final = 60.0

_ACCOUNTS = itertools.count(100000000001)


def quick_settings(**more: Any) -> RDSSettings:
    """Intervals that suit a stand-in whose timelines take fractions of a second."""
    quick: dict[str, Any] = {
        "polls": dict.fromkeys(Phase, 0.08),
        "slow": 0.25,
        "soon": 0.05,
        "settle": 0.2,
        "visible": 2.0,
        "jitter": 0.0,
    }
    return RDSSettings(**quick | more)


def quick_timelines(**more: tuple[Stage, ...]) -> Timelines:
    """Each stage takes a fraction of a second."""
    stages: dict[str, Any] = {
        "create": (Stage("creating", 0.12), Stage("backing-up", 0.08)),
        "modify": (Stage("available", 0.05), Stage("modifying", 0.15)),
        "upgrade": (Stage("available", 0.05), Stage("upgrading", 0.2)),
        "password": (Stage("available", 0.05), Stage("resetting-master-credentials", 0.15)),
        "storage": (Stage("storage-optimization", 0.15),),
        "delete": (Stage("deleting", 0.15),),
    }
    return Timelines(**stages | more)


class World:
    """One namespace, one account of its own.

    Attributes:
        rds: the stand-in.
        region: where this world's databases are.
        key: with which the operator calls.
    """

    def __init__(self, plane: ControlPlane, client: Client, namespace: str, rds: RDSStandIn) -> None:
        self.plane = plane
        self.client = client
        self.namespace = namespace
        self.rds = rds
        number = str(next(_ACCOUNTS))
        self.account = rds.account(number, Behaviour(timelines=quick_timelines()))
        self.region: Region = self.account.region(REGION)
        self.key = rds.new_key(number)

    # What is in the cluster

    async def add_secret(self, name: str, **content: str) -> None:
        metadata = {"name": name, "namespace": self.namespace}
        await self.client.apply(
            {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": content}
        )

    async def add_credentials(self) -> None:
        await self.add_secret("aws", AWS_ACCESS_KEY_ID=self.key.id, AWS_SECRET_ACCESS_KEY=self.key.secret)

    async def add_secrets(self) -> None:
        await self.add_credentials()
        await self.add_secret("master", password=PASSWORD)

    def body(self, name: str = "orders", *, annotations: Any = None, **spec: Any) -> Object:
        """An RDSInstance; `spec` in addition to what it must have, None takes a field out."""
        whole = {
            "region": REGION,
            "credentialsSecretRef": {"name": "aws"},
            "engine": "postgres",
            "engineVersion": "16.8",
            "dbInstanceClass": "db.t3.micro",
            "allocatedStorage": 20,
            "masterUsername": "shop",
            "masterPasswordSecretRef": {"name": "master", "key": "password"},
            "dbName": "shop",
            "applyImmediately": True,
        } | spec
        return {
            "apiVersion": "database.openclaw.dev/v1alpha1",
            "kind": KIND,
            "metadata": {"name": name, "namespace": self.namespace, "annotations": annotations or {}},
            "spec": {field: value for field, value in whole.items() if value is not None},
        }

    async def create(self, name: str = "orders", *, annotations: Any = None, **spec: Any) -> Object:
        return await self.client.create(self.body(name, annotations=annotations, **spec))

    async def change(self, name: str = "orders", **spec: Any) -> None:
        await self.client.patch(KIND, self.namespace, name, {"spec": spec})

    async def annotate(self, name: str = "orders", **annotations: str | None) -> None:
        """Annotations by their last part: `paused`, `reconcile_now`; `adopt` and `orphan` are the type's."""
        groups = {"adopt": "database.openclaw.dev", "orphan": "database.openclaw.dev"}
        change = {
            f"{groups.get(key, 'openclaw.dev')}/{key.replace('_', '-')}": value
            for key, value in annotations.items()
        }
        await self.client.patch(KIND, self.namespace, name, {"metadata": {"annotations": change}})

    async def delete(self, name: str = "orders") -> None:
        await self.client.delete(KIND, self.namespace, name)

    async def get(self, name: str = "orders") -> Object:
        return await self.client.get(KIND, self.namespace, name)

    async def until(
        self, condition: Callable[[Object], Any], name: str = "orders", timeout: float = WAIT
    ) -> Object:
        return await self.client.wait_for(KIND, self.namespace, name, condition, timeout)

    async def available(self, name: str = "orders", timeout: float = WAIT) -> Object:
        """Wait until it is available and in sync, said of the present generation."""
        return await self.until(in_sync, name, timeout)

    async def gone(self, name: str = "orders", timeout: float = WAIT) -> None:
        await self.client.wait_gone(KIND, self.namespace, name, timeout)

    async def connection(self, name: str = "orders") -> dict[str, str]:
        """The connection Secret's content; LookupError when there is none."""
        try:
            found = await self.client.get("Secret", self.namespace, f"{name}-connection")
        except NotFound as error:
            raise LookupError(str(error)) from error
        return {key: base64.b64decode(value).decode() for key, value in found["data"].items()}

    async def events(self, name: str = "orders") -> list[Object]:
        found = await self.client.list("events.events.k8s.io", self.namespace)
        return [it for it in found if it["regarding"].get("name") == name]

    # What is in RDS

    @property
    def database(self) -> Database:
        """The only database."""
        (found,) = self.region.databases
        return found

    def calls(self, operation: str | None = None, **conditions: Any) -> int:
        return len(self.rds.ledger.calls(operation, account=self.account.id, **conditions))

    def writes(self) -> list[str]:
        """What had an effect in RDS, in order."""
        calls = self.rds.ledger.calls(account=self.account.id)
        return [call.operation for call in calls if call.effect and call.operation not in READS]

    async def told(self, name: str = "orders") -> str:
        """What a test that fails has to say: the calls, the object's status, its events."""
        calls = map(str, self.rds.ledger.calls(account=self.account.id))
        events = (f"{it['reason']}: {it.get('note')}" for it in await self.events(name))
        return "\n".join([*calls, str((await self.get(name)).get("status")), *events])

    # The operator

    @asynccontextmanager
    async def operator(
        self,
        *,
        settings: RDSSettings | None = None,
        transport: Transport | None = None,
        synced: bool = True,
        **options: Any,
    ) -> AsyncIterator[Manager]:
        """The operator within the test, for this namespace; cut off at the end."""
        reconciler = RDSInstanceReconciler(settings or quick_settings(), **options)
        if transport is not None:
            async with serving(
                reconciler, transport=transport, namespace=self.namespace, synced=synced
            ) as manager:
                yield manager
            return
        async with (
            Transport(ConfigSource(self.plane.kubeconfig), user_agent="openclaw") as own,
            serving(reconciler, transport=own, namespace=self.namespace, synced=synced) as manager,
        ):
            yield manager


def condition(item: Object, kind: str) -> Object:
    """One condition; empty when there is none."""
    for found in item.get("status", {}).get("conditions", ()):
        if found["type"] == kind:
            return dict(found)
    return {}


def is_(item: Object, kind: str, status: str = "True") -> bool:
    return condition(item, kind).get("status") == status


def in_sync(item: Object) -> bool:
    status = item.get("status", {})
    return (
        status.get("phase") == "Available"
        and status.get("observedGeneration") == item["metadata"]["generation"]
        and all(is_(item, kind) for kind in ("Available", "Synced"))
    )


def phase(name: str) -> Callable[[Object], bool]:
    return lambda item: item["status"]["phase"] == name


def degraded(reason: str) -> Callable[[Object], bool]:
    return lambda item: is_(item, "Degraded") and condition(item, "Degraded")["reason"] == reason


def failed_runs(manager: Manager) -> int:
    """How many runs have ended in an error or a conflict."""
    registry, name = manager.metrics.registry, "controller_runtime_reconcile_total"
    failed = 0
    for result in ("error", "requeue"):
        value = registry.get_sample_value(name, {"controller": "rdsinstances", "result": result})
        assert value is not None, f"{name} is told from the first"
        failed += int(value)
    return failed


async def quiet(world: World, seconds: float = 0.5, *, interval: float = 0.05) -> None:
    """Wait until the world's account was not called with an effect for a while."""
    count, left = len(world.writes()), seconds
    while left > 0:
        await asyncio.sleep(interval)
        now = len(world.writes())
        left = seconds if now != count else left - interval
        count = now


def standin() -> RDSStandIn:
    """RDS, on the machine's clock."""
    return RDSStandIn(clock=WallClock(), behaviour=Behaviour(timelines=quick_timelines()))
