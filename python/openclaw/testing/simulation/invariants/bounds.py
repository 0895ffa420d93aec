"""Queues and caches hold what there is, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from openclaw._core import slot as slot_of
from openclaw.runtime.informer import Informer
from openclaw.runtime.manager import Manager
from openclaw.runtime.ownership import SLOT_LABEL
from openclaw.testing.simulation.contracts import Invariant, Violation, World, Write
from openclaw.testing.simulation.invariants.declared import Declared

__all__ = ["NothingGrows"]

_EVERY_SECONDS: Final = 5.0


class NothingGrows(Invariant):
    """Queues and caches are bounded by the objects there are.

    - At any time a queue has at most one entry for each root that has ever been there: its name is its key.
    - At rest a cache holds exactly the objects of the shard's slots (or all, of kinds that are read whole):
      what a watch has missed, or a list was to make forgotten, would be there still.

    Worlds whose shards cannot be looked into are not looked into.
    """

    name: Final = "nothing-grows"

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._names: set[tuple[str, str, str]] = set()
        self._next = 0.0

    def on_write(self, world: World, write: Write) -> None:  # noqa: ARG002 - the contract
        """Remember the names of roots."""
        if self._declared.is_root(write.resource):
            self._names.add((write.resource, write.namespace, write.name))

    def on_turn(self, world: World) -> None:
        """Look at the queues, now and then."""
        if world.now() < self._next:
            return
        self._next = world.now() + _EVERY_SECONDS
        for shard, manager in _managers(world):
            for controller in manager.controllers:
                queue = controller.queue
                if len(queue) + queue.delayed > len(self._names):
                    raise Violation(
                        self.name,
                        f"{shard}: {controller.name} has {len(queue)} keys queued, {queue.delayed} delayed, "
                        f"of {len(self._names)} roots that ever were",
                    )

    def at_rest(self, world: World) -> None:
        """Compare the caches with the cluster."""
        for shard, manager in _managers(world):
            acting = None if manager.membership is None else frozenset(manager.membership.acting)
            for informer in manager.informers:
                there = sum(1 for _ in _meant(world, informer, acting))
                if len(informer.cache) != there:
                    raise Violation(
                        self.name,
                        f"{shard}: the cache of {informer.kind.qualified} holds {len(informer.cache)}, "
                        f"the cluster has {there} that are the shard's",
                    )


def _managers(world: World) -> Iterator[tuple[str, Manager]]:
    for shard in getattr(world, "processes", ()):
        if shard.manager is not None:
            yield shard.name, shard.manager


def _meant(world: World, informer: Informer, acting: frozenset[int] | None) -> Iterator[dict[str, Any]]:
    """The objects that a cache is to hold."""
    for obj in world.cluster.list(informer.kind.qualified):
        match informer.scope:
            case "roots" if acting is not None and slot_of(obj["metadata"]["uid"]) not in acting:
                continue
            case "children":
                label = (obj["metadata"].get("labels") or {}).get(SLOT_LABEL)
                if acting is not None and label not in {str(slot) for slot in acting}:
                    continue
        yield obj
