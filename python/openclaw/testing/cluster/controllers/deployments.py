"""Deployments: a ReplicaSet for each template, old ones give way; follows `pkg/controller/deployment`."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Final

from openclaw.testing.cluster.controllers.deploystatus import deployment_status, progress_due
from openclaw.testing.cluster.controllers.owned import (
    controller_of,
    oldest_first,
    owned_by,
    owner_reference,
    portion,
    template_hash,
)
from openclaw.testing.cluster.internal import Internal
from openclaw.testing.cluster.kindnames import DEPLOYMENTS, PODS, REPLICA_SETS
from openclaw.testing.cluster.store import Change, Entry, Name

__all__ = ["DeploymentController"]

Object = dict[str, Any]

_HASH: Final = "pod-template-hash"
_REVISION: Final = "deployment.kubernetes.io/revision"
_DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
_MOST: Final = "deployment.kubernetes.io/max-replicas"


class DeploymentController:
    """Rolls out."""

    def __init__(self, internal: Internal) -> None:
        self._internal = internal

    def keys(self, name: Name, change: Change) -> Iterator[Hashable]:
        """A Deployment that changed, or one of whose ReplicaSets did."""
        if name == DEPLOYMENTS:
            yield change.entry.key
        elif name == REPLICA_SETS:
            owner = controller_of(change.entry.obj)
            if owner is not None and owner["kind"] == "Deployment":
                yield f"{change.entry.obj['metadata']['namespace']}/{owner['name']}"
        elif name == PODS and change.type == "DELETED":
            # A Recreate rollout waits for the last old pod.
            owner = controller_of(change.entry.obj)
            if owner is not None and owner["kind"] == "ReplicaSet":
                namespace = change.entry.obj["metadata"]["namespace"]
                replica_set = self._internal.get(REPLICA_SETS, namespace, owner["name"])
                above = controller_of(replica_set.obj) if replica_set is not None else None
                if above is not None:
                    yield f"{namespace}/{above['name']}"

    async def sync(self, key: Hashable) -> float | None:
        """Look at one Deployment."""
        namespace, _, called = str(key).partition("/")
        entry = self._internal.get(DEPLOYMENTS, namespace, called)
        if entry is None:
            return None
        owned = owned_by(self._internal.list(REPLICA_SETS, namespace), entry.uid)
        if "deletionTimestamp" not in entry.obj["metadata"]:
            current = self._current(entry, owned)
            if not entry.obj["spec"].get("paused"):
                current = await self._ensure_current(entry, owned, current)
            if current is not None or owned:
                await self._roll(entry, current, self._others(entry, current))
            self._clean_up(entry, current)
        return await self._report(namespace, called, entry)

    def _others(self, entry: Entry, current: Entry | None) -> list[Entry]:
        namespace = entry.obj["metadata"]["namespace"]
        found = owned_by(self._internal.list(REPLICA_SETS, namespace), entry.uid)
        return [one for one in oldest_first(found) if current is None or one.uid != current.uid]

    @staticmethod
    def _current(entry: Entry, owned: list[Entry]) -> Entry | None:
        """The ReplicaSet of the present template."""
        wanted = entry.obj["spec"]["template"]
        return next(
            (one for one in oldest_first(owned) if _without_hash(one.obj["spec"]["template"]) == wanted), None
        )

    async def _ensure_current(self, entry: Entry, owned: list[Entry], current: Entry | None) -> Entry | None:
        revision = max((_revision(one.obj) for one in owned), default=0)
        namespace = entry.obj["metadata"]["namespace"]
        if current is None:
            revision += 1
            current = await self._create(entry, revision, sum(map(_replicas, owned)))
        elif _revision(current.obj) < revision:
            # An old template is back: its ReplicaSet becomes the newest.
            revision += 1
            current = await self._annotate(REPLICA_SETS, current, {_REVISION: str(revision)})
        now = self._internal.get(DEPLOYMENTS, namespace, entry.obj["metadata"]["name"])
        if now is not None and current is not None:
            await self._annotate(DEPLOYMENTS, now, {_REVISION: str(_revision(current.obj))})
        return current

    async def _annotate(self, name: Name, entry: Entry, annotations: dict[str, str]) -> Entry:
        before = entry.obj["metadata"].get("annotations") or {}
        if annotations.items() <= before.items():
            return entry
        metadata = {**entry.obj["metadata"], "annotations": {**before, **annotations}}
        # By way of the status, as kube-controller-manager does it: there annotations count no generation.
        subresource = "status" if name == DEPLOYMENTS else ""
        obj = {**entry.obj, "metadata": metadata}
        return await self._internal.update(name, entry, obj, subresource) or entry

    async def _create(self, entry: Entry, revision: int, old: int) -> Entry | None:
        obj, namespace = entry.obj, entry.obj["metadata"]["namespace"]
        template, spec = obj["spec"]["template"], obj["spec"]
        digest = template_hash(template)
        below = template.get("metadata") or {}
        labels = {**(below.get("labels") or {}), _HASH: digest}
        selector = spec["selector"]
        called = f"{obj['metadata']['name']}-{digest}"
        body: Object = {
            "metadata": {
                "name": called,
                "labels": labels,
                "annotations": {_REVISION: str(revision), **_sizes(spec)},
                "ownerReferences": [owner_reference(obj)],
            },
            "spec": {
                "replicas": _first_replicas(spec, old),
                "selector": {
                    **selector,
                    "matchLabels": {**(selector.get("matchLabels") or {}), _HASH: digest},
                },
                "template": {**template, "metadata": {**below, "labels": labels}},
            },
        }
        if spec.get("minReadySeconds"):
            body["spec"]["minReadySeconds"] = spec["minReadySeconds"]
        if self._internal.get(REPLICA_SETS, namespace, called) is None:
            await self._internal.create(REPLICA_SETS, namespace, body)
        return self._internal.get(REPLICA_SETS, namespace, called)

    async def _roll(self, entry: Entry, current: Entry | None, others: list[Entry]) -> None:
        spec = entry.obj["spec"]
        wanted = spec.get("replicas", 1)
        strategy = spec.get("strategy") or {}
        if current is None:
            # Paused before its first rollout of this template: the newest one keeps the number.
            if others:
                await self._scale(entry, others[-1], wanted)
            return
        if strategy.get("type") == "Recreate":
            for other in others:
                await self._scale(entry, other, 0)
            if not any(self._pods_of(other) for other in others):
                await self._scale(entry, current, wanted)
            return
        rolling = strategy.get("rollingUpdate") or {}
        surge = portion(rolling.get("maxSurge", "25%"), wanted, up=True)
        unavailable = portion(rolling.get("maxUnavailable", "25%"), wanted, up=False)
        if not surge and not unavailable:
            unavailable = 1
        await self._roll_up(entry, current, others, wanted + surge)
        current = self._again(current) or current
        await self._roll_down(current, others, entry, wanted - min(unavailable, wanted))

    async def _roll_up(self, entry: Entry, current: Entry, others: list[Entry], most: int) -> None:
        wanted = entry.obj["spec"].get("replicas", 1)
        now = _replicas(current)
        if now > wanted:
            await self._scale(entry, current, wanted)
        elif now < wanted:
            room = most - now - sum(map(_replicas, others))
            if room > 0:
                await self._scale(entry, current, min(wanted, now + room))

    async def _roll_down(self, current: Entry, others: list[Entry], entry: Entry, least: int) -> None:
        old = sum(map(_replicas, others))
        if not old:
            return
        fresh = _replicas(current)
        unavailable = fresh - _available(current)
        spare = old + fresh - least - unavailable
        # Pods that are of no use go first.
        for other in others:
            useless = min(_replicas(other) - _available(other), spare)
            if useless > 0:
                await self._scale(entry, other, _replicas(other) - useless)
                spare -= useless
        available = sum(map(_available, (current, *others)))
        spare = min(spare, available - least)
        for other in others:
            now = self._again(other)
            if now is None:
                continue
            less = min(_replicas(now), spare)
            if less > 0:
                await self._scale(entry, now, _replicas(now) - less)
                spare -= less

    async def _scale(self, entry: Entry, replica_set: Entry, replicas: int) -> None:
        now = self._again(replica_set)
        if now is None:
            return
        sizes = _sizes(entry.obj["spec"])
        annotations = {**(now.obj["metadata"].get("annotations") or {}), **sizes}
        if _replicas(now) == replicas and annotations == now.obj["metadata"].get("annotations"):
            return
        obj = {
            **now.obj,
            "metadata": {**now.obj["metadata"], "annotations": annotations},
            "spec": {**now.obj["spec"], "replicas": replicas},
        }
        await self._internal.update(REPLICA_SETS, now, obj)

    def _again(self, entry: Entry) -> Entry | None:
        return self._internal.backend.store.collection(REPLICA_SETS).entries.get(entry.key)

    def _pods_of(self, replica_set: Entry) -> list[Entry]:
        namespace = replica_set.obj["metadata"]["namespace"]
        return owned_by(self._internal.list(PODS, namespace), replica_set.uid)

    def _clean_up(self, entry: Entry, current: Entry | None) -> None:
        """Delete what is beyond the history that is to be kept."""
        limit = entry.obj["spec"].get("revisionHistoryLimit", 10)
        idle = [
            one
            for one in self._others(entry, current)
            if not _replicas(one) and not (one.obj.get("status") or {}).get("replicas")
        ]
        for one in sorted(idle, key=lambda it: _revision(it.obj))[: max(0, len(idle) - limit)]:
            self._internal.delete(REPLICA_SETS, one)

    async def _report(self, namespace: str, called: str, entry: Entry) -> float | None:
        now = self._internal.get(DEPLOYMENTS, namespace, called)
        if now is None or now.uid != entry.uid:
            return None
        owned = owned_by(self._internal.list(REPLICA_SETS, namespace), now.uid)
        current = self._current(now, owned)
        clock = self._internal.backend.clock
        template = current.obj if current is not None else None
        status = deployment_status(now.obj, [one.obj for one in owned], template, clock)
        await self._internal.set_status(DEPLOYMENTS, now, status)
        return progress_due(now.obj, status, clock)


def _surge(spec: Object) -> int:
    """How many pods more than wanted there may be."""
    strategy = spec.get("strategy") or {}
    if strategy.get("type") == "Recreate":
        return 0
    surge = (strategy.get("rollingUpdate") or {}).get("maxSurge", "25%")
    return portion(surge, spec.get("replicas", 1), up=True)


def _sizes(spec: Object) -> dict[str, str]:
    wanted = spec.get("replicas", 1)
    return {_DESIRED: str(wanted), _MOST: str(wanted + _surge(spec))}


def _first_replicas(spec: Object, old: int) -> int:
    """How many a new ReplicaSet begins with, beside so many of others."""
    wanted: int = spec.get("replicas", 1)
    if (spec.get("strategy") or {}).get("type") == "Recreate":
        return 0 if old else wanted
    return max(0, min(wanted, wanted + _surge(spec) - old))


def _without_hash(template: Object) -> Object:
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != _HASH}
    return {**template, "metadata": {**metadata, "labels": labels}}


def _revision(obj: Object) -> int:
    return int((obj["metadata"].get("annotations") or {}).get(_REVISION, "0"))


def _replicas(entry: Entry) -> int:
    replicas: int = entry.obj["spec"].get("replicas", 1)
    return replicas


def _available(entry: Entry) -> int:
    available: int = (entry.obj.get("status") or {}).get("availableReplicas", 0)
    return min(available, _replicas(entry))
