"""How the cluster's own controllers read and write: without a door, and without faults."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson

from openclaw.testing.cluster.backend import SYSTEM, Backend
from openclaw.testing.cluster.contracts import Object
from openclaw.testing.cluster.deleting import DeleteOptions
from openclaw.testing.cluster.request import Request
from openclaw.testing.cluster.routing import Target
from openclaw.testing.cluster.server import ApiServer
from openclaw.testing.cluster.statuses import StatusError
from openclaw.testing.cluster.store import Entry, Name, Stale, key_of

__all__ = ["Internal"]


class Internal:
    """Objects by resource, namespace and name; writes of the field manager `manager`."""

    def __init__(self, backend: Backend, server: ApiServer, manager: str = "kube-controller-manager") -> None:
        self.backend = backend
        self.server = server
        self._manager = manager

    def get(self, name: Name, namespace: str, called: str) -> Entry | None:
        """An object as it is stored now."""
        return self.backend.store.collection(name).entries.get(key_of(namespace, called))

    def list(self, name: Name, namespace: str = "") -> Iterator[Entry]:
        """The objects of a namespace, or of all."""
        return iter(list(self.backend.store.collection(name).scan(namespace)))

    def target(self, name: Name, namespace: str, called: str, subresource: str = "") -> Target:
        """What a request for this object would be about.

        Raises LookupError when the resource is not served.
        """
        resource = self.backend.registry.find(*name)
        if resource is None:
            raise LookupError(f"no resource {name}")
        version = resource.versions[resource.storage]
        return Target(resource, version, namespace, called, subresource)

    async def create(self, name: Name, namespace: str, obj: Object) -> None:
        """Create an object, by way of admission and all.

        Raises StatusError.
        """
        resource = self.target(name, namespace, "").resource
        kind = {"apiVersion": resource.api_version(resource.storage), "kind": resource.kind}
        body = orjson.dumps({**kind, **obj})
        request = Request("POST", "", body=body, user=SYSTEM, user_agent=self._manager)
        await self.server.writing.create(self.target(name, namespace, ""), request)

    async def update(self, name: Name, entry: Entry, obj: Object, subresource: str = "") -> Entry | None:
        """Write another state of an object; None when somebody else was faster, or it was refused."""
        metadata = entry.obj["metadata"]
        target = self.target(name, metadata.get("namespace", ""), metadata["name"], subresource)
        request = Request("PUT", "", user=SYSTEM, user_agent=self._manager)
        tracked = self.server.writing.tracked(target, request, entry.obj, obj)
        try:
            after, _ = await self.server.writing.finish(
                target, request, entry, entry.obj, tracked, dry_run=False
            )
        except (Stale, StatusError):
            return None
        return after

    async def set_status(self, name: Name, entry: Entry, status: dict[str, Any]) -> Entry | None:
        """Write another status; None when somebody else was faster."""
        if entry.obj.get("status") == status:
            return entry
        return await self.update(name, entry, {**entry.obj, "status": status}, "status")

    def delete(self, name: Name, entry: Entry, options: DeleteOptions | None = None) -> bool:
        """Delete that very object, or ask for it; False when somebody else was faster."""
        metadata = entry.obj["metadata"]
        target = self.target(name, metadata.get("namespace", ""), metadata["name"])
        options = replace(options or DeleteOptions(policy="Background"), uid=entry.uid)
        try:
            self.server.deleting.remove(target, entry, options)
        except (Stale, StatusError):
            return False
        return True

    def changed_metadata(self, name: Name, entry: Entry, **fields: Any) -> bool:
        """Set fields of `metadata` (None: drop them); an object that has nothing to wait for then goes."""
        before = entry.obj["metadata"]
        metadata = {**before, **fields}
        metadata = {key: value for key, value in metadata.items() if value not in (None, [], {})}
        target = self.target(name, before.get("namespace", ""), before["name"])
        request = Request("PATCH", "", user=SYSTEM, user_agent=self._manager)
        changed = self.server.writing.tracked(target, request, entry.obj, {**entry.obj, "metadata": metadata})
        metadata = changed["metadata"]
        store = self.backend.store
        try:
            if "deletionTimestamp" in metadata and "finalizers" not in metadata:
                grace = metadata.get("deletionGracePeriodSeconds")
                if not grace:
                    store.delete(name, entry)
                    return True
            store.update(name, entry, {**entry.obj, "metadata": metadata})
        except Stale:
            return False
        return True
