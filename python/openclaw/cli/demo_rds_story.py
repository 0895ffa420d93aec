"""The story of the RDS demo: declare, watch it come up, grow it, repair a drift, lose the key, delete."""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections import Counter
from collections.abc import Callable
from typing import Any

from openclaw.api.builtin import Secret
from openclaw.api.rdsinstance import RDSInstance
from openclaw.cli.demo_cluster import DemoCluster, DemoFailure
from openclaw.cli.demo_rds_view import RDSView
from openclaw.cli.demo_screen import Screen
from openclaw.testing.rds import READS, Behaviour, Ledger, RDSStandIn, Region, Timelines, WallClock

__all__ = ["DemoFailure", "tell"]

_POLL_SECONDS = 0.1
_SPEED = 60.0
_NAMESPACE = "shop"
_NAME = "orders"
_REGION = "eu-central-1"
_KIND = RDSInstance.resource
# RDS takes minutes for what the stand-in does in seconds, so the operator looks as much more often.
_POLLS = {f"OPENCLAW_RDS_POLL_{phase}": "500ms" for phase in ("CREATING", "MODIFYING", "DELETING", "PENDING")}
_ENVIRONMENT = _POLLS | {
    "OPENCLAW_RDS_POLL_AVAILABLE": "1s",
    "OPENCLAW_RDS_POLL_SLOW": "1s",
    "OPENCLAW_RDS_SETTLE": "1s",
    "OPENCLAW_RDS_VISIBLE": "1s",
}
_NAMESPACE_YAML = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {_NAMESPACE}}}"
_INSTANCE = f"""
apiVersion: database.openclaw.dev/v1alpha1
kind: RDSInstance
metadata: {{name: {_NAME}, namespace: {_NAMESPACE}}}
spec:
  region: {_REGION}
  credentialsSecretRef: {{name: aws}}
  engine: postgres
  engineVersion: "16.8"
  dbInstanceClass: db.t4g.small
  allocatedStorage: 20
  masterUsername: shop
  masterPasswordSecretRef: {{name: {_NAME}-master, key: password}}
  dbName: shop
  applyImmediately: true
  tags: {{team: shop}}
"""


async def tell(*, keep: bool, timeout: float) -> None:
    """Run the demo.

    Raises:
        DemoFailure: something did not come about within `timeout` seconds.
    """
    clock = WallClock(_SPEED)
    behaviour = Behaviour(timelines=Timelines())
    with Screen(RDSView()) as screen:
        screen.step("Starting etcd, kube-apiserver and kube-controller-manager, and a stand-in for RDS")
        async with (
            RDSStandIn(clock=clock, behaviour=behaviour) as rds,
            DemoCluster.running(nodes=0) as cluster,
        ):
            story = _Story(cluster, screen, rds, timeout)
            await story.run()
            screen.step("Done: the database lived its life, and nothing is left but its snapshot")
            if keep:
                await story.keep()


class _Story:
    def __init__(self, cluster: DemoCluster, screen: Screen, rds: RDSStandIn, timeout: float) -> None:
        self.cluster = cluster
        self.screen = screen
        self.rds = rds
        self.timeout = timeout
        self.password = secrets.token_urlsafe(18)
        self._events_seen: set[tuple[str, int]] = set()

    @property
    def region(self) -> Region:
        return self.rds.account().region(_REGION)

    async def run(self) -> None:
        cluster, screen = self.cluster, self.screen
        screen.note(
            f"ready at {cluster.plane.url}, with the CRDs and the operator's generated role installed"
        )
        screen.note(f"RDS is played at {self.rds.url}; its clock runs {_SPEED:g} times as fast as yours")
        screen.step("Starting the operator: `openclaw run`, under its service account")
        endpoints = {f"AWS_ENDPOINT_URL_{name}": self.rds.url for name in ("RDS", "STS")}
        await cluster.start_operator(_ENVIRONMENT | endpoints)

        await self.create()
        await self.grow()
        await self.drift()
        await self.revoke()
        await self.delete()
        await self.summary()

    async def create(self) -> None:
        cluster, screen = self.cluster, self.screen
        screen.step(
            f"Creating a Secret with AWS credentials, one with the master password, and RDSInstance {_NAME}"
        )
        self.key = self.rds.new_key()
        await cluster.apply_text(_NAMESPACE_YAML)
        await cluster.create(
            _secret("aws", AWS_ACCESS_KEY_ID=self.key.id, AWS_SECRET_ACCESS_KEY=self.key.secret)
        )
        await cluster.create(_secret(f"{_NAME}-master", password=self.password))
        await cluster.apply_text(_INSTANCE)
        item = await self.until("it is available", _available(storage=20))
        name = item["status"]["connectionSecret"]
        found = await self.secret(name)
        screen.note(f"Secret {name} has {', '.join(sorted(found))}; endpoint {found['endpoint']}")
        self.check(found["password"] == self.password, "the connection Secret has the master password")

    async def grow(self) -> None:
        self.screen.step("Changing the spec: 40 GiB of storage")
        await self.cluster.patch(_KIND, _NAMESPACE, _NAME, {"spec": {"allocatedStorage": 40}})
        await self.until("RDS is at work on it", _phase("Modifying"))
        await self.until("it has grown", _available(storage=40))

    async def drift(self) -> None:
        self.screen.step("Somebody changes the class to db.m7g.large in the AWS console")
        self.region.change(self.identifier, DBInstanceClass="db.m7g.large")
        await self.until("the drift is seen and mended", _phase("Modifying"))
        await self.until("it is as the spec asks", _available(storage=40))
        database = self.region.database(self.identifier)
        instance_class = database.values["DBInstanceClass"] if database else "nothing"
        self.check(instance_class == "db.t4g.small", f"RDS has class {instance_class} again")

    async def revoke(self) -> None:
        self.screen.step("Revoking the access key, then restoring it")
        self.key.active = False
        item = await self.until("the object says that its credentials are refused", _degraded("Unauthorised"))
        self.screen.note(f"Degraded: {_condition(item, 'Degraded')['message']}")
        self.key.active = True
        await self.until("it has recovered by itself", _available(storage=40))

    async def delete(self) -> None:
        self.screen.step(f"Deleting RDSInstance {_NAME}; its deletionPolicy is Snapshot")
        await self.cluster.delete(_KIND, _NAMESPACE, _NAME)
        await self.until("its object and its instance are gone", lambda items: not items, anything=True)
        self.check(not self.region.databases, "no database is left in RDS")
        snapshots = {snapshot.identifier: snapshot.status for snapshot in self.region.snapshots}
        self.check(list(snapshots.values()) == ["available"], f"final snapshots in RDS: {snapshots}")

    async def summary(self) -> None:
        screen, ledger = self.screen, self.rds.ledger
        await self.cluster.stop_operator()
        screen.step("What the operator asked of RDS, from the stand-in's ledger")
        for line in _counted(ledger):
            screen.note(line)
        writes = [call for call in ledger if call.operation not in READS and call.effect]
        screen.note(f"{len(ledger)} calls, {len(writes)} of them changed something: {_told(writes)}")
        screen.step("What the operator asked of the API server, from its audit log")
        counts = await self.cluster.operator_requests()
        for request, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            screen.note(f"{count:4d}  {request}")
        log = self.cluster.operator_log.read_text(errors="replace")
        events = str(await self.cluster.events(_KIND))
        self.check(
            self.password not in log + events and self.key.secret not in log + events,
            "neither the password nor the key's secret is in the operator's log or events",
        )

    @property
    def identifier(self) -> str:
        (database,) = self.region.databases
        return database.identifier

    def check(self, holds: bool, what: str) -> None:  # noqa: FBT001
        """Say what holds.

        Raises:
            DemoFailure: it does not.
        """
        if not holds:
            raise DemoFailure(f"this does not hold: {what}\n{self.cluster.log_tail()}")
        self.screen.note(what)

    async def secret(self, name: str) -> dict[str, str]:
        """The content of a Secret."""
        (item,) = await self.cluster.items(Secret.resource, _NAMESPACE, fieldSelector=f"metadata.name={name}")
        return {key: base64.b64decode(value).decode() for key, value in item["data"].items()}

    async def until(
        self, goal: str, reached: Callable[[Any], bool], *, anything: bool = False
    ) -> dict[str, Any]:
        """Show the object until `reached` says so of it (with `anything`, of the list of all)."""
        items: list[dict[str, Any]] = []
        try:
            async with asyncio.timeout(self.timeout):
                while True:
                    items = await self.look()
                    if reached(items) if anything else any(map(reached, items)):
                        self.screen.note(goal)
                        return items[0] if items else {}
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            states = [str(item.get("status")) for item in items]
            raise DemoFailure(
                f"not within {self.timeout:g} s: {goal}\n{states}\nthe operator's log ends with:\n"
                f"{self.cluster.log_tail()}"
            ) from None

    async def look(self) -> list[dict[str, Any]]:
        """Show objects and new events."""
        self.cluster.check_operator()
        for event in await self.cluster.events(_KIND):
            key = (event["metadata"]["name"], (event.get("series") or {}).get("count", 1))
            if key not in self._events_seen:
                self._events_seen.add(key)
                self.screen.event(f"{event['type']} {event['reason']}: {event['note']}")
        items = await self.cluster.items(_KIND)
        self.screen.show(items)
        return items

    async def keep(self) -> None:
        """Stay up until Ctrl-C."""
        screen = self.screen
        endpoints = {f"AWS_ENDPOINT_URL_{name}": self.rds.url for name in ("RDS", "STS")}
        await self.cluster.start_operator(_ENVIRONMENT | endpoints)
        screen.step("Everything stays up until Ctrl-C. In another terminal:")
        for line in (
            f"export KUBECONFIG={self.cluster.plane.kubeconfig}",
            f"kubectl get rdsinstances -A; tail -f {self.cluster.operator_log}",
            f"export AWS_ENDPOINT_URL={self.rds.url} AWS_DEFAULT_REGION={_REGION}",
            f"export AWS_ACCESS_KEY_ID={self.key.id} AWS_SECRET_ACCESS_KEY={self.key.secret}",
            "aws rds describe-db-snapshots",
        ):
            screen.note(line)
        try:
            while True:
                await self.look()
                await asyncio.sleep(_POLL_SECONDS * 5)
        except asyncio.CancelledError:
            pass


def _secret(name: str, **content: str) -> Secret:
    return Secret(name=name, namespace=_NAMESPACE, stringData=content)


def _condition(item: dict[str, Any], kind: str) -> dict[str, Any]:
    for found in (item.get("status") or {}).get("conditions") or ():
        if found["type"] == kind:
            return dict(found)
    return {}


def _available(*, storage: int) -> Callable[[dict[str, Any]], bool]:
    def reached(item: dict[str, Any]) -> bool:
        status = item.get("status") or {}
        return (
            status.get("phase") == "Available"
            and status.get("observedGeneration") == item["metadata"]["generation"]
            and (status.get("observed") or {}).get("allocatedStorage") == storage
            and all(_condition(item, kind).get("status") == "True" for kind in ("Available", "Synced"))
        )

    return reached


def _phase(name: str) -> Callable[[dict[str, Any]], bool]:
    return lambda item: (item.get("status") or {}).get("phase") == name


def _degraded(reason: str) -> Callable[[dict[str, Any]], bool]:
    def reached(item: dict[str, Any]) -> bool:
        found = _condition(item, "Degraded")
        return found.get("status") == "True" and found.get("reason") == reason

    return reached


def _counted(ledger: Ledger) -> list[str]:
    counts = sorted(ledger.counts().items(), key=lambda item: (-item[1], item[0]))
    return [f"{count:4d}  {operation} {result}" for (operation, result), count in counts]


def _told(calls: list[Any]) -> str:
    counts = Counter(call.operation for call in calls)
    return ", ".join(f"{count} {operation}" for operation, count in counts.items())
