"""A scenario of hours in which nothing happens, but what happens in every cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from openclaw.testing.simulation.contracts import Setting, World
from tests.simulation.scenarios.sharding import GrainScenario
from tests.simulation.scenarios.sharding_kinds import Grain

_REMEMBERED_SECONDS: Final = 300.0
"""kube-apiserver has etcd forget what is older, as often."""

_SECONDS: Final = 700.0


class Quiet(GrainScenario):
    """Nobody changes the Grains for long: the past is forgotten, watches end, connections break."""

    name = "shards-quiet"
    most = 6

    def setting(self) -> Setting:
        """No fault is drawn."""
        return replace(super().setting(), faults=frozenset())

    async def users(self, world: World) -> None:
        """Make a few Grains, then leave them alone."""
        for number in range(world.chance.randint(1, self.most)):
            await self._create(world, f"grain-{number}")
        forgetting = asyncio.ensure_future(_forget_the_past(world))
        try:
            end = world.now() + _SECONDS
            while world.now() < end:
                await world.sleep(world.chance.uniform(60.0, 400.0))
                world.cluster.cut_watches()
            await world.user.delete(Grain, *_some(world))
        finally:
            forgetting.cancel()


async def _forget_the_past(world: World) -> None:
    """As the API server's compaction of etcd does."""
    while True:
        revision = world.cluster.store.revision
        await world.sleep(_REMEMBERED_SECONDS)
        world.cluster.store.compact(revision)


def _some(world: World) -> tuple[str, str]:
    grains: Sequence[dict[str, Any]] = world.cluster.list(Grain.resource.qualified)
    metadata = world.chance.choice(grains)["metadata"]
    return metadata["namespace"], metadata["name"]


SCENARIOS: Final = (Quiet,)
