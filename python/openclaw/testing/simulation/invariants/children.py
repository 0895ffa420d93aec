"""Each child has one controller, and goes with it."""

from __future__ import annotations

from typing import Final

from openclaw._core import slot as slot_of
from openclaw.runtime.ownership import SLOT_LABEL
from openclaw.testing.simulation.contracts import Invariant, Violation, World, Write
from openclaw.testing.simulation.invariants.declared import Declared, describe

__all__ = ["ChildrenHaveOneOwner"]


class ChildrenHaveOneOwner(Invariant):
    """Each child has one controller, in its own namespace, and is left over by none.

    - What a shard applies has exactly one controller reference, to a root, and that root's slot as a label,
      from the very write that makes it.
    - At rest no child's controller is gone, or another object of the same name. One that was let go by an
      orphaning deletion has no controller, and may stay.
    """

    name: Final = "children-have-one-owner"

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._made: dict[tuple[str, str, str], str] = {}

    def on_write(self, world: World, write: Write) -> None:
        """Look at what a shard has applied."""
        if write.after is None or write.resource.startswith(("leases.", "events")):
            return
        if self._declared.is_root(write.resource) or not self._declared.by_shard(world, write):
            return
        if write.verb not in {"apply", "create", "update"}:
            return
        metadata = write.after["metadata"]
        where = describe(write.resource, write.after)
        owners = list(self._declared.controllers(write.after))
        root = self._declared.root_of(write.resource, write.after)
        if len(owners) != 1 or root is None:
            raise Violation(self.name, f"{where}: {write.actor} wrote it with the controllers {owners}")
        label = (metadata.get("labels") or {}).get(SLOT_LABEL)
        if label != str(slot_of(root.uid)):
            raise Violation(
                self.name, f"{where}: its label {SLOT_LABEL} is {label}, its root's slot {slot_of(root.uid)}"
            )
        self._made[write.resource, metadata.get("namespace") or "", metadata["name"]] = metadata["uid"]

    def at_rest(self, world: World) -> None:
        """Look for what is left over."""
        for (resource, namespace, name), uid in self._made.items():
            live = world.cluster.get(resource, namespace, name)
            if live is None or live["metadata"]["uid"] != uid:
                continue
            root = self._declared.root_of(resource, live)
            if root is None:
                continue  # let go by an orphaning deletion, or taken from us
            owner = world.cluster.get(root.resource, root.namespace, root.name)
            if owner is None or owner["metadata"]["uid"] != root.uid:
                raise Violation(
                    self.name, f"{describe(resource, live)} is left over: its root {root.name} is gone"
                )
