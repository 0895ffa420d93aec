"""Every version of the objects of a namespace, as a watch tells them, and what must hold of all of them."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from types import TracebackType
from typing import Self

from openclaw.testing import Client
from openclaw.testing.client import Object
from tests.integration.openclaw.claws import condition, container

_KINDS = ("OpenClaw", "Deployment")


def version(obj: Object) -> int:
    """The resourceVersion: all kinds of one etcd count together."""
    return int(obj["metadata"]["resourceVersion"])


class History:
    """Records while it is entered. `last` is the newest version of each object."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._seen: dict[str, list[Object]] = {kind: [] for kind in _KINDS}
        self._tasks: list[asyncio.Task[None]] = []
        self._started = [asyncio.Event() for _ in _KINDS]
        self._news = asyncio.Condition()

    async def __aenter__(self) -> Self:
        for kind, started in zip(_KINDS, self._started, strict=True):
            self._tasks.append(asyncio.create_task(self._follow(kind, started)))
        await asyncio.gather(*(started.wait() for started in self._started))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self, kind: str, started: asyncio.Event) -> None:
        async with aclosing(self._client.follow(kind, self._namespace)) as changes:
            async for events in changes:
                self._seen[kind] += [obj for what, obj in events if what != "DELETED"]
                started.set()
                async with self._news:
                    self._news.notify_all()

    async def until_version(self, newest: Object, timeout: float = 60.0) -> None:
        """Wait until both watches have told what happened up to this version of an OpenClaw."""
        name = newest["metadata"]["name"]

        def told() -> bool:
            versions = self.versions(name)
            return bool(versions) and version(versions[-1]) >= version(newest)

        async with asyncio.timeout(timeout), self._news:
            await self._news.wait_for(told)

    def versions(self, name: str = "shop") -> list[Object]:
        """The versions of an OpenClaw, oldest first."""
        return [it for it in self._seen["OpenClaw"] if it["metadata"]["name"] == name]

    def deployment(self, name: str) -> list[Object]:
        """The versions of a Deployment, oldest first."""
        return [it for it in self._seen["Deployment"] if it["metadata"]["name"] == name]


def check(history: History, name: str = "shop") -> None:
    """What must hold of each version of an OpenClaw, and of each two that follow each other."""
    versions = history.versions(name)
    specs = {it["metadata"]["generation"]: it["spec"] for it in versions}
    before: Object = {}
    # A watch lags: what a run reads may be older than the status that the run before it has written.
    written = [0, 0]
    for now in versions:
        _check_generations(before, now)
        _check_transitions(before, now)
        if now.get("status") and now["status"] != before.get("status"):
            _check_truth(history, name, now, written[-2], specs)
            written.append(version(now))
        before = now


def _check_generations(before: Object, now: Object) -> None:
    """observedGeneration is never ahead of the generation, and never goes back."""
    limit = now["metadata"]["generation"]
    said = {it["type"]: it["observedGeneration"] for it in now.get("status", {}).get("conditions", ())}
    said[""] = now.get("status", {}).get("observedGeneration", 0)
    told = {it["type"]: it["observedGeneration"] for it in before.get("status", {}).get("conditions", ())}
    told[""] = before.get("status", {}).get("observedGeneration", 0)
    for kind, generation in said.items():
        assert generation <= limit, f"{kind or 'status'} speaks of generation {generation} of {limit}"
        assert generation >= told.get(kind, 0), f"{kind or 'status'} went back from {told[kind]}"
    if now.get("status"):
        types = [it["type"] for it in now["status"]["conditions"]]
        assert len(types) == len(set(types))
        assert {"Available", "Progressing", "Degraded"} <= set(types), "all three, from the first status"


def _check_transitions(before: Object, now: Object) -> None:
    """lastTransitionTime moves with the status of the condition, and only with it."""
    for item in now.get("status", {}).get("conditions", ()):
        old = condition(before, item["type"])
        if old.get("status") == item["status"]:
            assert old["lastTransitionTime"] == item["lastTransitionTime"], item
        elif old:
            assert old["lastTransitionTime"] <= item["lastTransitionTime"], item
        assert item["reason"]


def _check_truth(history: History, name: str, now: Object, since: int, specs: dict[int, Object]) -> None:
    """What the status says was true of the Deployments at some moment since the status before the last."""
    available, progressing, degraded = (
        condition(now, kind) for kind in ("Available", "Progressing", "Degraded")
    )
    for component in ("frontend", "worker"):
        states = _states(history.deployment(f"{name}-{component}"), since, version(now))
        spec = specs[available["observedGeneration"]][component]
        wanted = spec["replicas"]
        where = f"{component} at {version(now)}: {now['status']}"
        if available["status"] == "True" and wanted:
            enough = wanted - wanted // 4
            assert any(it["status"].get("availableReplicas", 0) >= enough for it in states), where
        if progressing["status"] == degraded["status"] == "False":
            assert any(_complete(it, spec) for it in states), where
        ready = now["status"][f"{component}ReadyReplicas"]
        assert ready in ({it["status"].get("readyReplicas", 0) for it in states} or {0}), where


def _states(versions: list[Object], since: int, until: int) -> list[Object]:
    """The versions that were current at some moment between two resourceVersions."""
    early = [it for it in versions if version(it) <= since]
    return [*early[-1:], *(it for it in versions if since < version(it) <= until)]


def _complete(deployment: Object, spec: Object) -> bool:
    """Whether the Deployment has this spec, and all its pods are of it and there."""
    status, wanted = deployment["status"], spec["replicas"]
    counts = [status.get(f"{it}eplicas", 0) for it in ("r", "updatedR", "availableR")]
    return (
        status.get("observedGeneration", 0) == deployment["metadata"]["generation"]
        and deployment["spec"]["replicas"] == wanted
        and container(deployment)["image"] == spec["image"]
        and counts == [wanted] * 3
    )
