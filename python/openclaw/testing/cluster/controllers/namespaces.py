"""Namespaces: a service account for each new one, and the end of those that are deleted."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from openclaw.testing.cluster.deleting import DeleteOptions
from openclaw.testing.cluster.internal import Internal
from openclaw.testing.cluster.kindnames import NAMESPACES, SERVICE_ACCOUNTS
from openclaw.testing.cluster.store import Change, Entry, Name

__all__ = ["NamespaceController"]


class NamespaceController:
    """Follows `pkg/controller/namespace` and the service accounts controller."""

    def __init__(self, internal: Internal) -> None:
        self._internal = internal
        self._ending: set[str] = set()

    def keys(self, name: Name, change: Change) -> Iterator[Hashable]:
        """A namespace that changed, or that lost something while it is on its way out."""
        metadata = change.entry.obj["metadata"]
        if name == NAMESPACES:
            if change.type == "DELETED":
                self._ending.discard(metadata["name"])
                return
            if "deletionTimestamp" in metadata:
                self._ending.add(metadata["name"])
            yield metadata["name"]
            return
        account = name == SERVICE_ACCOUNTS and metadata["name"] == "default"
        if change.type == "DELETED" and (account or metadata.get("namespace") in self._ending):
            yield metadata["namespace"]

    async def sync(self, key: Hashable) -> float | None:
        """Look at one namespace."""
        called = str(key)
        entry = self._internal.get(NAMESPACES, "", called)
        if entry is None:
            return None
        if "deletionTimestamp" not in entry.obj["metadata"]:
            if self._internal.get(SERVICE_ACCOUNTS, called, "default") is None:
                await self._internal.create(SERVICE_ACCOUNTS, called, {"metadata": {"name": "default"}})
            return None
        if not entry.obj["spec"].get("finalizers"):
            return None
        left = False
        for name, found in self._content(called):
            left = True
            if "deletionTimestamp" not in found.obj["metadata"]:
                self._internal.delete(name, found, DeleteOptions(policy="Background"))
        if left:
            left = next(self._content(called), None) is not None
        if not left:
            kept = [one for one in entry.obj["spec"]["finalizers"] if one != "kubernetes"]
            now = self._internal.get(NAMESPACES, "", called)
            if now is not None:
                self._internal.server.extras.finalize(
                    self._internal.target(NAMESPACES, "", called), now, kept
                )
        return None

    def _content(self, namespace: str) -> Iterator[tuple[Name, Entry]]:
        for collection in self._internal.backend.store.collections():
            for entry in list(collection.scan(namespace)):
                yield collection.name, entry
