"""Deletion ends."""

from __future__ import annotations

from typing import Final

from openclaw.testing.simulation.contracts import Invariant, Violation, World
from openclaw.testing.simulation.invariants.declared import Declared, describe

__all__ = ["DeletionEnds"]


class DeletionEnds(Invariant):
    """Once faults have stopped, no root is held by the operator's finalizer, or by none, while it is deleted.

    What others' finalizers hold may stay.
    """

    name: Final = "deletion-ends"

    def __init__(self, declared: Declared) -> None:
        self._declared = declared

    def at_rest(self, world: World) -> None:
        """Look for roots that do not go."""
        for resource, obj in self._declared.roots(world):
            metadata = obj["metadata"]
            if "deletionTimestamp" not in metadata:
                continue
            held = metadata.get("finalizers") or []
            ours = self._declared.finalizers[resource]
            if not held or ours in held:
                raise Violation(
                    self.name,
                    f"{describe(resource, obj)} is being deleted since {metadata['deletionTimestamp']} and "
                    f"does not go; finalizers: {held}",
                )
