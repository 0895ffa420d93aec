"""The demo's story: declare, converge, change, break, repair, delete."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from openclaw.api.builtin import ResourceQuota
from openclaw.api.openclaw import OpenClaw
from openclaw.cli.demo_cluster import DEPLOYMENTS, DemoCluster, DemoFailure
from openclaw.cli.demo_screen import Screen
from openclaw.kube import Unreachable

__all__ = ["DemoFailure", "tell"]

_POLL_SECONDS = 0.2
_NAMESPACE = "shop"
_CHANGED = "storefront"
_DELETED = "minimal"


async def tell(samples: Path, *, keep: bool, timeout: float) -> None:
    """Run the demo.

    Raises:
        DemoFailure: something did not converge within `timeout` seconds.
    """
    with Screen() as screen:
        screen.step("Starting etcd, kube-apiserver, kube-controller-manager, kube-scheduler and two nodes")
        async with DemoCluster.running() as cluster:
            story = _Story(cluster, screen, samples, timeout)
            await story.run()
            screen.step("Done: everything converged")
            if keep:
                await story.keep()


class _Story:
    def __init__(self, cluster: DemoCluster, screen: Screen, samples: Path, timeout: float) -> None:
        self.cluster = cluster
        self.screen = screen
        self.samples = samples
        self.timeout = timeout
        self._events_seen: set[tuple[str, int]] = set()

    async def run(self) -> None:
        cluster, screen = self.cluster, self.screen
        screen.note(f"ready at {cluster.plane.url}, with the CRD and the operator's generated role installed")
        screen.step("Starting the operator: `openclaw run`, under its service account")
        await cluster.start_operator()

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

        screen.step(f"Changing {_CHANGED}: 5 workers and a new image for the front end")
        spec = {"frontend": {"image": "registry.example.com/shop/web:1.5"}, "worker": {"replicas": 5}}
        await cluster.patch(OpenClaw.resource, _NAMESPACE, _CHANGED, {"spec": spec})
        await self.until(f"{_CHANGED} is rolled out", _settled(_CHANGED, worker=5))

        screen.step(f"Scaling Deployment {_CHANGED}-worker to 1 behind the operator's back")
        await cluster.patch(DEPLOYMENTS, _NAMESPACE, f"{_CHANGED}-worker", {"spec": {"replicas": 1}})
        await self.until_replicas(f"{_CHANGED}-worker", 5)
        await self.until("the drift is put right", _settled(_CHANGED, worker=5))

        await self.degrade()

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

    async def summary(self) -> None:
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
                key = (event["metadata"]["name"], (event.get("series") or {}).get("count", 1))
                if key not in self._events_seen:
                    self._events_seen.add(key)
                    regarding = event["regarding"]
                    where = f"{regarding['namespace']}/{regarding['name']}"
                    self.screen.event(f"{event['type']} {event['reason']} {where}: {event['note']}")
        claws = await self.cluster.claws()
        self.screen.show(claws)
        return claws

    async def keep(self) -> None:
        """Stay up until Ctrl-C."""
        kubeconfig = self.cluster.plane.kubeconfig
        self.screen.step("Everything stays up until Ctrl-C. In another terminal:")
        for line in (
            f"export KUBECONFIG={kubeconfig}",
            "kubectl get openclaws -A",
            f"kubectl describe openclaw -n {_NAMESPACE} {_CHANGED}",
            f"tail -f {self.cluster.operator_log}",
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
