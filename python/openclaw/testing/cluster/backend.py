"""What the verbs share: the store, the machinery, and how an object is found in a version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import orjson

from openclaw.testing.cluster.clock import Chance, Clock
from openclaw.testing.cluster.contracts import Machinery, Object, Resource, User
from openclaw.testing.cluster.registry import Registry
from openclaw.testing.cluster.routing import Target
from openclaw.testing.cluster.statuses import not_found
from openclaw.testing.cluster.store import Entry, Store, key_of
from openclaw.testing.cluster.views import shown

__all__ = ["Backend", "StoreReader"]


@dataclass(slots=True)
class Backend:
    """The parts that every verb works with."""

    store: Store
    registry: Registry
    machinery: Machinery
    clock: Clock
    chance: Chance
    reader: StoreReader = field(init=False)

    def __post_init__(self) -> None:
        self.reader = StoreReader(self.store, self.registry)

    def entry(self, resource: Resource, namespace: str, name: str) -> Entry:
        """An object as it is stored.

        Raises StatusError (404).
        """
        found = self.store.collection(resource.stored_as).entries.get(key_of(namespace, name))
        if found is None:
            raise not_found(resource.group, resource.plural, name)
        return found

    @staticmethod
    def as_stored(target: Target) -> bool:
        """Whether the request sees objects just as they are stored."""
        resource = target.resource
        return target.version.name == resource.storage and resource.stored_as[0] == resource.group

    async def in_version(self, target: Target, objects: Sequence[Object]) -> list[Object]:
        """Stored objects in the version of the request."""
        if self.as_stored(target):
            return list(objects)
        resource = target.resource
        seen = [shown(resource, obj) for obj in objects]
        if target.version.name == resource.storage:
            return seen
        return await self.machinery.conversion.convert(resource, seen, target.version.name)

    async def raw(self, target: Target, entry: Entry) -> bytes:
        """A stored object in the version of the request, as JSON."""
        if self.as_stored(target):
            return entry.raw
        return orjson.dumps((await self.in_version(target, [entry.obj]))[0])


class StoreReader:
    """Reads what is stored, for admission, controllers and whoever else asks inside the server."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry

    def get(self, group: str, plural: str, namespace: str, name: str) -> Object | None:
        """One object in its storage version."""
        entry = self._store.collection((group, plural)).entries.get(key_of(namespace, name))
        return None if entry is None else entry.obj

    def list(self, group: str, plural: str, namespace: str = "") -> Iterable[Object]:
        """All objects, of one namespace or of all."""
        return (entry.obj for entry in self._store.collection((group, plural)).scan(namespace))

    def resource(self, group: str, plural: str) -> Resource | None:
        """The resource of that name."""
        return self._registry.find(group, plural)


SYSTEM = User("system:kube-controller-manager", ("system:masters", "system:authenticated"))
"""Who the controllers inside the cluster are."""
