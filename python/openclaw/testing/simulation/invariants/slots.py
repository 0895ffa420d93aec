"""Every slot has an owner once faults have stopped."""

from __future__ import annotations

from typing import Final

from openclaw._core import ShardRecord
from openclaw.sharding.leases import SHARD_ANNOTATION
from openclaw.testing.simulation.contracts import Invariant, Violation, World

__all__ = ["EverySlotHasAnOwner"]


class EverySlotHasAnOwner(Invariant):
    """At rest each slot is acted on by exactly one of the shards that run, as their Leases say."""

    name: Final = "every-slot-has-an-owner"

    def at_rest(self, world: World) -> None:
        """Read the Leases of the shards that run."""
        owners: dict[int, list[str]] = {}
        count = 0
        sharded = False
        for lease in world.cluster.list("leases.coordination.k8s.io"):
            text = (lease["metadata"].get("annotations") or {}).get(SHARD_ANNOTATION)
            if text is None:
                continue
            sharded = True
            holder = str(lease["spec"].get("holderIdentity") or "").rpartition("_")[0]
            if holder not in world.shards:
                continue
            record = ShardRecord(text)
            count = record.slots
            for slot in record.acts:
                owners.setdefault(slot, []).append(holder)
        if not sharded:
            return
        contested = {slot: shards for slot, shards in owners.items() if len(shards) > 1}
        if contested:
            raise Violation(self.name, f"slots with several owners: {contested}")
        unowned = sorted(set(range(count)) - owners.keys())
        if unowned or not count:
            raise Violation(
                self.name, f"slots that nobody acts on: {unowned or 'all'}; shards: {world.shards}"
            )
