"""Scenarios of runs that last: longer than a drain waits, longer than a shard is away, cut off or not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

from openclaw import ConfigMap, Context, Result
from openclaw.runtime.reconciler import Reconciler
from openclaw.testing.simulation.contracts import Invariant, Setting, Violation, World, Write
from tests.simulation.scenarios.more_late import slow_writes
from tests.simulation.scenarios.sharding import GRAINS, GrainScenario
from tests.simulation.scenarios.sharding_kinds import Grain, GrainReconciler

_LONGEST: Final = 4.0
"""Seconds that a write is on its way at most: less than from the end of a fence to that of its Lease."""


class StubbornGrainReconciler(GrainReconciler):
    """Takes longer than a drain waits, and swallows its cancellation."""

    seconds: ClassVar = 14.0
    seconds_more: ClassVar = 8.0

    async def reconcile(self, ctx: Context, obj: Grain) -> Result:
        """Wait; where that is cut off, wait on; then as ever."""
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            await asyncio.sleep(self.seconds_more)
        return await super().reconcile(ctx, obj)


class Stubborn(GrainScenario):
    """Runs that cannot be cut off outlast the hand-over of their slots: only the fence holds their writes."""

    name = "shards-stubborn"
    most = 12

    def setting(self) -> Setting:
        """Only what makes a shard lose its slots."""
        kinds = frozenset({"pause", "partition", "lost-lease-writes", "restart", "scale"})
        return replace(super().setting(), faults=kinds)

    def reconcilers(self, world: World, version: int) -> Sequence[Reconciler[Any]]:
        """The stubborn ones."""
        return [StubbornGrainReconciler()]


class LongGrainReconciler(GrainReconciler):
    """Takes a minute: in the midst of it a shard can lose its slots, and have them again."""

    seconds: ClassVar = 60.0
    deadline: ClassVar = 300.0

    async def reconcile(self, ctx: Context, obj: Grain) -> Result:
        """Wait, then as ever."""
        await asyncio.sleep(self.seconds)
        return await super().reconcile(ctx, obj)


class SaysWhatWasAsked(Invariant):
    """A status that names a generation says what the spec of that generation asks for."""

    name = "says-what-was-asked"

    def __init__(self) -> None:
        self._asked: dict[tuple[str, int], str] = {}

    def on_write(self, world: World, write: Write) -> None:
        """Remember what is asked for; compare with it what a status newly names."""
        after = write.after
        if write.resource != GRAINS or after is None:
            return
        uid, text = after["metadata"]["uid"], after["spec"]["text"]
        self._asked[uid, after["metadata"]["generation"]] = text
        status = after.get("status") or {}
        named = status.get("observedGeneration")
        if named is None or named == ((write.before or {}).get("status") or {}).get("observedGeneration"):
            return
        asked = self._asked[uid, named]
        if status.get("said") != asked:
            raise Violation(
                self.name,
                f"{write.namespace}/{write.name}: generation {named} asks for {asked!r}, "
                f"and the status that names it says {status.get('said')!r}",
            )


class Long(Stubborn):
    """A shard is away for so long that others act on its slots, and back before its own runs would end."""

    name = "shards-long"

    def invariants(self) -> Sequence[Invariant]:
        """A spec changes in the midst of nearly each run."""
        return [SaysWhatWasAsked()]

    def reconcilers(self, world: World, version: int) -> Sequence[Reconciler[Any]]:
        """Those that take long."""
        return [LongGrainReconciler()]


class ChattyGrainReconciler(GrainReconciler):
    """Writes again and again until it is done: the last write before a fence goes down is never long ago."""

    deadline: ClassVar = 120.0
    writes: ClassVar = 40

    async def reconcile(self, ctx: Context, obj: Grain) -> Result:
        """Count in the ConfigMap, then as ever."""
        for number in range(self.writes if obj.status.said != obj.spec.text else 0):
            text = {"text": obj.spec.text, "number": str(number)}
            await ctx.apply(ConfigMap(name=obj.name, data=text), exact=["data"])
            await asyncio.sleep(0.5)
        return await super().reconcile(ctx, obj)


class LastWords(Stubborn):
    """What a shard sends right before its fence goes down takes seconds: nobody acts until it is there."""

    name = "shards-last-words"
    most = 6

    def setting(self) -> Setting:
        """Only what keeps Leases from being renewed."""
        return replace(super().setting(), faults=frozenset({"lost-lease-writes", "partition"}))

    def reconcilers(self, world: World, version: int) -> Sequence[Reconciler[Any]]:
        """Those that write much."""
        return [ChattyGrainReconciler()]

    async def users(self, world: World) -> None:
        """The API server is slow to take writes of objects."""
        end = slow_writes(world, there=_LONGEST)
        await super().users(world)
        await super().users(world)
        end()


SCENARIOS: Final = (Stubborn, Long, LastWords)
