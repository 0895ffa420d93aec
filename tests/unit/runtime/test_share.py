"""A shard's share: runs that are under way when their slots go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import ClassVar, cast

import pytest

from openclaw.api import CustomResource, Model
from openclaw.kube.errors import Conflict
from openclaw.runtime import Context, Options, Reconciler, Result
from openclaw.runtime.controller import Controller
from openclaw.runtime.informers import Informers
from openclaw.runtime.manager import Manager
from openclaw.runtime.share import Share
from openclaw.sharding import Fence, ShardOptions
from openclaw.testing.cluster.cluster import FakeCluster
from openclaw.testing.cluster.faults import Fault
from tests.integration.reliability.waiting import eventually
from tests.unit.kube.virtual_time import virtual_time

SLOTS = frozenset({1, 2})


class Stubborn:
    """A controller whose runs do not end when they are cut off."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()

    recorder = None

    async def drain(self, slots: frozenset[int], seconds: float) -> bool:
        await self.gate.wait()
        return False

    def abandon(self, why: str) -> None:
        """Nothing ends."""


async def test_a_drain_that_ends_in_a_later_term_stops_nothing() -> None:
    fence = Fence("g-0")
    controller = Stubborn()
    share = Share(Informers(), [cast("Controller", controller)], fence)
    share.start(SLOTS)
    draining = asyncio.create_task(share.drain(SLOTS, 10))
    await asyncio.sleep(0)
    share.abandon("a pause")
    share.start(SLOTS)
    controller.gate.set()
    await draining
    assert fence.acting == SLOTS
    assert fence.begins(1)


class Cutting(Stubborn):
    """One that has cut off a run."""

    async def drain(self, slots: frozenset[int], seconds: float) -> bool:
        await asyncio.sleep(seconds)
        return True


@virtual_time
async def test_after_a_run_was_cut_off_its_last_write_is_waited_for() -> None:
    loop, fence = asyncio.get_running_loop(), Fence("g-0")
    share = Share(Informers(), [cast("Controller", Cutting())], fence, margin=5.0)
    share.start(SLOTS)
    began = loop.time()
    draining = asyncio.create_task(share.drain(SLOTS, 10))
    await asyncio.sleep(10.5)
    assert not fence.acting, "nothing new is written meanwhile"
    assert not draining.done()
    await draining
    assert loop.time() - began == 15.0


class Mark(CustomResource, group="share.example.com", version="v1"):
    class Spec(Model):
        text: str = ""

    spec: Spec = Spec()


class Marker(Reconciler[Mark]):
    """Waits for the gate, then meets a conflict, which is tried again at once."""

    name: ClassVar = "marks"
    emits_events = True

    def __init__(self) -> None:
        self.runs = 0
        self.gate = asyncio.Event()

    async def reconcile(self, ctx: Context, obj: Mark) -> Result:
        self.runs += 1
        await self.gate.wait()
        ctx.event("Marked", "the last word but one")
        ctx.event("Marked", "the last word")
        raise Conflict(409, "Conflict")


@asynccontextmanager
async def _a_shard(cluster: FakeCluster, marker: Marker) -> AsyncIterator[Manager]:
    shard = ShardOptions(name="g-0", group="g", namespace="default")
    async with cluster:
        await cluster.client().create(Mark.from_dict({"metadata": {"name": "m", "namespace": "default"}}))
        async with cluster.running(marker, options=Options(shard=shard)) as manager:
            yield manager


@pytest.fixture
def marker() -> Marker:
    return Marker()


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster(crds=[Mark], controllers=False)


async def test_no_run_begins_while_its_slot_is_drained(cluster: FakeCluster, marker: Marker) -> None:
    async with _a_shard(cluster, marker) as manager:
        await eventually(lambda: marker.runs, "a run")
        [controller] = manager.controllers
        cache = manager.informers[Mark.resource].cache
        manager.stop()
        await eventually(lambda: not cache.active, "the drain")
        marker.gate.set()
        assert controller.queue.running == 1
    assert marker.runs == 1


async def test_what_the_last_runs_say_is_sent_before_the_slots_are_let_go(
    cluster: FakeCluster, marker: Marker
) -> None:
    async with _a_shard(cluster, marker) as manager:
        cluster.faults.at_requests(lambda it: Fault(delay=0.1) if it.resource.startswith("events") else None)
        await eventually(lambda: marker.runs, "a run")
        cache = manager.informers[Mark.resource].cache
        manager.stop()
        await eventually(lambda: not cache.active, "the drain")
        marker.gate.set()
    assert [it["message"] for it in cluster.list("events")] == ["the last word but one", "the last word"]
