"""A scenario of nodes that are lost: their shards are killed, and never come back."""

from __future__ import annotations

from typing import Any, Final

from openclaw.testing.simulation.contracts import World
from tests.simulation.scenarios.sharding import GrainScenario


class LostNodes(GrainScenario):
    """Shards die without a word, and nobody has their names again; what they held is the others'."""

    name = "shards-lost"
    shards = 3
    most = 12

    async def users(self, world: World) -> None:
        """A load as ever; in the middle of it a node goes, or two."""
        await super().users(world)
        processes: Any = getattr(world, "processes")  # noqa: B009 - of simulated worlds only
        for _ in range(world.chance.randint(1, 2)):
            shard = world.chance.choice([it for it in processes if it.wanted])
            world.note(f"the node of {shard.name} is lost")
            shard.wanted = False
            processes.kill(shard)
            await world.sleep(world.chance.random() * 30)
        await super().users(world)


SCENARIOS: Final = (LostNodes,)
