"""What the operator under simulation says of itself: its root kinds, its finalizers, its field manager."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from openclaw.runtime.reconciler import Reconciler
from openclaw.testing.simulation.contracts import World, Write

__all__ = ["Declared", "Root", "conditions_of", "describe"]

Object = dict[str, Any]

_USER: Final = "user"


class Root(NamedTuple):
    """The root that an object belongs to: itself, or the one that its controller reference names."""

    resource: str
    namespace: str
    name: str
    uid: str


class Declared:
    """The kinds that the simulated operator is for.

    Args:
        reconcilers: those of one shard; all shards have the same.
        field_manager: the name under which shards own fields.
    """

    def __init__(self, reconcilers: Iterable[Reconciler[Any]], field_manager: str = "openclaw") -> None:
        self.field_manager: Final = field_manager
        self._roots: dict[tuple[str, str], str] = {}
        self.finalizers: dict[str, str | None] = {}
        self._actors: set[str] = set()
        for reconciler in reconcilers:
            kind = reconciler.root.resource
            self._roots[kind.group, kind.kind] = kind.qualified
            self.finalizers[kind.qualified] = reconciler.finalizer

    @property
    def resources(self) -> Iterable[str]:
        """The root kinds, as `plural.group`."""
        return self.finalizers

    def by_shard(self, world: World, write: Write) -> bool:
        """Whether a shard made this change, one that has ended meanwhile included."""
        self._actors.update(world.shards)
        return write.actor in self._actors

    def is_root(self, resource: str) -> bool:
        """Whether the kind is one that the operator is for."""
        return resource in self.finalizers

    def root_of(self, resource: str, obj: Mapping[str, Any] | None) -> Root | None:
        """The root that an object is or belongs to; None of what is no object of the operator's."""
        if obj is None:
            return None
        metadata = obj["metadata"]
        namespace = metadata.get("namespace") or ""
        if resource in self.finalizers:
            return Root(resource, namespace, metadata["name"], metadata["uid"])
        for owner in self.controllers(obj):
            group = owner["apiVersion"].rpartition("/")[0]
            kind = self._roots.get((group, owner["kind"]))
            if kind is not None:
                return Root(kind, namespace, owner["name"], owner["uid"])
        return None

    @staticmethod
    def controllers(obj: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """The owner references that say `controller`."""
        return (it for it in obj["metadata"].get("ownerReferences") or () if it.get("controller"))

    def roots(self, world: World) -> Iterator[tuple[str, Object]]:
        """All roots there are now, each with its kind."""
        for resource in self.finalizers:
            for obj in world.cluster.list(resource):
                yield resource, obj


def conditions_of(obj: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    """The conditions in a status, by type; empty where there are none."""
    found = ((obj or {}).get("status") or {}).get("conditions") or ()
    return {it["type"]: it for it in found}


def describe(resource: str, obj: Mapping[str, Any]) -> str:
    """An object's kind, namespace and name, for messages."""
    metadata = obj["metadata"]
    return f"{resource} {metadata.get('namespace', '')}/{metadata['name']}".replace(" /", " ")
