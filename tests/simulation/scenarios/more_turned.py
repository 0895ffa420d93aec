"""A scenario of what turns back: the answer to a status write is lost, and what it said is no longer so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from openclaw import ConfigMap, Context, Result
from openclaw.api.conditions import Available
from openclaw.runtime.reconciler import Reconciler
from openclaw.testing.cluster.faults import Fault, RequestInfo, WatchFault
from openclaw.testing.cluster.store import Change
from openclaw.testing.cluster.watching import Watch
from openclaw.testing.simulation.contracts import Setting, World
from openclaw.testing.simulation.transport import current_arrival
from tests.simulation.scenarios.refusals import refusals
from tests.simulation.scenarios.sharding import GRAINS, GrainScenario
from tests.simulation.scenarios.sharding_kinds import Grain, GrainReconciler

_MOST_LAG: Final = 8.0


class TellingGrainReconciler(GrainReconciler):
    """Says in the status what others have noted in the ConfigMap."""

    async def reconcile(self, ctx: Context, obj: Grain) -> Result:
        """State the text; say the note."""
        live = await ctx.apply(ConfigMap(name=obj.name, data={"text": obj.spec.text}))
        obj.status.said = live.data.get("note", obj.spec.text)
        obj.status.conditions.set(Available(when=True))
        return Result.done()


class TurnedBack(GrainScenario):
    """Notes come and go within seconds, while answers are lost and watches of Grains are behind."""

    name = "status-turned-back"
    shards = 0

    def setting(self) -> Setting:
        """Nothing is wrong besides."""
        return replace(super().setting(), faults=frozenset())

    def reconcilers(self, world: World, version: int) -> Sequence[Reconciler[Any]]:
        """The one that tells."""
        return [TellingGrainReconciler()]

    async def users(self, world: World) -> None:
        """Note something, and take it back; in the end there is no note."""
        chance = world.chance

        def lose(info: RequestInfo) -> Fault | None:
            arrival = current_arrival()
            told = info.subresource == "status" and arrival is not None and arrival.actor != "user"
            return Fault(lose_answer=True) if told and chance.random() < 0.5 else None

        def lag(watch: Watch, _change: Change, _kind: str) -> WatchFault | None:
            behind = watch.target.resource.qualified == GRAINS
            return WatchFault(lag=chance.random() * _MOST_LAG) if behind else None

        ends = [world.cluster.faults.at_requests(lose), world.cluster.faults.at_events(lag)]
        for number in range(3):
            await self._create(world, f"grain-{number}")
        found = (it["metadata"] for it in world.cluster.list(GRAINS))
        places = [(it["namespace"], it["name"]) for it in found]
        for _ in range(chance.randint(5, 15)):
            namespace, name = chance.choice(places)
            for note in ("noted", None):
                await world.sleep(chance.random() * 4)
                with refusals():
                    patch = {"data": {"note": note}}
                    await world.user.patch("ConfigMap", namespace, name, patch)
        for end in ends:
            end()


SCENARIOS: Final = (TurnedBack,)
