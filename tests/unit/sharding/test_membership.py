"""A shard in its group: what it tells its host, and what becomes of it when that fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import orjson
import pytest
from prometheus_client import CollectorRegistry

from openclaw.api.builtin import Lease
from openclaw.sharding import Fence, Membership, ShardOptions, Workload, boot_clock
from openclaw.sharding.leases import LeaseRecord, Leases
from openclaw.telemetry.shards import ShardMetrics
from openclaw.testing.cluster.cluster import FakeCluster
from tests.integration.reliability.waiting import eventually

Slots = frozenset[int]


class Host:
    """Notes what it is told.

    Attributes:
        kept: the slots that were read and not dropped.
        drains: for how many seconds runs may go on, of each drain.
        cancelled: how many drains were cancelled.
        gate: drains end when it is open.
        fault: raised by each start.
    """

    def __init__(self, fence: Fence) -> None:
        self.fence = fence
        self.kept: set[int] = set()
        self.drains: list[float] = []
        self.cancelled = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.fault: Exception | None = None

    async def warm(self, slots: Slots) -> None:
        self.kept |= slots

    def start(self, slots: Slots) -> None:
        if self.fault is not None:
            raise self.fault
        self.fence.start(slots)

    async def drain(self, slots: Slots, seconds: float) -> None:
        self.drains.append(seconds)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        self.fence.stop(slots)

    def drop(self, slots: Slots) -> None:
        self.kept -= slots

    def abandon(self, why: str) -> None:
        self.fence.lose(why)

    def workload(self) -> Workload:
        return Workload(0, 0, 0, 0)


class Shard:
    """A member, its host and its fence."""

    def __init__(self, cluster: FakeCluster, name: str, covers: str, clock: Callable[[], float]) -> None:
        self.options = ShardOptions(name=name, group="g", namespace="default")
        self.fence = Fence(name, clock)
        self.host = Host(self.fence)
        self.leases = Leases(cluster.transport(), "default", "g")
        self.member = Membership(
            self.options,
            cluster.transport(),
            "default",
            self.host,
            fence=self.fence,
            metrics=ShardMetrics(CollectorRegistry()),
            covers=covers,
            clock=clock,
        )
        self.task = asyncio.create_task(self.member.run())

    async def settled(self, share: int) -> None:
        await eventually(lambda: len(self.fence.acting) == share, f"{self.options.name} to act on {share}")

    async def end(self) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError, RuntimeError):
            await self.task


class Group:
    """Shards on one API server."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self.shards: list[Shard] = []

    def begin(self, name: str, covers: str = "all", clock: Callable[[], float] = boot_clock) -> Shard:
        self.shards.append(Shard(self.cluster, name, covers, clock))
        return self.shards[-1]


@asynccontextmanager
async def a_group() -> AsyncIterator[Group]:
    async with FakeCluster(controllers=False) as cluster:
        group = Group(cluster)
        try:
            yield group
        finally:
            for shard in group.shards:
                await shard.end()


@pytest.fixture
async def group() -> AsyncIterator[Group]:
    async with a_group() as made:
        yield made


def _as(lease: LeaseRecord, state: str, later: int) -> LeaseRecord:
    """A Lease as it would be in another state, some versions later."""
    content = {**orjson.loads(lease.content), "state": state}
    return replace(lease, version=str(int(lease.version) + later), content=orjson.dumps(content).decode())


async def test_a_host_that_cannot_begin_ends_the_shard_and_acts_on_nothing(group: Group) -> None:
    shard = group.begin("g-0")
    shard.host.fault = ValueError("a slot is not kept")
    with pytest.raises(RuntimeError, match="a step of the hand-over failed") as raised:
        await asyncio.wait_for(shard.task, 10)
    assert raised.value.__cause__ is shard.host.fault
    assert shard.fence.remaining < 0
    assert shard.member.unready() is not None


async def test_slots_that_are_given_up_before_they_are_read_are_not_kept(group: Group) -> None:
    shard, other = group.begin("g-0"), group.begin("g-1")
    await shard.settled(128)
    await other.settled(128)
    share = set(shard.host.kept)
    [lease] = [it for it in await shard.leases.list() if it.shard == "g-1"]
    # Both in one chunk of the watch: the other goes, and is back.
    shard.member._told(_as(lease, "released", 1000))
    shard.member._told(_as(lease, "active", 2000))
    await eventually(lambda: not shard.member._tasks, "the end of all steps")
    assert shard.host.kept == share


async def test_the_drain_of_an_earlier_term_does_not_outlast_it(group: Group) -> None:
    shard = group.begin("g-0")
    await shard.settled(256)
    shard.host.gate.clear()
    group.begin("g-1")
    await eventually(lambda: shard.host.drains, "a drain")
    await group.cluster.client().delete(Lease, "default", "g-0")
    await eventually(lambda: shard.host.cancelled, "the end of the drain")


async def test_runs_are_cut_off_in_time_to_say_so(group: Group) -> None:
    shard = group.begin("g-0")
    await shard.settled(256)
    await shard.member.leave(None, within=5)
    assert 0 < shard.host.drains[0] < 4
    assert await shard.leases.list() == []


async def test_shards_that_are_there_for_different_objects_are_told_of(group: Group) -> None:
    one, other, third = group.begin("g-0"), group.begin("g-1"), group.begin("g-2", covers="namespace a")
    await eventually(lambda: one.member.view.standing().different == 1, "one that differs")
    assert other.member.view.standing().different == 1
    assert third.member.view.standing().different == 2


async def test_a_lease_that_lists_do_not_show_is_told_of_and_not_stormed(
    group: Group, caplog: pytest.LogCaptureFixture
) -> None:
    client = group.cluster.client()
    theirs = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "g-0"}}
    await client.create(theirs, namespace="default")
    stopped: float | None = boot_clock()
    shard = group.begin("g-0", clock=lambda: boot_clock() if stopped is None else stopped)
    taken = "the name of this shard's Lease is taken"
    await eventually(lambda: taken in caplog.text and not shard.member._tasks, "a warning")
    for _ in range(100):
        await asyncio.sleep(0)
    assert caplog.text.count(taken) == 1  # while the clock stands still, the pause does not end
    stopped = None
    await client.delete(Lease, "default", "g-0")
    await shard.settled(256)
