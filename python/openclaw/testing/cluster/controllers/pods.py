"""Scheduler and kubelets in one: pods find a node, come up as told, and go when they are asked to."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from openclaw.testing.cluster.deleting import DeleteOptions
from openclaw.testing.cluster.internal import Internal
from openclaw.testing.cluster.kindnames import PODS
from openclaw.testing.cluster.store import Change, Entry, Name
from openclaw.testing.cluster.workloads import Workloads
from openclaw.testing.podstatus import Outcome, behaviour_of, pod_status

__all__ = ["PodController"]

Object = dict[str, Any]


class PodController:
    """Makes pods fare as `Workloads` says."""

    def __init__(self, internal: Internal, workloads: Workloads) -> None:
        self._internal = internal
        self._workloads = workloads
        self._begun: dict[str, float] = {}
        self._placed = 0

    def keys(self, name: Name, change: Change) -> Iterator[Hashable]:
        """A pod that changed."""
        if name != PODS:
            return
        if change.type == "DELETED":
            self._begun.pop(change.entry.uid, None)
        else:
            yield change.entry.key

    def all_keys(self) -> Iterator[Hashable]:
        """All pods, for when what is said of them has changed."""
        for entry in self._internal.list(PODS):
            yield entry.key

    async def sync(self, key: Hashable) -> float | None:
        """Look at one pod."""
        entry = self._internal.backend.store.collection(PODS).entries.get(str(key))
        if entry is None:
            return None
        now = self._internal.backend.clock.now()
        if "deletionTimestamp" in entry.obj["metadata"]:
            return self._end(entry, now)
        if self._workloads.stalled:
            return None
        if not entry.obj["spec"].get("nodeName"):
            entry = self._bind(entry)
        return await self._fare(entry, now)

    def _bind(self, entry: Entry) -> Entry:
        metadata = entry.obj["metadata"]
        node = f"node-{self._placed % max(1, self._workloads.nodes)}"
        self._placed += 1
        target = self._internal.target(PODS, metadata.get("namespace", ""), metadata["name"])
        return self._internal.server.extras.bind(target, entry, node)

    async def _fare(self, entry: Entry, now: float) -> float | None:
        pod = entry.obj
        behaviour = behaviour_of(pod, self._workloads.decide)
        begun = self._begun.setdefault(entry.uid, now)
        after = behaviour.after + self._workloads.startup_seconds
        left = begun + after - now
        outcome = behaviour.outcome if left <= 0 else Outcome.CREATING
        if _shows(pod, outcome):
            return left if left > 0 else None
        status = pod_status(
            pod,
            outcome,
            pod_ip=self._address(pod),
            host_ip="10.0.0.1",
            now=self._internal.backend.clock.timestamp(),
        )
        before = pod.get("status") or {}
        status = {**{key: before[key] for key in ("qosClass",) if key in before}, **status}
        await self._internal.set_status(PODS, entry, status)
        return left if left > 0 else None

    @staticmethod
    def _address(pod: Object) -> str:
        number = int(pod["metadata"]["uid"].replace("-", "")[:4], 16)
        return f"10.128.{number >> 8}.{number & 255}"

    def _end(self, entry: Entry, now: float) -> float | None:
        if self._workloads.stalled:
            return None
        uid = f"end/{entry.uid}"
        begun = self._begun.setdefault(uid, now)
        grace = entry.obj["metadata"].get("deletionGracePeriodSeconds", 0)
        left: float = begun + min(self._workloads.termination_seconds, grace) - now
        if left > 0:
            return left
        self._begun.pop(uid, None)
        self._internal.delete(PODS, entry, DeleteOptions(policy=None, grace=0))
        return None


def _shows(pod: Object, outcome: Outcome) -> bool:
    """Whether the pod's status says this outcome already."""
    status = pod.get("status") or {}
    containers = status.get("containerStatuses")
    if not containers:
        return False
    state = containers[0].get("state") or {}
    waiting = (state.get("waiting") or {}).get("reason")
    ready = all(one.get("ready") for one in containers)
    match outcome:
        case Outcome.READY:
            return ready and "running" in state
        case Outcome.NEVER_READY:
            return not ready and "running" in state
        case Outcome.IMAGE_PULL_FAILURE:
            return bool(waiting == "ImagePullBackOff")
        case Outcome.CRASH_LOOP:
            return waiting == "CrashLoopBackOff" or status.get("phase") == "Failed"
        case Outcome.COMPLETED:
            return bool(status.get("phase") == "Succeeded")
        case Outcome.CREATING:
            return bool(waiting == "ContainerCreating")
