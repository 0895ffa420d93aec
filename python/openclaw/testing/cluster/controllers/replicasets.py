"""ReplicaSets: as many pods as asked for; follows `pkg/controller/replicaset`."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from openclaw.testing.cluster.controllers.owned import (
    available_in,
    controller_of,
    is_active,
    is_ready,
    oldest_first,
    owned_by,
    owner_reference,
    set_condition,
)
from openclaw.testing.cluster.controllers.retries import Retries
from openclaw.testing.cluster.internal import Internal
from openclaw.testing.cluster.kindnames import PODS, REPLICA_SETS
from openclaw.testing.cluster.statuses import StatusError
from openclaw.testing.cluster.store import Change, Entry, Name

__all__ = ["ReplicaSetController"]

Object = dict[str, Any]


class ReplicaSetController:
    """Creates and deletes pods."""

    def __init__(self, internal: Internal) -> None:
        self._internal = internal
        self._retries = Retries()

    def keys(self, name: Name, change: Change) -> Iterator[Hashable]:
        """A ReplicaSet that changed, or one of whose pods did."""
        if name == REPLICA_SETS:
            yield change.entry.key
        elif name == PODS:
            owner = controller_of(change.entry.obj)
            if owner is not None and owner["kind"] == "ReplicaSet":
                yield f"{change.entry.obj['metadata']['namespace']}/{owner['name']}"

    async def sync(self, key: Hashable) -> float | None:
        """Look at one ReplicaSet."""
        namespace, _, called = str(key).partition("/")
        entry = self._internal.get(REPLICA_SETS, namespace, called)
        if entry is None:
            self._retries.forget(key)
            return None
        pods = owned_by(self._internal.list(PODS, namespace), entry.uid)
        failure: StatusError | None = None
        if "deletionTimestamp" not in entry.obj["metadata"]:
            failure = await self._scale(entry, [pod for pod in pods if is_active(pod.obj)])
            pods = owned_by(self._internal.list(PODS, namespace), entry.uid)
        due = await self._report(entry, pods, failure)
        if failure is not None:
            return self._retries.next(key)
        self._retries.forget(key)
        return due

    async def _scale(self, entry: Entry, pods: list[Entry]) -> StatusError | None:
        obj, namespace = entry.obj, entry.obj["metadata"]["namespace"]
        wanted = obj["spec"].get("replicas", 1)
        if len(pods) > wanted:
            ranked = oldest_first(pods, lambda pod: (not pod["spec"].get("nodeName"), not is_ready(pod)))
            for pod in reversed(ranked[wanted:]):
                self._internal.delete(PODS, pod)
        template = obj["spec"]["template"]
        below = template.get("metadata") or {}
        metadata: Object = {
            "generateName": f"{obj['metadata']['name']}-",
            "labels": below.get("labels") or {},
            "ownerReferences": [owner_reference(obj)],
        }
        for field in ("annotations", "finalizers"):
            if below.get(field):
                metadata[field] = below[field]
        for _ in range(wanted - len(pods)):
            try:
                await self._internal.create(PODS, namespace, {"metadata": metadata, "spec": template["spec"]})
            except StatusError as error:
                return error
        return None

    async def _report(self, entry: Entry, pods: list[Entry], failure: StatusError | None) -> float | None:
        obj, clock = entry.obj, self._internal.backend.clock
        active = [pod.obj for pod in pods if is_active(pod.obj)]
        minimum = obj["spec"].get("minReadySeconds", 0)
        due = [available_in(pod, minimum, clock.date()) for pod in active]
        available = sum(seconds == 0 for seconds in due)
        labels = (obj["spec"]["template"].get("metadata") or {}).get("labels") or {}
        full = sum(labels.items() <= (pod["metadata"].get("labels") or {}).items() for pod in active)
        status: Object = {
            "replicas": len(active),
            "fullyLabeledReplicas": full,
            "readyReplicas": sum(map(is_ready, active)),
            "availableReplicas": available,
        }
        status = {key: count for key, count in status.items() if count or key == "replicas"}
        status["terminatingReplicas"] = sum("deletionTimestamp" in pod.obj["metadata"] for pod in pods)
        status["observedGeneration"] = obj["metadata"]["generation"]
        if failure is not None:
            condition = {
                "type": "ReplicaFailure",
                "status": "True",
                "reason": "FailedCreate",
                "message": failure.message,
            }
            before = (obj.get("status") or {}).get("conditions") or ()
            status["conditions"] = set_condition(before, condition, clock.timestamp())
        now = self._internal.get(REPLICA_SETS, obj["metadata"]["namespace"], obj["metadata"]["name"])
        if now is not None and now.uid == entry.uid:
            await self._internal.set_status(REPLICA_SETS, now, status)
        waiting = [seconds for seconds in due if seconds]
        return min(waiting) if waiting else None
