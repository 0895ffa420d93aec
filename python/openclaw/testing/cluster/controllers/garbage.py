"""Garbage collection by owner references; follows `pkg/controller/garbagecollector`."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

from openclaw.testing.cluster.deleting import DeleteOptions
from openclaw.testing.cluster.internal import Internal
from openclaw.testing.cluster.metadata import FOREGROUND, ORPHAN
from openclaw.testing.cluster.store import Change, Entry, Key, Name

__all__ = ["GarbageCollector"]

Object = dict[str, Any]


class _Place(NamedTuple):
    """Where an object is."""

    name: Name
    key: Key
    uid: str


class GarbageCollector:
    """Deletes what all owners of are gone, and what stands in the way of foreground deletion."""

    def __init__(self, internal: Internal) -> None:
        self._internal = internal
        self._places: dict[str, _Place] = {}
        self._dependents: dict[str, dict[_Place, None]] = {}

    def keys(self, name: Name, change: Change) -> Iterator[Hashable]:
        """The object itself, where it has owners or is on its way out; and those that wait for it."""
        metadata = change.entry.obj["metadata"]
        place = _Place(name, change.entry.key, metadata["uid"])
        owners = metadata.get("ownerReferences") or ()
        before = change.before.obj["metadata"].get("ownerReferences") if change.before else None
        if before and before != owners:
            for owner in before:
                self._forget(owner["uid"], place)
                yield from self._waiting(owner["uid"])
        if change.type == "DELETED":
            self._places.pop(place.uid, None)
            yield from self._dependents.get(place.uid, ())
            for owner in owners:
                self._forget(owner["uid"], place)
                yield from self._waiting(owner["uid"])
            return
        self._places[place.uid] = place
        for owner in owners:
            self._dependents.setdefault(owner["uid"], {})[place] = None
        if owners and before != owners:
            yield place
        if "deletionTimestamp" in metadata:
            finalizers = metadata.get("finalizers") or ()
            if FOREGROUND in finalizers or ORPHAN in finalizers:
                yield place

    def _forget(self, owner: str, place: _Place) -> None:
        known = self._dependents.get(owner)
        if known is not None:
            known.pop(place, None)
            if not known:
                del self._dependents[owner]

    def _waiting(self, uid: str) -> Iterator[Hashable]:
        owner = self._places.get(uid)
        if owner is not None:
            yield owner

    async def sync(self, key: Hashable) -> float | None:
        """Look at one object."""
        if not isinstance(key, _Place):
            raise TypeError(f"no object: {key!r}")
        entry = self._entry(key)
        if entry is None:
            return None
        metadata = entry.obj["metadata"]
        finalizers = metadata.get("finalizers") or ()
        if "deletionTimestamp" in metadata:
            if ORPHAN in finalizers:
                self._orphan(key, entry)
            elif FOREGROUND in finalizers:
                self._foreground(key, entry)
            return None
        if metadata.get("ownerReferences"):
            self._collect(key, entry)
        return None

    def _entry(self, place: _Place) -> Entry | None:
        collection = self._internal.backend.store.collection(place.name)
        entry = collection.entries.get(place.key)
        return entry if entry is not None and entry.uid == place.uid else None

    def _orphan(self, place: _Place, entry: Entry) -> None:
        """Let the dependents go, then the finalizer."""
        for dependent in list(self._dependents.get(place.uid, ())):
            found = self._entry(dependent)
            if found is not None:
                self._drop_references(dependent, found, {place.uid})
        self._drop_finalizer(place, entry, ORPHAN)

    def _foreground(self, place: _Place, entry: Entry) -> None:
        """Delete the dependents; the finalizer goes when none is left that blocks."""
        blocking = False
        for dependent in list(self._dependents.get(place.uid, ())):
            found = self._entry(dependent)
            if found is None:
                continue
            blocks = any(
                owner["uid"] == place.uid and owner.get("blockOwnerDeletion")
                for owner in found.obj["metadata"].get("ownerReferences") or ()
            )
            if "deletionTimestamp" not in found.obj["metadata"]:
                self._collect(dependent, found)
            if blocks and self._entry(dependent) is not None:
                blocking = True
        if not blocking:
            self._drop_finalizer(place, entry, FOREGROUND)

    def _collect(self, place: _Place, entry: Entry) -> None:
        """Delete an object without an owner left, or drop the references to owners that are gone."""
        solid, dangling, waiting = self._classified(place, entry)
        if solid:
            if dangling or waiting:
                self._drop_references(place, entry, dangling | waiting)
            return
        if waiting and self._dependents.get(place.uid):
            policy = "Foreground"
        else:
            finalizers = entry.obj["metadata"].get("finalizers") or ()
            policy = (
                "Orphan"
                if ORPHAN in finalizers
                else "Foreground"
                if FOREGROUND in finalizers
                else "Background"
            )
        self._internal.delete(place.name, entry, DeleteOptions(policy=policy))

    def _classified(self, place: _Place, entry: Entry) -> tuple[set[str], set[str], set[str]]:
        """The uids of the owners that are there, that are gone, and that wait for their dependents."""
        solid, dangling, waiting = set[str](), set[str](), set[str]()
        namespace = place.key.partition("/")[0]
        for owner in entry.obj["metadata"]["ownerReferences"]:
            uid = owner["uid"]
            there = self._places.get(uid)
            # An owner of another namespace can't be one.
            if there is None or there.key.partition("/")[0] not in {"", namespace}:
                dangling.add(uid)
                continue
            found = self._entry(there)
            metadata = found.obj["metadata"] if found is not None else {}
            leaves = "deletionTimestamp" in metadata and FOREGROUND in (metadata.get("finalizers") or ())
            if leaves and owner.get("blockOwnerDeletion"):
                waiting.add(uid)
            else:
                solid.add(uid)
        return solid, dangling, waiting

    def _drop_references(self, place: _Place, entry: Entry, uids: set[str]) -> None:
        owners = entry.obj["metadata"].get("ownerReferences") or ()
        kept = [owner for owner in owners if owner["uid"] not in uids]
        self._internal.changed_metadata(place.name, entry, ownerReferences=kept)

    def _drop_finalizer(self, place: _Place, entry: Entry, finalizer: str) -> None:
        finalizers = entry.obj["metadata"].get("finalizers") or ()
        kept = [one for one in finalizers if one != finalizer]
        self._internal.changed_metadata(place.name, entry, finalizers=kept)
