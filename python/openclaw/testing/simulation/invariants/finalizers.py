"""The operator's finalizer goes on before the first effect, and is the operator's alone."""

from __future__ import annotations

from typing import Final

from openclaw.testing.simulation.contracts import Invariant, Violation, World, Write
from openclaw.testing.simulation.invariants.declared import Declared, describe

__all__ = ["FinalizerFirst"]


class FinalizerFirst(Invariant):
    """Of kinds with a finalizer.

    - No child is made for a root that is there without it: whoever deleted the root at this moment would
      leave what the finalizer is there to undo.
    - A shard puts on no other finalizer than its own, and its own on no object that is being deleted; it
      takes its own off an object that is being deleted only.
    - Once on, it is there until the object is being deleted (users may take it off; that is theirs to do).
    """

    name: Final = "finalizer-first"

    def __init__(self, declared: Declared) -> None:
        self._declared = declared

    def on_write(self, world: World, write: Write) -> None:
        """Look at what a shard did to finalizers, and at what it made without one."""
        if not self._declared.by_shard(world, write):
            return
        if self._declared.is_root(write.resource):
            self._root(write)
        elif write.before is None:
            self._child(world, write)

    def _root(self, write: Write) -> None:
        if write.before is None:
            return
        ours = self._declared.finalizers[write.resource]
        was = write.before["metadata"].get("finalizers") or []
        now = [] if write.after is None else write.after["metadata"].get("finalizers") or []
        if was == now:
            return
        where = describe(write.resource, write.before)
        deleting = "deletionTimestamp" in write.before["metadata"]
        for added in set(now) - set(was):
            if added != ours or deleting:
                raise Violation(self.name, f"{where}: {write.actor} put on the finalizer {added}")
        for removed in set(was) - set(now):
            if removed != ours:
                raise Violation(self.name, f"{where}: {write.actor} took off the finalizer {removed}")
            if not deleting:
                raise Violation(
                    self.name, f"{where}: {write.actor} took off {removed} of an object that nobody deletes"
                )

    def _child(self, world: World, write: Write) -> None:
        root = self._declared.root_of(write.resource, write.after)
        if root is None or write.after is None:
            return
        ours = self._declared.finalizers[root.resource]
        if ours is None:
            return
        live = world.cluster.get(root.resource, root.namespace, root.name)
        if live is None or live["metadata"]["uid"] != root.uid:
            return  # the garbage collector takes the child
        if ours not in (live["metadata"].get("finalizers") or ()):
            where = describe(write.resource, write.after)
            raise Violation(
                self.name,
                f"{where} was made while {describe(root.resource, live)} lacks the finalizer {ours}",
            )
