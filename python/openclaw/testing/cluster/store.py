"""What the cluster holds, with its past: each change has a revision, and any revision can be looked at again.

Revisions are those of all collections together, as etcd's. A collection keeps its changes until they are
compacted; the state at a revision is the present one with the later changes undone.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

__all__ = ["Change", "Collection", "Compacted", "Entry", "Key", "Name", "Stale", "Store", "TooNew", "key_of"]

Object = dict[str, Any]

Name = tuple[str, str]
"""Group and plural of the resource whose objects a collection holds."""

Key = str
"""`namespace/name`, or `/name`: sorted as etcd sorts, byte by byte."""

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"


class Stale(Exception):
    """The object is no longer as the writer saw it."""


class Compacted(Exception):
    """That revision is no longer known; `oldest` is the oldest that is."""

    def __init__(self, oldest: int) -> None:
        super().__init__(f"compacted up to {oldest}")
        self.oldest = oldest


class TooNew(Exception):
    """That revision has not come yet; `current` is the newest."""

    def __init__(self, current: int) -> None:
        super().__init__(f"the current revision is {current}")
        self.current = current


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """An object as it was written once.

    Attributes:
        obj: parsed; never to be changed.
        raw: the same as JSON; begins with `apiVersion` and `kind`.
    """

    key: Key
    revision: int
    obj: Object
    raw: bytes

    @property
    def uid(self) -> str:
        """`metadata.uid`."""
        uid: str = self.obj["metadata"]["uid"]
        return uid


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A write.

    Attributes:
        entry: the object afterwards; of a deletion its last state, with the revision of the deletion.
        before: the object before; None when it was created.
        encoded: a place for watches to share what they made of it.
    """

    type: str
    revision: int
    entry: Entry
    before: Entry | None
    encoded: dict[Any, bytes] = field(default_factory=dict)


class Collection:
    """The objects of one resource, and their changes since the last compaction."""

    def __init__(self, name: Name) -> None:
        self.name = name
        self.entries: dict[Key, Entry] = {}
        self.keys: list[Key] = []
        self.changes: list[Change] = []
        self.oldest = 0
        self.watchers: dict[Callable[[Change], None], None] = {}

    def scan(self, namespace: str = "") -> Iterable[Entry]:
        """The present objects, of one namespace or of all, in the order of their keys."""
        entries = self.entries
        return (entries[key] for key in _range(self.keys, namespace))

    def at(self, revision: int, namespace: str = "") -> list[Entry]:
        """The objects as they were at a revision.

        Raises Compacted.
        """
        if revision < self.oldest:
            raise Compacted(self.oldest)
        undone: dict[Key, Entry | None] = {}
        for change in reversed(self.changes):
            if change.revision <= revision:
                break
            undone[change.entry.key] = change.before
        if not undone:
            return list(self.scan(namespace))
        keys = sorted({*self.keys, *undone})
        found = (undone.get(key, self.entries.get(key)) for key in _range(keys, namespace))
        return [entry for entry in found if entry is not None]

    def get_at(self, revision: int, key: Key) -> Entry | None:
        """One object as it was at a revision.

        Raises Compacted.
        """
        if revision < self.oldest:
            raise Compacted(self.oldest)
        entry = self.entries.get(key)
        for change in reversed(self.changes):
            if change.revision <= revision:
                break
            if change.entry.key == key:
                entry = change.before
        return entry

    def since(self, revision: int) -> list[Change]:
        """The changes after a revision.

        Raises Compacted.
        """
        if revision < self.oldest:
            raise Compacted(self.oldest)
        first = bisect_right(self.changes, revision, key=lambda change: change.revision)
        return self.changes[first:]

    def forget(self, revision: int) -> None:
        """Compact: nothing before `revision` can be looked at any more."""
        if revision > self.oldest:
            self.oldest = revision
            first = bisect_right(self.changes, revision, key=lambda change: change.revision)
            del self.changes[:first]


class Store:
    """All collections.

    Args:
        history: how many changes of a collection are kept at least; older ones are compacted by and by.
    """

    def __init__(self, *, history: int = 2_000) -> None:
        self.revision = 1
        self._history = history
        self._collections: dict[Name, Collection] = {}
        self._listeners: dict[Callable[[Name, Change], None], None] = {}

    def collection(self, name: Name) -> Collection:
        """The collection of a resource; an empty one where nothing was written yet."""
        found = self._collections.get(name)
        if found is None:
            found = self._collections[name] = Collection(name)
        return found

    def collections(self) -> Iterator[Collection]:
        """All collections that were ever asked for."""
        return iter(list(self._collections.values()))

    def listen(self, listener: Callable[[Name, Change], None]) -> Callable[[], None]:
        """Have `listener` called with each change, within the write; returns how to end that."""
        self._listeners[listener] = None
        return lambda: self._listeners.pop(listener, None)

    def create(self, name: Name, key: Key, obj: Object) -> Entry:
        """Store a new object; `metadata.resourceVersion` is set in it.

        Raises Stale when there is one of that key.
        """
        collection = self.collection(name)
        if key in collection.entries:
            raise Stale
        entry = self._entry(key, obj)
        collection.entries[key] = entry
        insort(collection.keys, key)
        self._changed(collection, Change(ADDED, entry.revision, entry, None))
        return entry

    def update(self, name: Name, before: Entry, obj: Object) -> Entry:
        """Store another state of an object; `metadata.resourceVersion` is set in it.

        Raises Stale when `before` is not its present state.
        """
        collection = self.collection(name)
        if collection.entries.get(before.key) is not before:
            raise Stale
        entry = self._entry(before.key, obj)
        collection.entries[before.key] = entry
        self._changed(collection, Change(MODIFIED, entry.revision, entry, before))
        return entry

    def delete(self, name: Name, before: Entry) -> Entry:
        """Remove an object; returns its last state, with the revision of the deletion.

        Raises Stale when `before` is not its present state.
        """
        collection = self.collection(name)
        if collection.entries.get(before.key) is not before:
            raise Stale
        obj = {**before.obj, "metadata": dict(before.obj["metadata"])}
        entry = self._entry(before.key, obj)
        del collection.entries[before.key]
        del collection.keys[bisect_left(collection.keys, before.key)]
        self._changed(collection, Change(DELETED, entry.revision, entry, before))
        return entry

    def compact(self, revision: int | None = None) -> None:
        """Forget what was before a revision, or before now: older watches and lists get 410."""
        for collection in self._collections.values():
            collection.forget(self.revision if revision is None else revision)

    def drop(self, name: Name) -> None:
        """Forget a collection that is empty, with its past: its resource is gone."""
        self._collections.pop(name, None)

    def _entry(self, key: Key, obj: Object) -> Entry:
        # Counted when it is certain that it can be written.
        revision = self.revision + 1
        obj["metadata"]["resourceVersion"] = str(revision)
        raw = orjson.dumps(obj)
        self.revision = revision
        return Entry(key, revision, obj, raw)

    def _changed(self, collection: Collection, change: Change) -> None:
        changes = collection.changes
        changes.append(change)
        if len(changes) > 2 * self._history:
            collection.forget(changes[-self._history - 1].revision)
        for watcher in list(collection.watchers):
            watcher(change)
        for listener in list(self._listeners):
            listener(collection.name, change)


def key_of(namespace: str, name: str) -> Key:
    """The key of an object; the namespace of cluster-scoped ones is ""."""
    return f"{namespace}/{name}"


def _range(keys: list[Key], namespace: str) -> list[Key]:
    if not namespace:
        return list(keys)
    return keys[bisect_left(keys, f"{namespace}/") : bisect_left(keys, f"{namespace}0")]
