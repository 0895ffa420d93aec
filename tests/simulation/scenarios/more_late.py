"""A scenario of a slow API server: writes take seconds, there and back, and others do not wait for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from openclaw.testing.cluster.faults import Fault, RequestInfo
from openclaw.testing.simulation.contracts import Setting, World
from openclaw.testing.simulation.transport import current_arrival
from tests.simulation.scenarios.refusals import refusals
from tests.simulation.scenarios.sharding import CONFIG_MAPS, GRAINS, GrainScenario
from tests.simulation.scenarios.sharding_kinds import Grain

_LONGEST: Final = 2.0
"""Seconds that a write, and then its answer, are on their way at most."""


def slow_writes(world: World, *, there: float = 0.0, back: float = 0.0) -> Callable[[], None]:
    """From now on the operator's writes of Grains and ConfigMaps take a while; returns how to end that.

    Args:
        world: where.
        there: seconds that a write is on its way at most.
        back: seconds that its answer is.
    """
    chance = world.chance

    def slow(info: RequestInfo) -> Fault | None:
        arrival = current_arrival()
        if arrival is None or arrival.actor == "user" or not info.writes:
            return None
        if info.resource not in {GRAINS, CONFIG_MAPS}:
            return None
        return Fault(delay=chance.random() * there, answer_delay=chance.random() * back)

    return world.cluster.faults.at_requests(slow)


class Late(GrainScenario):
    """Users change, spoil, delete, make again and audit while the operator's writes are on their way."""

    name = "shards-late"
    most = 8

    def setting(self) -> Setting:
        """Watches are bad besides."""
        kinds = frozenset({"late-events", "broken-watches", "repeated-events", "restart"})
        return replace(super().setting(), faults=kinds)

    async def users(self, world: World) -> None:
        """Many changes, each within the seconds that a write takes."""
        chance = world.chance

        end = slow_writes(world, there=_LONGEST, back=_LONGEST)
        names = [f"grain-{number}" for number in range(chance.randint(1, self.most))]
        for name in names:
            await self._create(world, name)
        for _ in range(chance.randint(20, 60)):
            name = chance.choice(names)
            await world.sleep(chance.random() * _LONGEST)
            await chance.choice((self._change, self._change, self._audit, self._spoil, self._remake))(
                world, name
            )
        end()

    async def _spoil(self, world: World, name: str) -> None:
        """Change what the operator states, right after it was stated."""
        grain = _grain(world, name)
        if grain is not None:
            namespace = grain["metadata"]["namespace"]
            text = str(world.chance.randrange(100))
            with refusals():
                await world.user.patch("ConfigMap", namespace, name, {"data": {"text": text}})

    async def _remake(self, world: World, name: str) -> None:
        """Delete a Grain, and make another one of the name at once."""
        grain = _grain(world, name)
        if grain is not None:
            namespace = grain["metadata"]["namespace"]
            body = {"apiVersion": Grain.resource.api_version, "kind": "Grain", "metadata": {"name": name}}
            with refusals():
                await world.user.delete(Grain, namespace, name)
                text = f"again {world.chance.randrange(100)}"
                await world.user.create({**body, "spec": {"text": text}}, namespace=namespace)

    async def _audit(self, world: World, name: str) -> None:
        """Put a condition of one's own into a status."""
        grain = _grain(world, name)
        if grain is None:
            return
        metadata, told = grain["metadata"], (grain.get("status") or {}).get("conditions") or ()
        audited = {
            "type": "Audited",
            "status": "True",
            "reason": "Seen",
            "message": str(world.chance.randrange(100)),
            "lastTransitionTime": metadata["creationTimestamp"],
        }
        conditions = [*(it for it in told if it["type"] != "Audited"), audited]
        patch = {
            "metadata": {"resourceVersion": metadata["resourceVersion"]},
            "status": {"conditions": conditions},
        }
        with refusals():
            await world.user.patch(Grain, metadata["namespace"], name, patch, subresource="status")


def _grain(world: World, name: str) -> dict[str, Any] | None:
    """The Grain of a name, in whatever namespace."""
    return next((it for it in world.cluster.list(GRAINS) if it["metadata"]["name"] == name), None)


SCENARIOS: Final = (Late,)
