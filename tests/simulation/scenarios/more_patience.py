"""Scenarios of patience: what fails is tried ever less often, what is throttled waits as it is asked to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from openclaw import Context, Result
from openclaw.runtime.reconciler import Reconciler
from openclaw.testing.simulation.contracts import Invariant, Request, Setting, Violation, World
from tests.simulation.scenarios.sharding import GRAINS, GrainScenario
from tests.simulation.scenarios.sharding_kinds import Grain, GrainReconciler

_FAILS: Final = "fails"
_FAILING_SECONDS: Final = 300.0
_MOST_ATTEMPTS: Final = 20
"""0.1 s, doubled with each failure and jittered: a dozen in five minutes."""

_RUN_SECONDS: Final = 3.0
_SOON_SECONDS: Final = 30.0
_LEAST_WAIT: Final = 0.99
"""The shortest Retry-After of the simulated server is a second."""


class FailingGrainReconciler(GrainReconciler):
    """Fails while a Grain says so."""

    def __init__(self) -> None:
        self.attempts = 0

    async def reconcile(self, ctx: Context, obj: Grain) -> Result:
        """Count, and fail where it has to."""
        self.attempts += 1
        if obj.spec.text == _FAILS:
            raise TimeoutError("what is needed is away")
        return await super().reconcile(ctx, obj)


class Failing(GrainScenario):
    """What fails for minutes is tried a few times, not thousands."""

    name = "patience-failing"
    shards = 0

    def __init__(self) -> None:
        self._reconciler = FailingGrainReconciler()

    def setting(self) -> Setting:
        """Nothing goes wrong besides."""
        return Setting(crds=[Grain], reconcilers=self.reconcilers, shards=0, faults=frozenset())

    def reconcilers(self, world: World, version: int) -> Sequence[Reconciler[Any]]:
        """The failing one. A process that begins knows nothing of the failures of the one before it."""
        self._reconciler.attempts = 0
        return [self._reconciler]

    async def users(self, world: World) -> None:
        """Make one that fails; put it right after minutes."""
        body = {"apiVersion": Grain.resource.api_version, "kind": "Grain", "metadata": {"name": "grain-0"}}
        await world.user.create({**body, "spec": {"text": _FAILS}}, namespace="default")
        await world.sleep(_FAILING_SECONDS)
        if self._reconciler.attempts > _MOST_ATTEMPTS:
            raise Violation("backs-off", f"{self._reconciler.attempts} runs in {_FAILING_SECONDS:g} s")
        await world.user.patch(Grain, "default", "grain-0", {"spec": {"text": "well"}})


class WaitsAsAsked(Invariant):
    """A write that was answered with 429 is not sent again before the time that the answer names."""

    name = "waits-as-asked"
    _writes: ClassVar = frozenset({"create", "update", "patch", "apply", "delete"})

    def __init__(self) -> None:
        self._refused: dict[tuple[str, ...], float] = {}

    def on_request(self, world: World, request: Request) -> None:
        """Compare with the last one."""
        if request.verb not in self._writes or request.resource.startswith("events"):
            return
        place = request.verb, request.resource, request.subresource, request.namespace, request.name
        at = self._refused.pop(place, None)
        if at is not None and request.at - at < _LEAST_WAIT:
            raise Violation(self.name, f"{' '.join(place)}: {request.at - at:.3f} s after it was throttled")
        if request.code == 429:
            self._refused[place] = request.at


class Throttled(GrainScenario):
    """The API server throttles."""

    name = "patience-throttled"
    shards = 0

    def setting(self) -> Setting:
        """It does nothing else that is wrong."""
        only = frozenset({"throttling"})
        return Setting(crds=[Grain], reconcilers=self.reconcilers, shards=0, faults=only)

    def invariants(self) -> Sequence[Invariant]:
        """The wait."""
        return [WaitsAsAsked()]


class WaitingGrainReconciler(GrainReconciler):
    """Takes a while, and wants to look again in an hour."""

    async def reconcile(self, ctx: Context, obj: Grain) -> Result:
        """As ever, but for the time."""
        await asyncio.sleep(_RUN_SECONDS)
        await super().reconcile(ctx, obj)
        return Result.after(3600.0)


class Waiting(GrainScenario):
    """What waits for its time keeps no change waiting that comes meanwhile, or in the midst of a run."""

    name = "patience-waiting"
    shards = 0

    def setting(self) -> Setting:
        """Nothing goes wrong."""
        return Setting(crds=[Grain], reconcilers=self.reconcilers, shards=0, faults=frozenset())

    def reconcilers(self, world: World, version: int) -> Sequence[Reconciler[Any]]:
        """The one that waits."""
        return [WaitingGrainReconciler()]

    async def users(self, world: World) -> None:
        """Change a Grain now and then; each change is taken up soon."""
        body = {"apiVersion": Grain.resource.api_version, "kind": "Grain", "metadata": {"name": "grain-0"}}
        await world.user.create({**body, "spec": {"text": "0"}}, namespace="default")

        def taken_up() -> bool:
            grain = world.cluster.get(GRAINS, "default", "grain-0") or {}
            told = (grain.get("status") or {}).get("observedGeneration")
            return bool(told == grain["metadata"]["generation"])

        for number in range(1, 9):
            await world.sleep(world.chance.choice((_RUN_SECONDS, 20.0)) * world.chance.random())
            await world.user.patch(Grain, "default", "grain-0", {"spec": {"text": str(number)}})
            if world.chance.random() < 0.5:
                await world.until("a change is taken up", taken_up, _SOON_SECONDS)
        await world.until("the last change is taken up", taken_up, _SOON_SECONDS)


SCENARIOS: Final = (Failing, Throttled, Waiting)
