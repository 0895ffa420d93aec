"""What a reconcile is given: the way to act, the caches to read, and who it acts for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar, cast

import orjson

from openclaw.api.kinds import ResourceKind
from openclaw.api.resource import CustomResource
from openclaw.api.unstructured import Unstructured
from openclaw.kube.client import Client
from openclaw.kube.errors import Conflict, NotFound
from openclaw.runtime.apply import Applied, Applier
from openclaw.runtime.informer import OWNER_INDEX, Informer
from openclaw.runtime.queue import Key
from openclaw.runtime.recorder import EventRecorder, EventType
from openclaw.telemetry.logs import Log

__all__ = ["Context"]

K = TypeVar("K", bound=Unstructured | CustomResource)


class Context:
    """One run of a reconciler for one root object.

    Attributes:
        key: namespace and name of the root.
        reasons: what led to this run, e.g. `OpenClaw updated`.
        attempt: 1, and one more for each failure before this run.
        reconcile_id: tells this run from others in logs, events and traces.
        changes: what this run wrote so far, e.g. `created Deployment shop/web`.
        log: a logger whose records carry the object's identity.
    """

    def __init__(
        self,
        root: CustomResource,
        *,
        key: Key,
        reasons: tuple[str, ...],
        attempt: int,
        reconcile_id: str,
        applier: Applier,
        client: Client,
        informers: Mapping[ResourceKind, Informer],
        reads: Collection[ResourceKind],
        recorder: EventRecorder | None,
        log: Log,
    ) -> None:
        self._root = root
        self._applier = applier
        self._client = client
        self._informers = informers
        self._reads = reads
        self._recorder = recorder
        self.key = key
        self.reasons = reasons
        self.attempt = attempt
        self.reconcile_id = reconcile_id
        self.changes: list[str] = []
        self.log = log

    async def apply(self, desired: K, *, exact: Sequence[str] = ()) -> K:
        """Make a child hold what `desired` states, by server-side apply, and return it as it is now.

        The child gets an owner reference to the root, and the root's namespace where it has none. Fields
        that `desired` does not state are left to whoever sets them; fields that an earlier intent stated
        and this one does not are removed. Nothing is sent when there is nothing to change.

        Decide on what it returns: it may be newer than what `get` gave before.

        Args:
            desired: the intent.
            exact: top-level maps, such as `data` of a ConfigMap, that are wholly ours: what others put into
                them is removed.

        Raises:
            NotControlled: an object of that name exists and is not ours.
            KubeError: the write failed.
        """
        applied = await self.apply_with_outcome(desired, exact=exact)
        return _from_dict(type(desired), applied.live)

    async def apply_with_outcome(
        self, desired: Unstructured | CustomResource, *, exact: Sequence[str] = ()
    ) -> Applied:
        """As `apply`, but tells what was done and why.

        Raises:
            NotControlled: an object of that name exists and is not ours.
            KubeError: the write failed.
        """
        kind = desired.resource
        self._informer(kind)
        intent = desired.to_dict()
        metadata = intent.get("metadata", {})
        intent = {**intent, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {})}}}
        intent.pop("status", None)
        applied = await self._applier.apply(self._root, kind, intent, exact)
        if applied.outcome in {"created", "updated"}:
            where = f"{kind.kind} {intent['metadata'].get('namespace', '')}/{intent['metadata']['name']}"
            self.changes.append(f"{applied.outcome} {where}")
            self.log.info(
                "applied child", child=where, outcome=applied.outcome, paths=list(applied.paths[:20])
            )
        return applied

    async def delete(self, kind: type[K], name: str, *, namespace: str | None = None) -> bool:
        """Delete a child of the root; False when there is none. What others control is left alone.

        Raises:
            KubeError: the write failed.
        """
        self._informer(kind.resource)
        namespace = self._place(kind.resource, namespace)
        outcome = await self._applier.delete(self._root, kind.resource, namespace, name)
        if outcome == "sent":
            self.changes.append(f"deleted {kind.resource.kind} {namespace}/{name}")
            self.log.info("deleted child", child=f"{kind.resource.kind} {namespace}/{name}")
        return outcome != "none"

    async def annotate(self, annotations: Mapping[str, str | None], *, insist: bool = False) -> None:
        """Set annotations of the root, now; None takes one away. Nothing is sent where they are so already.

        Made for marks that must be there before something is done outside: the write is refused where the
        root has changed since this run read it, so that no two runs, and no run on an old state, mark it
        alike. The reconciler needs a `finalizer`, with which the generated role allows the write.

        Args:
            annotations: by name.
            insist: write also where the root has changed: for what was done outside and must not be lost.

        Raises:
            Conflict: the root was changed, deleted or replaced meanwhile; let it end the run.
            KubeError: the write failed; it may have had its effect.
        """
        metadata = self._root.metadata
        changed = {name: it for name, it in annotations.items() if metadata.annotations.get(name) != it}
        if not changed:
            return
        patch = {"uid": metadata.uid, "resourceVersion": metadata.resource_version, "annotations": changed}
        kind, namespace, name = self._root.resource, metadata.namespace, metadata.name
        try:
            body = await self._client.merge_patch(kind, namespace, name, {"metadata": patch})
            live = orjson.loads(body)["metadata"]
            metadata.resource_version = live["resourceVersion"]
        except Conflict:
            if not insist:
                raise
            del patch["resourceVersion"]
            # The version stays the one that was read: the status, which replaces lists, is still based on it.
            body = await self._client.merge_patch(kind, namespace, name, {"metadata": patch})
            live = orjson.loads(body)["metadata"]
        self._informer(kind).put(body)
        metadata.annotations = live.get("annotations") or {}

    def get(self, kind: type[K], name: str, *, namespace: str | None = None) -> K | None:
        """An object of the root kind or an owned or watched one, from the cache; None when there is none."""
        namespace = self._place(kind.resource, namespace)
        stored = self._informer(kind.resource).cache.get(namespace, name)
        return None if stored is None else _load(kind, stored)

    def owned(self, kind: type[K]) -> list[K]:
        """The children of that kind, from the cache, in order of their names."""
        informer = self._informer(kind.resource)
        keys = informer.cache.lookup(OWNER_INDEX, self._root.metadata.uid or "")
        found = (informer.cache.get(namespace, name) for namespace, name in keys)
        return [_load(kind, stored) for stored in found if stored is not None]

    def list(self, kind: type[K], *, index: str, value: str) -> list[K]:
        """The objects of a cached kind whose declared field index `index` holds `value`.

        Raises:
            ValueError: no such index is declared for the kind.
        """
        informer = self._informer(kind.resource)
        found = (informer.cache.get(*key) for key in informer.cache.lookup(index, value))
        return [_load(kind, stored) for stored in found if stored is not None]

    async def read(self, kind: type[K], name: str, *, namespace: str | None = None) -> K | None:
        """An object as the API server has it now, past any cache; of the root kind or one in `reads`.

        Raises:
            LookupError: the kind is not declared in `reads`, so the generated role does not allow it.
            KubeError: the read failed; an absent object is no error but None.
        """
        if kind.resource not in self._reads and kind.resource != self._root.resource:
            declared = ", ".join(sorted(item.kind for item in self._reads)) or "none"
            msg = (
                f"{kind.resource.kind} is not declared in reads (declared are: {declared}): put it there, "
                "so that the role allows it; what is in owns or watches is in the cache, for ctx.get"
            )
            raise LookupError(msg)
        namespace = self._place(kind.resource, namespace)
        try:
            body = await self._client.get(kind.resource, namespace or None, name)
        except NotFound:
            return None
        return _from_dict(kind, orjson.loads(body))

    def event(self, reason: str, note: str, *, type: EventType = "Normal", action: str = "Reconcile") -> None:
        """Record an Event about the root; it is sent in the background, aggregated and rate-limited.

        Args:
            reason: a CamelCase word, why.
            note: a sentence for people, without secrets.
            type: `Normal` or `Warning`.
            action: a CamelCase word, what was being done.
        """
        if self._recorder is not None:
            self._recorder.event(self._root, type, reason, note, action=action)

    def _place(self, kind: ResourceKind, namespace: str | None) -> str:
        """The namespace that is meant: the root's own by default, none for a kind that is in none."""
        if not kind.namespaced:
            return ""
        return self.key.namespace if namespace is None else namespace

    def _informer(self, kind: ResourceKind) -> Informer:
        informer = self._informers.get(kind)
        if informer is None:
            declared = ", ".join(sorted(item.kind for item in self._informers)) or "none"
            msg = f"{kind.kind} is not cached here (cached are: {declared}); declare it in owns or watches"
            raise LookupError(msg)
        return informer


def _load(kind: type[K], stored: bytes) -> K:
    return _from_dict(kind, orjson.loads(stored))


def _from_dict(kind: type[K], raw: dict[str, Any]) -> K:
    # Both bases return Self, which mypy loses over a union of them.
    return cast("K", kind.from_dict(raw))
