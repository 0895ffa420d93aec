"""A scenario of finalizers: somebody else's is on an object that goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from openclaw.kube.errors import NotFound
from openclaw.runtime.reconciler import Reconciler
from openclaw.testing.simulation.contracts import Violation, World
from tests.simulation.scenarios.sharding import GRAINS, GrainScenario
from tests.simulation.scenarios.sharding_kinds import Grain, HeldGrainReconciler

_KEEP: Final = "example.com/keep"


class HeldByOthers(GrainScenario):
    """Somebody else's finalizer is on the Grains, and stays until he takes it off."""

    name = "held-by-others"

    def reconcilers(self, world: World, version: int) -> Sequence[Reconciler[Any]]:
        """Those with a finalizer of their own."""
        return [HeldGrainReconciler()]

    async def users(self, world: World) -> None:
        """Make one, delete it, and take the finalizer off a while later."""
        body = {"apiVersion": Grain.resource.api_version, "kind": "Grain"}
        metadata = {"name": "grain-0", "finalizers": [_KEEP]}
        await world.user.create({**body, "metadata": metadata, "spec": {"text": "one"}}, namespace="default")
        await world.sleep(world.chance.random() * 20)
        await world.user.delete(Grain, "default", "grain-0")
        await world.sleep(world.chance.random() * 60)
        grain = world.cluster.get(GRAINS, "default", "grain-0")
        finalizers = [] if grain is None else grain["metadata"].get("finalizers") or []
        if _KEEP not in finalizers:
            raise Violation("others-are-left-alone", f"the finalizer {_KEEP} is gone: {finalizers}")
        while (grain := world.cluster.get(GRAINS, "default", "grain-0")) is not None:
            rest = [it for it in grain["metadata"].get("finalizers") or [] if it != _KEEP]
            version = grain["metadata"]["resourceVersion"]
            try:
                await world.user.patch(
                    Grain,
                    "default",
                    "grain-0",
                    {"metadata": {"finalizers": rest, "resourceVersion": version}},
                )
            except NotFound:
                return
            await world.sleep(1.0)


SCENARIOS: Final = (HeldByOthers,)
