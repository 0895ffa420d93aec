"""Shards within the test: managers of one group on the real API server, and who ran what."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

from openclaw.api import ConfigMap
from openclaw.runtime import Context, Manager, Options, Reconciler, Result
from openclaw.sharding import ShardOptions
from openclaw.telemetry.tracing import Tracer
from tests.integration.framework.kinds import Widget
from tests.integration.reliability.waiting import eventually


class WidgetOwner(Reconciler[Widget]):
    """Makes a ConfigMap that holds the text, and says who did it."""

    name = "widgets"
    owns: ClassVar = (ConfigMap,)

    def __init__(self, shard: str, runs: list[tuple[str, str]]) -> None:
        self._shard = shard
        self._runs = runs

    async def reconcile(self, ctx: Context, obj: Widget) -> Result:
        self._runs.append((self._shard, obj.metadata.name))
        await ctx.apply(ConfigMap(name=obj.metadata.name, data={"text": obj.spec.text}))
        obj.status.seen = obj.spec.text
        return Result.done()


@dataclass
class Group:
    """The shards of one group.

    Attributes:
        runs: shard and object of each run, in order.
        tracers: of the shards that are traced.
    """

    kubeconfig: str
    name: str
    namespace: str
    runs: list[tuple[str, str]] = field(default_factory=list)
    managers: dict[str, Manager] = field(default_factory=dict)
    tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    tracers: dict[str, Tracer] = field(default_factory=dict)

    async def begin(self, *shards: str) -> None:
        """Start shards, and wait until the ring is as it should be."""
        for shard in shards:
            options = ShardOptions(name=shard, group=self.name, namespace=self.namespace, **self.seconds)
            manager = self.managers[shard] = Manager(
                WidgetOwner(shard, self.runs),
                options=Options(
                    kubeconfig=self.kubeconfig, namespace=self.namespace, shard=options, user_agent=shard
                ),
                tracer=self.tracers.get(shard),
            )
            self.tasks[shard] = asyncio.create_task(manager.serve())
        await self.settled()

    async def settled(self, *shards: str) -> None:
        """Wait until the shards that run share out all slots."""
        expected = sorted(shards or self.managers)

        def check() -> bool:
            for task in self.tasks.values():
                if task.done():
                    task.result()
            members = {shard: manager.membership for shard, manager in self.managers.items()}
            return all(
                member is not None
                and member.ring.names == expected
                and member.acting == member.ring.share(shard)
                for shard, member in members.items()
            )

        await eventually(check, f"the ring of {expected}", timeout=60)

    async def stop(self, shard: str) -> None:
        """End a shard in order."""
        self.managers.pop(shard).stop()
        await self.tasks.pop(shard)

    async def kill(self, shard: str) -> None:
        """End a shard as a crash would: nothing is published."""
        del self.managers[shard]
        task = self.tasks.pop(shard)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    def slots(self, shard: str) -> set[int]:
        """The slots that a shard acts on."""
        membership = self.managers[shard].membership
        assert membership is not None
        return set(membership.acting)

    def metric(self, shard: str, name: str, **labels: str) -> float:
        """A sample of a shard's metrics."""
        return float(self.managers[shard].metrics.registry.get_sample_value(name, labels) or 0)

    def quiet(self) -> bool:
        """Whether no shard has anything to do."""
        return all(
            len(it.queue) == it.queue.running == it.queue.delayed == 0
            for manager in self.managers.values()
            for it in manager.controllers
        )


@asynccontextmanager
async def group_of(
    kubeconfig: str, name: str, namespace: str, shards: Iterable[str] = (), **seconds: Any
) -> AsyncIterator[Group]:
    """A group of shards, all ended at the end."""
    group = Group(kubeconfig, name, namespace, seconds=seconds)
    try:
        await group.begin(*shards)
        yield group
    finally:
        for shard in list(group.tasks):
            await group.kill(shard)
