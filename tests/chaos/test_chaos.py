"""Five shards on a bad day, judged by the API server's audit log.

Processes are killed, paused beyond their Lease, cut off from the API server, added, taken away and restarted,
while objects change all the time. `make chaos` does so for longer, with more objects.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from openclaw._core import slot
from openclaw.api import ConfigMap
from openclaw.manifests.crd import custom_resource_definition
from openclaw.sharding.leases import GROUP_LABEL, Leases
from openclaw.sharding.overview import Overview
from openclaw.testing import Client, ControlPlane
from tests.chaos.judge import judge
from tests.chaos.operator import Item
from tests.chaos.shards import GROUP, USERS, Shard
from tests.integration.reliability.waiting import eventually

ROOTS = int(os.environ.get("OPENCLAW_CHAOS_ROOTS", "150"))
SECONDS = float(os.environ.get("OPENCLAW_CHAOS_SECONDS", "0"))
SEED = int(os.environ.get("OPENCLAW_CHAOS_SEED", "1"))
LEASE_SECONDS = 15.0
BEYOND = 18.0
"""Longer than a Lease."""

pytestmark = [pytest.mark.integration, pytest.mark.timeout(SECONDS + 400)]


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlane(audit="Request") as started:
        yield started


@pytest.fixture
async def client(plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(plane.kubeconfig) as client:
        await client.install_crds(custom_resource_definition(Item))
        yield client


def report(text: str) -> None:
    """Shown with `-s`, and when the test fails."""
    sys.stdout.write(f"{text}\n")


class World:
    """The shards, the objects, and what is done to them."""

    def __init__(self, plane: ControlPlane, client: Client, namespace: str, folder: Path) -> None:
        self.plane = plane
        self.client = client
        self.namespace = namespace
        self.folder = folder
        self.shards: dict[str, Shard] = {}
        self.slots: dict[str, int] = {}
        self.wanted: dict[str, str] = {}
        self.changes = 0
        self.log: list[str] = []
        self.calm_down = asyncio.Event()
        self.random = random.Random(SEED)

    def note(self, text: str) -> None:
        self.log.append(f"{datetime.now(UTC):%H:%M:%S.%f} {text}")

    async def add(self, name: str) -> None:
        self.note(f"add {name}")
        self.shards[name] = Shard(self.plane, name, self.namespace, self.folder)
        await self.shards[name].start()

    async def populate(self) -> None:
        for number in range(ROOTS):
            name = f"item-{number}"
            item = {"apiVersion": "chaos.test.openclaw.dev/v1", "kind": "Item", "metadata": {"name": name}}
            made = await self.client.create({**item, "spec": {"text": "0"}}, namespace=self.namespace)
            self.slots[name] = slot(made["metadata"]["uid"])
            self.wanted[name] = "0"

    async def change(self) -> None:
        """Change objects, one after the other, until `calm_down` is set."""
        while not self.calm_down.is_set():
            name = self.random.choice(list(self.slots))
            self.changes += 1
            text = str(self.changes)
            await self.client.patch(Item, self.namespace, name, {"spec": {"text": text}})
            self.wanted[name] = text
            await asyncio.sleep(0.02)

    # What is done to shards.

    async def crash(self, name: str, away: float) -> None:
        self.note(f"kill {name}")
        await self.shards[name].kill()
        await asyncio.sleep(away)
        self.note(f"start {name}")
        await self.shards[name].start()

    async def pause(self, name: str, seconds: float) -> None:
        self.note(f"pause {name}")
        self.shards[name].send(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        self.note(f"continue {name}")
        self.shards[name].send(signal.SIGCONT)

    async def cut_off(self, name: str, seconds: float, *, silently: bool) -> None:
        self.note(f"cut off {name}")
        proxy = self.shards[name].proxy
        if silently:
            proxy.silent = True
        else:
            proxy.refuse = True
            proxy.cut()
        await asyncio.sleep(seconds)
        self.note(f"reconnect {name}")
        proxy.silent = proxy.refuse = False

    async def roll(self, name: str) -> None:
        self.note(f"restart {name}")
        await self.shards[name].stop()
        await self.shards[name].start()

    async def come_and_go(self, name: str, seconds: float) -> None:
        await self.add(name)
        await asyncio.sleep(seconds)
        self.note(f"take away {name}")
        shard = self.shards.pop(name)
        await shard.stop()
        await shard.close()

    async def all_kinds(self) -> None:
        """Everything once, much of it at the same time."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.crash("chaos-0", 1.0))
            group.create_task(self.pause("chaos-1", BEYOND))
            group.create_task(self.cut_off("chaos-2", BEYOND, silently=True))
            group.create_task(self.come_and_go("chaos-5", 6.0))
        async with asyncio.TaskGroup() as group:
            group.create_task(self.roll("chaos-3"))
            group.create_task(self.cut_off("chaos-4", BEYOND, silently=False))
            group.create_task(self.crash("chaos-1", BEYOND))

    async def random_kinds(self, seconds: float) -> None:
        """One thing after the other to shards that are free, by the seed."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        busy: dict[str, asyncio.Task[None]] = {}
        extra = 10
        while loop.time() < until:
            await asyncio.sleep(self.random.uniform(0.5, 4.0))
            free = [name for name in self.shards if name not in busy or busy[name].done()]
            for task in busy.values():
                if task.done():
                    task.result()
            if len(free) <= 2:
                continue
            name = self.random.choice(free)
            away = self.random.choice([0.0, 2.0, 9.0, BEYOND, 25.0])
            match self.random.randrange(5):
                case 0:
                    busy[name] = asyncio.create_task(self.crash(name, away))
                case 1:
                    busy[name] = asyncio.create_task(self.pause(name, away))
                case 2:
                    silently = self.random.random() < 0.5
                    busy[name] = asyncio.create_task(self.cut_off(name, away, silently=silently))
                case 3:
                    busy[name] = asyncio.create_task(self.roll(name))
                case _:
                    extra += 1
                    busy[f"chaos-{extra}"] = asyncio.create_task(self.come_and_go(f"chaos-{extra}", away))
        await asyncio.gather(*busy.values())

    # How it has to end.

    async def overview(self) -> Overview:
        items = await self.client.list("Lease", self.namespace)
        mine = [it for it in items if (it["metadata"].get("labels") or {}).get(GROUP_LABEL) == GROUP]
        return Overview(map(Leases.record, mine))

    async def calm(self, timeout: float = 90.0) -> None:
        """All slots have an owner, and every change is reconciled."""

        async def owned() -> bool:
            view = await self.overview()
            return not view.unowned and not view.contested and not view.dissenters

        await eventually(owned, "each slot's owner", timeout=timeout, interval=0.2)

        def seen(items: list[dict[str, Any]]) -> bool:
            return {it["metadata"]["name"]: it.get("status", {}).get("seen") for it in items} == self.wanted

        def held(items: list[dict[str, Any]]) -> bool:
            data = {it["metadata"]["name"]: (it.get("data") or {}).get("text") for it in items}
            return {name: data.get(name) for name in self.wanted} == self.wanted

        await self.client.wait_list(Item, self.namespace, seen, timeout=timeout)
        await self.client.wait_list(ConfigMap, self.namespace, held, timeout=timeout)


async def test_no_two_shards_act_on_an_object_and_nothing_is_lost(
    plane: ControlPlane, client: Client, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        namespace = await stack.enter_async_context(client.namespace())
        world = World(plane, client, namespace, tmp_path)
        await world.populate()
        for number in range(5):
            await world.add(f"chaos-{number}")
        try:
            await world.calm()
            changing = asyncio.create_task(world.change())
            try:
                await world.all_kinds()
                if SECONDS:
                    await world.random_kinds(SECONDS)
            finally:
                world.calm_down.set()
                await changing
            await world.calm()
        finally:
            report("\n".join(world.log))
            async with asyncio.TaskGroup() as group:
                for shard in world.shards.values():
                    group.create_task(shard.close())
        verdict = judge(plane.audit_events(), world.slots, prefix=USERS, lease_seconds=LEASE_SECONDS)
        summary = (
            f"{len(world.shards)} shards, {ROOTS} objects, {world.changes} changes, "
            f"{verdict.writes} writes judged, {len(verdict.tenures)} tenures, {len(verdict.faults)} faults"
        )
        report(summary)
        assert verdict.faults == []
        assert verdict.writes > world.changes / 2
        assert len({it.holder for it in verdict.tenures if it.writes}) > 5
