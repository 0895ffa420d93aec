"""What other people put on roots and children stays as they put it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from openclaw.testing.simulation.contracts import Invariant, Violation, World, Write
from openclaw.testing.simulation.invariants.declared import Declared, conditions_of, describe
from openclaw.testing.simulation.invariants.fieldsets import foreign_changes, owned_by

__all__ = ["OthersAreLeftAlone"]

Object = Mapping[str, Any]

# What a Service's type brings with it, the API server takes away with it.
_OF_THE_TYPE: Final = (
    "nodePort",
    "externalTrafficPolicy",
    "allocateLoadBalancerNodePorts",
    "healthCheckNodePort",
)
_NOT_A_MAP: Final = frozenset({"metadata", "spec", "status"})


class OthersAreLeftAlone(Invariant):
    """A shard changes nothing that is somebody else's.

    - Of a child: only fields that its own server-side apply states, or has stated; what else was there stays:
      labels, annotations, finalizers, containers, everything. A map that is wholly the operator's (`exact`)
      may lose what others put into it.
    - Of a root: its own finalizer, annotations that it set itself, and the status; of the status' conditions
      those that it set itself. Never the spec, never another's entry.
    - It deletes only what it controls, and never a root; it writes no object that is not a root, a child, a
      Lease or an Event.
    """

    name: Final = "others-are-left-alone"

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._conditions: dict[str, set[str]] = {}
        self._annotations: dict[str, set[str]] = {}

    def on_write(self, world: World, write: Write) -> None:
        """Compare the object before and after."""
        if write.resource.startswith(("leases.", "events")) or not self._declared.by_shard(world, write):
            return
        if self._declared.is_root(write.resource):
            self._root(write)
        else:
            self._child(write)

    def _fail(self, write: Write, text: str) -> Violation:
        where = describe(write.resource, write.after or write.before or {})
        return Violation(self.name, f"{write.actor}, {write.verb} of {where}: {text}")

    # Roots

    def _root(self, write: Write) -> None:
        before, after = write.before, write.after
        if before is None:
            raise self._fail(write, "a shard made a root")
        if after is None:
            finalizers = before["metadata"].get("finalizers") or []
            ours = self._declared.finalizers[write.resource]
            if write.verb == "delete" or finalizers != [ours]:
                raise self._fail(write, f"a shard deleted a root, held by {finalizers}")
            return
        if write.subresource == "status":
            self._status(write, before, after)
            return
        if before.get("spec") != after.get("spec"):
            raise self._fail(write, "the spec was changed")
        self._metadata(write, before["metadata"], after["metadata"])

    def _metadata(self, write: Write, old: Object, new: Object) -> None:
        if old["uid"] != new["uid"]:
            raise self._fail(write, "the write was meant for another object of this name")
        for part in ("labels", "ownerReferences"):
            if old.get(part) != new.get(part):
                raise self._fail(write, f"metadata.{part} was changed")
        ours = self._declared.finalizers[write.resource]
        was_held = [it for it in old.get("finalizers") or () if it != ours]
        held = [it for it in new.get("finalizers") or () if it != ours]
        if was_held != held:
            raise self._fail(write, f"finalizers of others went from {was_held} to {held}")
        put_by_us = self._annotations.setdefault(new["uid"], set())
        was, now = old.get("annotations") or {}, new.get("annotations") or {}
        for key in was.keys() | now.keys():
            if was.get(key) == now.get(key):
                continue
            if key in was and key not in put_by_us:
                raise self._fail(write, f"the annotation {key} is not the operator's")
            put_by_us.add(key)

    def _status(self, write: Write, before: Object, after: Object) -> None:
        uid = after["metadata"]["uid"]
        ours = self._conditions.setdefault(uid, set())
        was, now = conditions_of(before), conditions_of(after)
        if before["metadata"]["uid"] != uid:
            raise self._fail(write, "the status was meant for another object of this name")
        for kind in was.keys() | now.keys():
            if was.get(kind) == now.get(kind):
                continue
            if kind in was and kind not in ours:
                raise self._fail(write, f"the condition {kind} is not the operator's")
            ours.add(kind)

    # Children

    def _child(self, write: Write) -> None:
        before, after = write.before, write.after
        root = self._declared.root_of(write.resource, before if before is not None else after)
        if before is None:
            if root is None:
                raise self._fail(write, "a shard made an object that has no root")
            return
        manager = self._declared.field_manager
        if root is None:
            if next(self._declared.controllers(before), None) is not None:
                raise self._fail(write, "it is controlled by somebody else")
            if not owned_by(before, manager, applied=True):
                raise self._fail(write, "it is nobody's, and the operator has never applied it")
        if after is None or "deletionTimestamp" in after["metadata"].keys() - before["metadata"].keys():
            return
        for path in self._changes(write, before, after):
            raise self._fail(write, f"{path} is not the operator's")

    def _changes(self, write: Write, before: Object, after: Object) -> Iterator[str]:
        manager = self._declared.field_manager
        if write.verb == "patch" and not write.subresource:
            # A merge patch takes foreign keys out of maps that are wholly the operator's.
            before = {key: it for key, it in before.items() if key in _NOT_A_MAP or key not in after}
        ours = [*owned_by(before, manager), *owned_by(after, manager, applied=True)]
        for path in foreign_changes(before, after, ours):
            if not (write.resource == "services" and path.rpartition(".")[2] in _OF_THE_TYPE):
                yield path
