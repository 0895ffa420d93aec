"""At most one shard acts on an object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from openclaw._core import SlotSet
from openclaw._core import slot as slot_of
from openclaw.testing.simulation.contracts import Act, Invariant, Violation, World, Write
from openclaw.testing.simulation.invariants.declared import Declared, describe

__all__ = ["OneShardActs"]


@dataclass(slots=True)
class _Holder:
    """Who began to act on a slot last, and when."""

    shard: str
    since: float
    order: int


class OneShardActs(Invariant):
    """At most one shard acts on an object at a moment, and none writes after another has begun.

    Two things are held to it. No two reconciles that may write (`Act.fenced`) are of one slot and of two
    shards. And once a shard has gained a slot, begun a reconcile there, or written there, no other writes in
    this slot before it has itself gained it, or begun a later one: so a request of a paused or cut-off shard
    that comes late is found, even where its reconcile is no more.
    """

    name: Final = "one-shard-acts"

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._holders: dict[int, _Holder] = {}
        self._seen: dict[tuple[str, str, tuple[str, str], float], int] = {}
        self._order = 0

    def on_log(self, world: World, shard: str, record: Mapping[str, Any]) -> None:
        """Learn who acts on a slot in which nothing is to be done yet."""
        if record.get("message") == "slots gained":
            for slot in SlotSet.parse(record["slots"]):
                self._holds(slot, shard, world.now())

    def on_turn(self, world: World) -> None:
        """Compare the reconciles at work."""
        acts = world.acts()
        if len(acts) > 1:
            able: dict[int, str] = {}
            for act in acts:
                if act.fenced and able.setdefault(act.slot, act.shard) != act.shard:
                    raise Violation(
                        self.name,
                        f"slot {act.slot}: {able[act.slot]} and {act.shard} may both write, the latter for "
                        f"{act.controller} {'/'.join(act.key)}",
                    )
        for act in acts:
            if act.fenced:
                self._begun(act)

    def _begun(self, act: Act) -> None:
        """A reconcile is at work: its shard has the slot, unless another began later."""
        place = act.shard, act.controller, act.key, act.began
        if place not in self._seen:
            self._order += 1
            self._seen[place] = self._order
        order = self._seen[place]
        holder = self._holders.get(act.slot)
        # Much happens in one simulated instant; then what was seen first was first.
        if holder is None or (
            holder.shard != act.shard and (act.began, order) > (holder.since, holder.order)
        ):
            self._holders[act.slot] = _Holder(act.shard, act.began, order)
        elif holder.shard == act.shard:
            holder.since = max(holder.since, act.began)

    def _holds(self, slot: int, shard: str, at: float) -> None:
        self._order += 1
        self._holders[slot] = _Holder(shard, at, self._order)

    def on_write(self, world: World, write: Write) -> None:
        """Hold a write of a root or a child against who acts on its slot."""
        if not self._declared.by_shard(world, write):
            return
        obj = write.after or write.before
        root = self._declared.root_of(write.resource, obj)
        if obj is None or root is None:
            return
        slot = slot_of(root.uid)
        for act in world.acts():
            if act.slot == slot and act.shard == write.actor:
                self._begun(act)
        holder = self._holders.get(slot)
        if holder is not None and holder.shard != write.actor:
            raise Violation(
                self.name,
                f"{write.actor} wrote {describe(write.resource, obj)} of slot {slot} ({write.verb}), "
                f"on which {holder.shard} acts since {holder.since:.3f} s",
            )
        self._holds(slot, write.actor, write.at)
