"""One run: a scenario, a seed, a plan of faults; and what came of it."""

from __future__ import annotations

import asyncio
import gc
import random
import traceback
from dataclasses import dataclass
from typing import Final

from openclaw.testing.simulation.chance import seeded_chance
from openclaw.testing.simulation.clocks import simulated_clocks
from openclaw.testing.simulation.contracts import Scenario, Violation
from openclaw.testing.simulation.faults import inflict
from openclaw.testing.simulation.history import History
from openclaw.testing.simulation.invariants import standard_invariants
from openclaw.testing.simulation.loop import RunsAway, SimulatedLoop
from openclaw.testing.simulation.plan import Plan, draw_plan
from openclaw.testing.simulation.summary import Summary
from openclaw.testing.simulation.world import SimulatedWorld

__all__ = ["Outcome", "ScenarioFailed", "simulate"]

_USERS_SECONDS: Final = 3600.0
_QUIET_SECONDS: Final = 45.0
"""How long nothing may be written once all is well."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run.

    Attributes:
        violation: the first that was found; None when all is well.
        plan: the faults.
        history: what happened.
        summary: what was exercised.
        trace: how many steps it took, how long, and a digest of every answer and of every object that was
            written; the same for the same run.
    """

    scenario: str
    seed: int
    violation: Violation | None
    plan: Plan
    history: History
    summary: Summary
    trace: str


class ScenarioFailed(Exception):
    """The scenario, an invariant or the simulation failed by an error; the text is its traceback."""


def simulate(scenario: Scenario, seed: int, plan: Plan | None = None) -> Outcome:
    """Run a scenario once.

    Args:
        scenario: what users do, and what has to come of it; not used for another run.
        seed: fixes everything.
        plan: of faults; None draws one from the seed.

    Raises:
        ScenarioFailed: by an error that is no violation.
    """
    return _Run(scenario, seed, plan).run()


class _Run:
    def __init__(self, scenario: Scenario, seed: int, plan: Plan | None) -> None:
        self._scenario = scenario
        self._seed = seed
        self._text = f"{scenario.name} {seed}"
        self._setting = scenario.setting()
        self._plan = plan
        self._violation: Violation | None = None
        self._found: asyncio.Event | None = None

    def run(self) -> Outcome:
        loop = SimulatedLoop(random.Random(f"scheduler {self._text}"))
        collects, failure = gc.isenabled(), ""
        outcome: Outcome | None = None
        # What is collected when is no part of a run.
        gc.disable()
        try:
            outcome = self._outcome(loop)
        except Exception:  # noqa: BLE001 - raised again below
            failure = traceback.format_exc()
        finally:
            if collects:
                gc.enable()
        # No traceback holds on to the world by now.
        loop.dispose()
        if outcome is None:
            raise ScenarioFailed(failure)
        return outcome

    def _outcome(self, loop: SimulatedLoop) -> Outcome:
        with simulated_clocks(loop), seeded_chance(self._text):
            world = SimulatedWorld(loop, self._setting, self._text, self._violated)
            with world.listening_to_logs():
                try:
                    loop.run(self._main(world))
                except RunsAway as error:
                    self._violated(Violation("ends", str(error)))
            if loop.failures:
                self._violated(Violation("callbacks", loop.failures[0]))
        history, summary = world.history, world.summary
        summary.counts["runs"] += 1
        summary.counts["steps"] += loop.steps
        summary.counts["simulated seconds"] += int(loop.now)
        return Outcome(
            self._scenario.name,
            self._seed,
            self._violation,
            self._plan or Plan(),
            history,
            summary,
            f"{loop.steps}/{loop.now:.6f}/{world.digest.hexdigest()}",
        )

    def _violated(self, violation: Violation) -> None:
        if self._violation is None:
            # Without its traceback, which would keep all that there was.
            self._violation = Violation(violation.invariant, violation.text)
        if self._found is not None:
            self._found.set()

    async def _main(self, world: SimulatedWorld) -> None:
        found = self._found = asyncio.Event()
        await world.open()
        world.invariants = [
            *standard_invariants(self._setting.reconcilers(world, 0)),
            *self._scenario.invariants(),
        ]
        if self._plan is None:
            external = sorted(world.external.faults()) if world.external is not None else []
            self._plan = draw_plan(
                random.Random(f"plan {self._text}"),
                self._setting.shards,
                external=external,
                only=self._setting.faults,
            )
        story = asyncio.ensure_future(self._story(world, self._plan))
        watching = asyncio.ensure_future(found.wait())
        ticking = asyncio.ensure_future(_tick(world))
        await asyncio.wait((story, watching, ticking), return_when=asyncio.FIRST_COMPLETED)
        if story.done() and not story.cancelled() and (error := story.exception()) is not None:
            if not isinstance(error, Violation):
                raise error
            self._violated(error)
        for task in (story, watching, ticking):
            task.cancel()
        await world.close()
        world.summary.counts["reconciles"] += world.processes.reconciles

    async def _story(self, world: SimulatedWorld, plan: Plan) -> None:
        for shard in world.processes:
            world.processes.start(shard)
        faults = [asyncio.ensure_future(inflict(world, fault)) for fault in plan.faults]
        try:
            async with asyncio.timeout(_USERS_SECONDS):
                await self._scenario.users(world)
        except TimeoutError:
            raise Violation("users", f"are not done within {_USERS_SECONDS:g} s") from None
        world.note("users are done")
        if faults:
            await asyncio.wait(faults)
            for task in faults:
                task.result()
        world.cluster.faults.clear()
        for shard in world.processes:
            if shard.wanted:
                world.processes.start(shard)
        world.note("nothing goes wrong any more")
        await self._settle(world)
        await self._rest(world)

    async def _settle(self, world: SimulatedWorld) -> None:
        end = world.now() + self._setting.settle
        wait = 0.25
        while True:
            for shard in world.processes:
                if shard.wanted and not shard.running:
                    world.processes.start(shard)
            why = await self._scenario.unwell(world) or next(iter(world.processes.busy()), None)
            if why is None:
                return
            if world.now() >= end:
                raise Violation("converges", f"not within {self._setting.settle:g} s: {why}")
            await asyncio.sleep(wait)
            wait = min(5.0, wait * 1.5)

    async def _rest(self, world: SimulatedWorld) -> None:
        world.note("all is well")
        await asyncio.sleep(_QUIET_SECONDS)
        why = await self._scenario.unwell(world)
        if why is not None:
            raise Violation("stays-well", why)
        world.tell(lambda it: it.at_rest(world))


async def _tick(world: SimulatedWorld) -> None:
    while True:
        await asyncio.sleep(1.0)
        world.turn()
