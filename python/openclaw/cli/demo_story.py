"""The demo's story: declare, converge, change, break, lose a shard, repair, delete."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from openclaw._core import slot
from openclaw.api.builtin import ResourceQuota
from openclaw.api.openclaw import OpenClaw
from openclaw.api.rdsinstance import RDSInstance
from openclaw.cli.demo_cluster import DEPLOYMENTS, DemoCluster, DemoFailure
from openclaw.cli.demo_database import DemoDatabase
from openclaw.cli.demo_screen import Screen
from openclaw.cli.demo_view import ClawView
from openclaw.cli.errors import CommandError
from openclaw.cli.shards_command import render
from openclaw.controllers import missing_extras
from openclaw.kube import Unreachable
from openclaw.sharding.overview import Overview

__all__ = ["DemoFailure", "tell"]

_POLL_SECONDS = 0.2
_SHARDS_SECONDS = 1.0
_NAMESPACE = "shop"
_CHANGED = "storefront"
_DELETED = "minimal"
_SHARDS = ("openclaw-0", "openclaw-1", "openclaw-2")
_FLEET = 24
_FLEET_NAMESPACE = "fleet"


async def tell(samples: Path, *, keep: bool, timeout: float, in_memory: bool = True) -> None:
    """Run the demo.

    Args:
        samples: the folder of objects that are applied.
        keep: stay up at the end.
        timeout: seconds that each step may take.
        in_memory: on the embedded cluster instead of a real control plane.

    Raises:
        DemoFailure: something did not converge within `timeout` seconds.
    """
    with Screen(ClawView()) as screen:
        screen.step(
            "Starting a Kubernetes API in memory, in a process of its own"
            if in_memory
            else "Starting etcd, kube-apiserver, kube-controller-manager, kube-scheduler and two nodes"
        )
        async with (
            DemoCluster.running(in_memory=in_memory) as cluster,
            DemoDatabase.running() as database,
        ):
            story = _Story(cluster, screen, samples, timeout, database)
            await story.run()
            screen.step("Done: everything converged")
            if keep:
                await story.keep()


def fleet() -> str:
    """Small OpenClaws, enough of them that each shard gets some."""
    documents = [f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {_FLEET_NAMESPACE}}}"]
    documents += [
        f"""
apiVersion: apps.openclaw.dev/v1alpha1
kind: OpenClaw
metadata: {{name: claw-{number:02}, namespace: {_FLEET_NAMESPACE}}}
spec:
  frontend: {{image: "registry.example.com/fleet/web:1.0", replicas: 1}}
  worker: {{image: "registry.example.com/fleet/worker:1.0", replicas: 1, queue: "amqp://queue.fleet:5672/{number}"}}
"""
        for number in range(_FLEET)
    ]
    return "\n---\n".join(documents)


class _Story:
    def __init__(
        self,
        cluster: DemoCluster,
        screen: Screen,
        samples: Path,
        timeout: float,
        database: DemoDatabase,
    ) -> None:
        self.cluster = cluster
        self.database = database
        self.screen = screen
        self.samples = samples
        self.timeout = timeout
        self._events_seen: set[tuple[str, int]] = set()
        self._shards_seen = 0.0

    async def run(self) -> None:
        cluster, screen = self.cluster, self.screen
        screen.note(f"ready at {cluster.plane.url}, with the CRD and the operator's generated role installed")
        screen.step(f"Starting the operator as {len(_SHARDS)} processes: `openclaw run --shard NAME`")
        environment = self.database.environment
        await asyncio.gather(*(cluster.start_shard(name, environment) for name in _SHARDS))
        await self.until_shared_out(len(_SHARDS))

        screen.step(f"Applying the samples of {self.samples}")
        for file in sorted(self.samples.glob("*.yaml")):
            screen.note(f"{file.name}: {', '.join(await cluster.apply_text(file.read_text()))}")
        await self.until("all samples are available", _all_settled)
        for claw in await cluster.claws():
            name = claw["metadata"]["name"]
            children = await cluster.children(name, _NAMESPACE)
            parts = [
                f"{kind} {' '.join(names)}"
                for kind, names in children.items()
                if kind not in {"Pod", "ReplicaSet"}
            ]
            screen.note(f"{name} became {', '.join(parts)}, {len(children.get('Pod', []))} pods")

        await self.declare_database()

        screen.step(f"Declaring {_FLEET} more in namespace {_FLEET_NAMESPACE}: each shard takes its share")
        await cluster.apply_text(fleet())
        await self.until("all of them are available", _all_settled)
        await self.until_shared_out(len(_SHARDS), objects=len(await cluster.claws()))

        screen.step(f"Changing {_CHANGED}: 5 workers and a new image for the front end")
        spec = {"frontend": {"image": "registry.example.com/shop/web:1.5"}, "worker": {"replicas": 5}}
        await cluster.patch(OpenClaw.resource, _NAMESPACE, _CHANGED, {"spec": spec})
        await self.until(f"{_CHANGED} is rolled out", _settled(_CHANGED, worker=5))

        screen.step(f"Scaling Deployment {_CHANGED}-worker to 1 behind the operator's back")
        await cluster.patch(DEPLOYMENTS, _NAMESPACE, f"{_CHANGED}-worker", {"spec": {"replicas": 1}})
        await self.until_replicas(f"{_CHANGED}-worker", 5)
        await self.until("the drift is put right", _settled(_CHANGED, worker=5))

        await self.degrade()
        await self.lose_a_shard()

        screen.step(f"Deleting {_DELETED}")
        await cluster.delete(OpenClaw.resource, _NAMESPACE, _DELETED)
        await self.until_gone(_DELETED)

        await self.summary()

    async def degrade(self) -> None:
        """A quota that leaves no room: the object must say so, in the server's words, and recover."""
        cluster, screen = self.cluster, self.screen
        screen.step(f"Setting a quota of 10 pods, and asking for 9 front ends in {_CHANGED}")
        quota = ResourceQuota(name="small", namespace=_NAMESPACE, spec={"hard": {"pods": "10"}})
        await cluster.create(quota)
        await cluster.patch(OpenClaw.resource, _NAMESPACE, _CHANGED, {"spec": {"frontend": {"replicas": 9}}})
        await self.until(f"{_CHANGED} says that it is degraded", _degraded(_CHANGED))
        for claw in await cluster.claws():
            if claw["metadata"]["name"] == _CHANGED:
                screen.note(f"Degraded: {_condition(claw, 'Degraded').get('message')}")
        screen.step("Asking for 2 front ends again, and removing the quota")
        await cluster.delete(ResourceQuota.resource, _NAMESPACE, "small")
        await cluster.patch(OpenClaw.resource, _NAMESPACE, _CHANGED, {"spec": {"frontend": {"replicas": 2}}})
        await self.until(f"{_CHANGED} has recovered", _settled(_CHANGED, worker=5))

    async def declare_database(self) -> None:
        """The other operator: an RDSInstance, against a stand-in for RDS."""
        missing = {reconciler.root: extra for reconciler, extra in missing_extras().items()}
        if RDSInstance in missing:
            self.screen.step(f"No RDSInstance: openclaw[{missing[RDSInstance]}] is not installed")
            return
        sample = self.samples.parent / "rdsinstance" / "minimal.yaml"
        self.screen.step(f"Applying {sample}: a database outside of the cluster, RDS played on this machine")
        name = await self.database.declare(self.cluster, sample)
        said = ""
        try:
            async with asyncio.timeout(self.timeout):
                while True:
                    await self.look()
                    item = await self.database.found(self.cluster, name)
                    if (line := self.database.line(item)) != said:
                        said = line
                        self.screen.note(f"{name}: {said}")
                    if self.database.is_available(item):
                        return
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            raise DemoFailure(
                f"not within {self.timeout:g} s: RDSInstance {name} is available; it is {said}\n"
                f"{self.cluster.log_tail()}"
            ) from None

    async def lose_a_shard(self) -> None:
        """SIGKILL to the shard that acts on an object: another takes it over, and follows a change."""
        cluster, screen = self.cluster, self.screen
        claw = next(one for one in await cluster.claws() if one["metadata"]["name"] == _CHANGED)
        number = slot(claw["metadata"]["uid"])
        [before] = [shard.name for shard in (await cluster.shards()).actors(number)]
        screen.step(f"Killing {before} (SIGKILL): it acts on {_CHANGED}, slot {number}")
        began = time.monotonic()
        await cluster.kill(before)
        await cluster.patch(OpenClaw.resource, _NAMESPACE, _CHANGED, {"spec": {"worker": {"replicas": 6}}})
        screen.note(f"{_CHANGED} asks for 6 workers now; until the Lease of {before} is void, nobody may act")
        await self.until(f"{_CHANGED} has 6 workers", _settled(_CHANGED, worker=6))
        took = time.monotonic() - began
        [after] = [shard.name for shard in (await cluster.shards()).actors(number)]
        screen.note(f"{after} took over: {took:.0f} s from the kill to 6 ready workers")
        await self.until_shared_out(len(_SHARDS) - 1)

    async def until_shared_out(self, live: int, objects: int = 0) -> None:
        """Wait until so many shards act on all slots between them, and say that these have so many objects.

        A shard tells of its objects when it next renews its Lease.
        """
        said = "no shard has a Lease yet"
        try:
            async with asyncio.timeout(self.timeout):
                while True:
                    await self.look()
                    shards = await self._shards_if_any()
                    if shards is not None:
                        said = render(shards, datetime.now(UTC))
                        running = sum(shard.live and bool(shard.acts) for shard in shards.shards)
                        told = sum(shard.objects or 0 for shard in shards.shards if shard.live)
                        whole = not shards.unowned and not shards.contested
                        if running == live and whole and told >= objects:
                            break
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            raise DemoFailure(
                f"not within {self.timeout:g} s: {live} shards act on all slots\n{said}\n"
                f"{self.cluster.log_tail()}"
            ) from None
        await self.show_shards()

    async def _shards_if_any(self) -> Overview | None:
        try:
            return await self.cluster.shards()
        except CommandError:
            return None

    async def show_shards(self) -> None:
        """As `openclaw shards` shows them."""
        for line in render(await self.cluster.shards(), datetime.now(UTC)).splitlines():
            self.screen.note(line)

    async def summary(self) -> None:
        claws = await self.cluster.claws()
        shards = await self.cluster.shards()
        self._shards_seen = 0.0
        await self.look()
        self.screen.step("In the end")
        live = sum(shard.live for shard in shards.shards)
        self.screen.note(
            f"{len(claws)} OpenClaws, {sum(map(_is_settled, claws))} of them available and settled; "
            f"{live} shards of {len(_SHARDS)}, one was killed; "
            f"slots unowned {len(shards.unowned)}, contested {len(shards.contested)}"
        )
        self.screen.step("What the operator asked of the API server, from its audit log")
        counts = await self.cluster.operator_requests()
        for request, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            self.screen.note(f"{count:4d}  {request}")

    async def until(self, goal: str, reached: Callable[[list[dict[str, Any]]], bool]) -> None:
        """Show the objects until `reached` says so of them."""
        try:
            async with asyncio.timeout(self.timeout):
                while True:
                    claws = await self.look()
                    if reached(claws):
                        self.screen.note(f"{goal}")
                        return
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            states = "\n".join(f"  {_explain(claw)}" for claw in await self.cluster.claws())
            raise DemoFailure(
                f"not within {self.timeout:g} s: {goal}\n{states}\nthe operator's log ends with:\n"
                f"{self.cluster.log_tail()}"
            ) from None

    async def until_replicas(self, deployment: str, replicas: int) -> None:
        """Wait until the operator has put a Deployment's replicas right."""
        now = -1
        try:
            async with asyncio.timeout(self.timeout):
                while (now := await self.cluster.replicas(_NAMESPACE, deployment)) != replicas:
                    await self.look()
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            raise DemoFailure(
                f"not within {self.timeout:g} s: {deployment} has {now} replicas again"
            ) from None

    async def until_gone(self, name: str) -> None:
        """Wait until nothing of the object is left."""
        left: dict[str, list[str]] = {}
        try:
            async with asyncio.timeout(self.timeout):
                while left := await self.cluster.children(name, _NAMESPACE):
                    await self.look()
                    await asyncio.sleep(_POLL_SECONDS)
                await self.look()
                self.screen.note("its Deployments, Services, ReplicaSets and Pods are gone")
        except TimeoutError:
            raise DemoFailure(f"not within {self.timeout:g} s: {name} is gone; left are {left}") from None

    async def look(self) -> list[dict[str, Any]]:
        """Show objects and new events."""
        self.cluster.check_operator()
        with contextlib.suppress(Unreachable):
            for event in await self.cluster.events():
                if event["metadata"]["namespace"] != _NAMESPACE:
                    continue
                key = (event["metadata"]["name"], (event.get("series") or {}).get("count", 1))
                if key not in self._events_seen:
                    self._events_seen.add(key)
                    regarding = event["regarding"]
                    where = f"{regarding['namespace']}/{regarding['name']}"
                    self.screen.event(f"{event['type']} {event['reason']} {where}: {event['note']}")
        await self._look_at_shards()
        claws = await self.cluster.claws()
        self.screen.show([claw for claw in claws if claw["metadata"]["namespace"] == _NAMESPACE])
        return claws

    async def _look_at_shards(self) -> None:
        now = time.monotonic()
        if now - self._shards_seen >= _SHARDS_SECONDS:
            self._shards_seen = now
            shards = await self._shards_if_any()
            if shards is not None:
                told = render(shards, datetime.now(UTC)).splitlines()
                # What is wrong meanwhile is told by the counts; which slots these are is too much here.
                table = [line for line in told if not line.startswith("! slots")]
                self.screen.below("\n".join(["openclaw shards", *table]))

    async def keep(self) -> None:
        """Stay up until Ctrl-C."""
        kubeconfig = self.cluster.plane.kubeconfig
        self.screen.step("Everything stays up until Ctrl-C. In another terminal:")
        for line in (
            f"export KUBECONFIG={kubeconfig}",
            "kubectl get openclaws -A",
            f"kubectl describe openclaw -n {_NAMESPACE} {_CHANGED}",
            "openclaw shards",
            f"tail -f {self.cluster.folder}/*.log",
        ):
            self.screen.note(line)
        with contextlib.suppress(asyncio.CancelledError):
            while True:
                await self.look()
                await asyncio.sleep(_POLL_SECONDS * 5)


def _condition(claw: dict[str, Any], kind: str) -> dict[str, Any]:
    for item in (claw.get("status") or {}).get("conditions") or ():
        if item["type"] == kind:
            found: dict[str, Any] = item
            return found
    return {}


def _is_settled(claw: dict[str, Any]) -> bool:
    """Available, nothing in progress, not degraded; said of the current generation."""
    generation = claw["metadata"]["generation"]
    wanted = {"Available": "True", "Progressing": "False", "Degraded": "False"}
    status = claw.get("status") or {}
    ready = status.get("frontendReadyReplicas"), status.get("workerReadyReplicas")
    return (
        status.get("observedGeneration") == generation
        and ready == (claw["spec"]["frontend"]["replicas"], claw["spec"]["worker"]["replicas"])
        and all(
            _condition(claw, kind).get("status") == value
            and _condition(claw, kind).get("observedGeneration") == generation
            for kind, value in wanted.items()
        )
    )


def _all_settled(claws: list[dict[str, Any]]) -> bool:
    return bool(claws) and all(map(_is_settled, claws))


def _settled(name: str, *, worker: int) -> Callable[[list[dict[str, Any]]], bool]:
    def reached(claws: list[dict[str, Any]]) -> bool:
        return any(
            claw["metadata"]["name"] == name
            and _is_settled(claw)
            and claw["status"]["workerReadyReplicas"] == worker
            for claw in claws
        )

    return reached


def _degraded(name: str) -> Callable[[list[dict[str, Any]]], bool]:
    def reached(claws: list[dict[str, Any]]) -> bool:
        return any(
            claw["metadata"]["name"] == name and _condition(claw, "Degraded").get("status") == "True"
            for claw in claws
        )

    return reached


def _explain(claw: dict[str, Any]) -> str:
    conditions = (claw.get("status") or {}).get("conditions") or ()
    said = "; ".join(f"{item['type']}={item['status']} {item['message']}" for item in conditions)
    return f"{claw['metadata']['namespace']}/{claw['metadata']['name']}: {said or 'no status'}"
