"""What a shard writes is never invalid."""

from __future__ import annotations

from typing import Final

from openclaw.testing.simulation.contracts import Invariant, Violation, World, Write
from openclaw.testing.simulation.invariants.declared import Declared, conditions_of, describe

__all__ = ["WritesAreValid"]

_INVALID: Final = "Invalid"


class WritesAreValid(Invariant):
    """No shard tells, in an Event or a condition, that the API server found a write of its own invalid.

    Users' input is checked when they give it. So an invalid write is the operator's own mistake: a field that
    there is not, a label that is none, a second controller of one object.
    """

    name: Final = "writes-are-valid"

    def __init__(self, declared: Declared) -> None:
        self._declared = declared

    def on_write(self, world: World, write: Write) -> None:
        """Look at what is told."""
        after = write.after
        if after is None or not self._declared.by_shard(world, write):
            return
        told = ""
        if write.resource.startswith("events") and after.get("reason") == _INVALID:
            told = str(after.get("note") or after.get("message"))
        elif self._declared.is_root(write.resource):
            invalid = (it for it in conditions_of(after).values() if it.get("reason") == _INVALID)
            told = next((str(it.get("message")) for it in invalid), "")
        if told:
            raise Violation(self.name, f"{describe(write.resource, after)}, by {write.actor}: {told}")
