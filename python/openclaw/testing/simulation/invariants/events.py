"""Events are few."""

from __future__ import annotations

from collections import Counter
from typing import Final

from openclaw.testing.simulation.contracts import Invariant, Violation, World, Write
from openclaw.testing.simulation.invariants.declared import Declared

__all__ = ["EventsAreFew"]

_BURST: Final = 25
_REFILL_SECONDS: Final = 300.0


class EventsAreFew(Invariant):
    """Of one object a shard writes 25 Events or repetitions in a row, then one in five minutes.

    These are the limits of client-go's recorder, and ours; each start of a shard has them anew. An Event is
    about an object that the shard is for, or a part of the operator itself.
    """

    name: Final = "events-are-few"

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._written: Counter[tuple[str, str]] = Counter()
        self._first: dict[tuple[str, str], float] = {}
        self._starts: Counter[str] = Counter()
        self._running: frozenset[str] = frozenset()

    def on_turn(self, world: World) -> None:
        """Count the starts of shards."""
        running = frozenset(world.shards)
        if running != self._running:
            self._starts.update(running - self._running)
            self._running = running

    def on_write(self, world: World, write: Write) -> None:
        """Count an Event."""
        if write.after is None or not write.resource.startswith("events"):
            return
        if not self._declared.by_shard(world, write):
            return
        regarding = write.after.get("regarding") or write.after.get("involvedObject") or {}
        place = write.actor, str(regarding.get("uid"))
        self._written[place] += 1
        first = self._first.setdefault(place, write.at)
        allowed = _BURST * max(1, self._starts[write.actor]) + 1 + (write.at - first) / _REFILL_SECONDS
        if self._written[place] > allowed:
            raise Violation(
                self.name,
                f"{write.actor} wrote {self._written[place]} Events about {regarding.get('kind')} "
                f"{regarding.get('namespace')}/{regarding.get('name')} within {write.at - first:.0f} s",
            )
