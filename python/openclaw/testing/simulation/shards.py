"""The operator's processes in a simulation: started, killed, paused, restarted."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from contextvars import Context
from typing import Any, Final

import orjson

from openclaw._core import SlotSet
from openclaw._core import slot as slot_of
from openclaw.runtime.controller import Controller
from openclaw.runtime.manager import Manager
from openclaw.runtime.options import Options
from openclaw.runtime.reconciler import Reconciler
from openclaw.sharding.fence import Fence
from openclaw.sharding.membership import NameTaken
from openclaw.sharding.options import ShardOptions
from openclaw.testing.cluster.server import ApiServer
from openclaw.testing.simulation.contracts import Act
from openclaw.testing.simulation.loop import Process, SimulatedLoop
from openclaw.testing.simulation.transport import SimulatedTransport

__all__ = ["Shard", "Shards"]

_GROUP: Final = "operator"
_NAMESPACE: Final = "kube-system"


class Shard:
    """One name, and the process that has it now.

    Attributes:
        number: from 0.
        name: of the shard; that of a StatefulSet's pod.
        version: of the operator that it runs, 0 or 1.
        wanted: whether it is meant to be there.
        cut_off: how many partitions it is in.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.name = f"{_GROUP}-{number}"
        self.version = 0
        self.wanted = True
        self.cut_off = 0
        self.process: Process | None = None
        self.manager: Manager | None = None
        self.transport: SimulatedTransport | None = None
        self.task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """Whether there is a process."""
        return self.process is not None


class Shards:
    """All of them.

    Args:
        loop: where they live.
        server: what they talk to.
        count: how many; 0 for one operator that is not sharded.
        chance: draws how long requests travel.
        outside: the context of the API server.
        reconcilers: makes those of one process.
        failed: told when a process ends by an error.
        note: told of what becomes of them.
    """

    def __init__(
        self,
        loop: SimulatedLoop,
        server: ApiServer,
        count: int,
        *,
        chance: random.Random,
        outside: Context,
        reconcilers: Callable[[int], Sequence[Reconciler[Any]]],
        failed: Callable[[str, BaseException], None],
        note: Callable[[str, str], None],
    ) -> None:
        self._loop = loop
        self._server = server
        self._chance = chance
        self._outside = outside
        self._reconcilers = reconcilers
        self._failed = failed
        self._note = note
        self.sharded = count > 0
        self.all = [Shard(number) for number in range(max(1, count))]
        self.reconciles = 0

    def __iter__(self) -> Iterator[Shard]:
        return iter(self.all)

    def running(self) -> list[Shard]:
        """Those with a process."""
        return [shard for shard in self.all if shard.running]

    def add(self) -> Shard:
        """One more name."""
        self.all.append(Shard(len(self.all)))
        return self.all[-1]

    # Life and death

    def start(self, shard: Shard) -> None:
        """A new process of this name."""
        if shard.running:
            return
        process = shard.process = self._loop.add_process(shard.name)
        transport = shard.transport = SimulatedTransport(
            self._server,
            actor=shard.name,
            outside=self._outside,
            chance=self._chance,
            reached=lambda: not shard.cut_off,
        )
        options = Options(
            tracing=False,
            shard=ShardOptions(name=shard.name, group=_GROUP, namespace=_NAMESPACE) if self.sharded else None,
        )
        self._note(shard.name, f"started, version {shard.version}")

        def make() -> Manager:
            return Manager(*self._reconcilers(shard.version), options=options, transport=transport)

        context = process.context()
        manager = shard.manager = context.run(make)
        task = shard.task = self._loop.create_task(manager.serve(), name=shard.name, context=context)
        task.add_done_callback(lambda done: self._ended(shard, process, done), context=self._outside)

    def _ended(self, shard: Shard, process: Process, task: asyncio.Task[None]) -> None:
        if shard.process is not process:
            return
        error = None if task.cancelled() else task.exception()
        self._forget(shard)
        if error is None:
            self._note(shard.name, "has ended")
            return
        self._note(shard.name, f"has ended: {error!r}")
        if not isinstance(error, NameTaken):
            self._failed(shard.name, error)

    def kill(self, shard: Shard) -> None:
        """As SIGKILL."""
        if shard.process is None or shard.transport is None:
            return
        self._note(shard.name, "is killed")
        self._loop.kill(shard.process)
        shard.transport.sever()
        self._forget(shard)

    def _forget(self, shard: Shard) -> None:
        if shard.manager is not None:
            self.reconciles += sum(it.running.begun for it in shard.manager.controllers)
        if shard.process is not None and not shard.process.dead:
            self._loop.kill(shard.process)
        if shard.transport is not None:
            shard.transport.sever()
        shard.process = shard.manager = shard.transport = shard.task = None

    async def leave(self, shard: Shard, seconds: float = 60.0) -> None:
        """As SIGTERM, and SIGKILL after so long."""
        task = shard.task
        if shard.process is None or shard.manager is None or task is None:
            return
        self._note(shard.name, "is asked to end")
        shard.process.context().run(shard.manager.stop)
        await asyncio.wait((task,), timeout=seconds)
        if shard.task is task:
            self.kill(shard)

    # What they are at

    def acts(self) -> list[Act]:
        """The reconciles at work."""
        found: list[Act] = []
        for shard in self.all:
            if shard.manager is None or shard.process is None:
                continue
            for controller in shard.manager.controllers:
                if len(controller.running):
                    found += self._acts_of(shard, shard.process, shard.manager, controller)
        return found

    def _acts_of(
        self, shard: Shard, process: Process, manager: Manager, controller: Controller
    ) -> Iterator[Act]:
        fence = manager.fence
        cache = manager.informers[controller.reconciler.root.resource].cache
        for key, since in controller.running.items():
            body = cache.get(*key)
            if body is None:
                continue
            uid = orjson.loads(body)["metadata"]["uid"]
            slot = slot_of(uid)
            began = (since - process.offset) / process.rate
            fenced = fence is None or self._may_write(fence, process, slot)
            yield Act(shard.name, controller.name, (key.namespace, key.name), uid, slot, began, fenced)

    def _may_write(self, fence: Fence, process: Process, slot: int) -> bool:
        return fence.until > process.clock(self._loop.now) and slot in fence.acting

    def busy(self) -> list[str]:
        """What they still have to do."""
        found = []
        for shard in self.running():
            for controller in shard.manager.controllers if shard.manager is not None else ():
                queue = controller.queue
                if len(queue) or queue.running:
                    found.append(
                        f"{shard.name}: {controller.name} has {len(queue)} queued, {queue.running} at work"
                    )
            for informer in shard.manager.informers if shard.manager is not None else ():
                why = informer.unready(0.0)  # a list may hang for two minutes after what made it hang is over
                if why is not None:
                    found.append(f"{shard.name}: {why}")
        if self.sharded and not found:
            found += self._unowned()
        return found

    def _unowned(self) -> list[str]:
        """Slots that wait: for a shard that may come back, a Lease that is not void yet, a hand-over."""
        memberships = [it.manager.membership for it in self.running() if it.manager is not None]
        acting = {slot for it in memberships if it is not None for slot in it.acting}
        missing = SlotSet.all() - SlotSet(acting)
        return [f"nobody acts on the slots {missing}"] if missing else []
