"""StatefulSets: pods by number, one after the other; follows `pkg/controller/statefulset`."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Final

from openclaw.testing.cluster.controllers.owned import (
    available_in,
    controller_of,
    failed,
    is_ready,
    owned_by,
    owner_reference,
    phase,
    template_hash,
)
from openclaw.testing.cluster.controllers.retries import Retries
from openclaw.testing.cluster.internal import Internal
from openclaw.testing.cluster.kindnames import PODS, STATEFUL_SETS, VOLUME_CLAIMS
from openclaw.testing.cluster.statuses import StatusError
from openclaw.testing.cluster.store import Change, Entry, Name

__all__ = ["StatefulSetController"]

Object = dict[str, Any]

_REVISION: Final = "controller-revision-hash"
_ORDINAL: Final = "apps.kubernetes.io/pod-index"
_POD_NAME: Final = "statefulset.kubernetes.io/pod-name"


class StatefulSetController:
    """Creates, replaces and deletes pods in their order."""

    def __init__(self, internal: Internal) -> None:
        self._internal = internal
        self._retries = Retries()

    def keys(self, name: Name, change: Change) -> Iterator[Hashable]:
        """A StatefulSet that changed, or one of whose pods did."""
        if name == STATEFUL_SETS:
            yield change.entry.key
        elif name == PODS:
            owner = controller_of(change.entry.obj)
            if owner is not None and owner["kind"] == "StatefulSet":
                yield f"{change.entry.obj['metadata']['namespace']}/{owner['name']}"

    async def sync(self, key: Hashable) -> float | None:
        """Look at one StatefulSet."""
        namespace, _, called = str(key).partition("/")
        entry = self._internal.get(STATEFUL_SETS, namespace, called)
        if entry is None:
            self._retries.forget(key)
            return None
        failure = None
        if "deletionTimestamp" not in entry.obj["metadata"]:
            try:
                await self._order(entry)
            except StatusError as error:
                failure = error
        due = await self._report(entry)
        if failure is not None:
            return self._retries.next(key)
        self._retries.forget(key)
        return due

    async def _order(self, entry: Entry) -> None:
        obj = entry.obj
        spec = obj["spec"]
        wanted = spec.get("replicas", 1)
        first = (spec.get("ordinals") or {}).get("start", 0)
        pods = self._pods(entry)
        parallel = spec.get("podManagementPolicy") == "Parallel"
        for ordinal in range(first, first + wanted):
            pod = pods.get(ordinal)
            if pod is not None and failed(pod.obj) and "deletionTimestamp" not in pod.obj["metadata"]:
                self._internal.delete(PODS, pod)
                return
            if pod is None:
                await self._create(entry, ordinal)
            if not parallel and (pod is None or not self._available(pod, spec)):
                # The next one waits for this one.
                return
        surplus = sorted((one for one in pods if one >= first + wanted or one < first), reverse=True)
        for ordinal in surplus:
            pod = pods[ordinal]
            if "deletionTimestamp" not in pod.obj["metadata"]:
                self._internal.delete(PODS, pod)
            if not parallel:
                return
        self._replace(entry, pods, first, wanted)

    def _replace(self, entry: Entry, pods: dict[int, Entry], first: int, wanted: int) -> None:
        """Delete the highest pod of an old template, when all above it are well."""
        spec = entry.obj["spec"]
        strategy = spec.get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete":
            return
        least = first + (strategy.get("rollingUpdate") or {}).get("partition", 0)
        revision = self._revision(entry.obj)
        for ordinal in range(first + wanted - 1, least - 1, -1):
            pod = pods.get(ordinal)
            if pod is None:
                return
            if pod.obj["metadata"].get("labels", {}).get(_REVISION) != revision:
                if "deletionTimestamp" not in pod.obj["metadata"]:
                    self._internal.delete(PODS, pod)
                return
            if not self._available(pod, spec):
                return

    async def _create(self, entry: Entry, ordinal: int) -> None:
        obj, namespace = entry.obj, entry.obj["metadata"]["namespace"]
        spec, template = obj["spec"], obj["spec"]["template"]
        called = f"{obj['metadata']['name']}-{ordinal}"
        below = template.get("metadata") or {}
        strategy = (spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
        old = ordinal < strategy.get("partition", 0)
        current = (obj.get("status") or {}).get("currentRevision")
        revision = current if old and current else self._revision(obj)
        metadata: Object = {
            "name": called,
            "generateName": f"{obj['metadata']['name']}-",
            "labels": {
                **(below.get("labels") or {}),
                _ORDINAL: str(ordinal),
                _REVISION: revision,
                _POD_NAME: called,
            },
            "ownerReferences": [owner_reference(obj)],
        }
        if below.get("annotations"):
            metadata["annotations"] = below["annotations"]
        volumes = list(template["spec"].get("volumes") or ())
        for claim in spec.get("volumeClaimTemplates") or ():
            claimed = f"{claim['metadata']['name']}-{called}"
            if self._internal.get(VOLUME_CLAIMS, namespace, claimed) is None:
                labels = (spec.get("selector") or {}).get("matchLabels") or {}
                body = {"metadata": {"name": claimed, "labels": labels}, "spec": claim["spec"]}
                await self._internal.create(VOLUME_CLAIMS, namespace, body)
            volumes = [one for one in volumes if one["name"] != claim["metadata"]["name"]]
            volumes.append(
                {"name": claim["metadata"]["name"], "persistentVolumeClaim": {"claimName": claimed}}
            )
        pod_spec = {**template["spec"], "hostname": called}
        if spec.get("serviceName"):
            pod_spec["subdomain"] = spec["serviceName"]
        if volumes:
            pod_spec["volumes"] = volumes
        await self._internal.create(PODS, namespace, {"metadata": metadata, "spec": pod_spec})

    def _pods(self, entry: Entry) -> dict[int, Entry]:
        namespace, called = entry.obj["metadata"]["namespace"], entry.obj["metadata"]["name"]
        found = owned_by(self._internal.list(PODS, namespace), entry.uid)
        named = {pod.obj["metadata"]["name"].removeprefix(f"{called}-"): pod for pod in found}
        return {int(ordinal): pod for ordinal, pod in named.items() if ordinal.isdigit()}

    @staticmethod
    def _revision(obj: Object) -> str:
        return f"{obj['metadata']['name']}-{template_hash(obj['spec']['template'])}"

    def _available(self, pod: Entry, spec: Object) -> bool:
        now = self._internal.backend.clock.date()
        left = "deletionTimestamp" in pod.obj["metadata"]
        return not left and available_in(pod.obj, spec.get("minReadySeconds", 0), now) == 0

    async def _report(self, entry: Entry) -> float | None:
        metadata = entry.obj["metadata"]
        now = self._internal.get(STATEFUL_SETS, metadata["namespace"], metadata["name"])
        if now is None or now.uid != entry.uid:
            return None
        obj, spec = now.obj, now.obj["spec"]
        pods = [one.obj for one in self._pods(now).values() if not failed(one.obj)]
        date = self._internal.backend.clock.date()
        minimum = spec.get("minReadySeconds", 0)
        due = [available_in(pod, minimum, date) for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        update = self._revision(obj)
        before = obj.get("status") or {}
        fresh = sum(pod["metadata"].get("labels", {}).get(_REVISION) == update for pod in pods)
        wanted = spec.get("replicas", 1)
        ready = sum(is_ready(pod) for pod in pods)
        done = fresh == wanted == len(pods) and ready == wanted
        current = update if done or not before.get("currentRevision") else before["currentRevision"]
        status: Object = {
            "observedGeneration": obj["metadata"]["generation"],
            "replicas": sum(phase(pod) != "Succeeded" for pod in pods),
            "availableReplicas": sum(seconds == 0 for seconds in due),
            "currentRevision": current,
            "updateRevision": update,
            "collisionCount": 0,
        }
        counts = {
            "readyReplicas": ready,
            "currentReplicas": fresh if current == update else len(pods) - fresh,
            "updatedReplicas": fresh,
        }
        status |= {key: value for key, value in counts.items() if value}
        await self._internal.set_status(STATEFUL_SETS, now, status)
        waiting = [seconds for seconds in due if seconds]
        return min(waiting) if waiting else None
