"""The shipped manifests under the real StatefulSet controller; pods are processes with the generated role."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from openclaw._core import slot
from openclaw.sharding.leases import Leases
from openclaw.sharding.overview import Overview
from openclaw.testing import Client, ControlPlane
from tests.integration.reliability.claws import claw
from tests.integration.reliability.waiting import eventually
from tests.integration.sharding.podprocesses import PodProcesses

ROOT = Path(__file__).parents[3]
SYSTEM = "openclaw-system"
COUNT = 30

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    crds = sorted((ROOT / "crds").glob("*.yaml"))
    with ControlPlane(controller_manager=True, scheduler=True, audit=True, crds=crds) as started:
        yield started


@pytest.fixture
async def client(plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(plane.kubeconfig) as client:
        for file in ("operator.yaml", "rbac.yaml"):
            for manifest in yaml.safe_load_all((ROOT / "deploy/base" / file).read_text()):
                await client.apply(manifest)
        yield client


class Deployment:
    """The operator in the cluster."""

    def __init__(self, client: Client, pods: PodProcesses) -> None:
        self.client = client
        self.pods = pods

    async def scale(self, replicas: int) -> None:
        await self.client.patch("StatefulSet", SYSTEM, "openclaw", {"spec": {"replicas": replicas}})
        await self.settled(replicas)

    async def settled(self, replicas: int) -> None:
        """All pods are Ready, and share out all slots."""

        async def check() -> bool:
            live = await self.client.get("StatefulSet", SYSTEM, "openclaw")
            status, generation = live["status"], live["metadata"]["generation"]
            done = status.get("observedGeneration") == generation and (
                status.get("readyReplicas", 0),
                status.get("replicas"),
                status.get("updatedReplicas"),
            ) == (replicas, replicas, replicas)
            view = await self.view()
            names = [shard.name for shard in view.shards if shard.live]
            return done and not view.unowned and names == [f"openclaw-{it}" for it in range(replicas)]

        await eventually(check, f"{replicas} shards", timeout=120, interval=0.2)

    async def view(self) -> Overview:
        return Overview(
            [Leases.record(it) for it in await self.client.list("Lease", SYSTEM) if _is_shards(it)]
        )

    async def slots(self) -> dict[str, set[int]]:
        return {shard.name: set(shard.acts) for shard in (await self.view()).shards if shard.acts}

    async def quiet(self) -> bool:
        """No shard has anything to do."""
        return not any(
            [
                await process.metric(name)
                for process in self.pods.processes.values()
                for name in ("workqueue_depth", "controller_runtime_active_workers")
            ]
        )

    async def lost(self) -> dict[str, float]:
        """How many slots each process has handed over."""
        return {
            name: await process.metric("openclaw_slots_moved_total", direction="lost")
            for name, process in self.pods.processes.items()
        }


def _is_shards(lease: dict[str, Any]) -> bool:
    return "openclaw.dev/shard-group" in (lease["metadata"].get("labels") or {})


async def _versions(client: Client, namespace: str) -> dict[tuple[str, str], str]:
    return {
        (kind, it["metadata"]["name"]): it["metadata"]["resourceVersion"]
        for kind in ("OpenClaw", "Service")
        for it in await client.list(kind, namespace)
    }


async def test_scaling_and_a_rolling_update(plane: ControlPlane, client: Client, tmp_path: Path) -> None:
    async with PodProcesses(plane, tmp_path, SYSTEM) as pods, client.namespace() as namespace:
        operator = Deployment(client, pods)
        await operator.settled(1)
        made = [await client.create(claw(f"web-{number}", namespace)) for number in range(COUNT)]
        slots = {it["metadata"]["name"]: slot(it["metadata"]["uid"]) for it in made}

        def available(items: list[dict[str, Any]]) -> bool:
            conditions = [c for it in items for c in it.get("status", {}).get("conditions", ())]
            return sum((c["type"], c["status"]) == ("Available", "True") for c in conditions) == COUNT

        await client.wait_list("OpenClaw", namespace, available, timeout=60)
        before: dict[tuple[str, str], str] = {}

        async def unchanged() -> bool:
            """As at the last look, and nothing is to be done: also not after what Deployments still tell."""
            nonlocal before
            last, before = before, await _versions(client, namespace)
            return last == before and await operator.quiet()

        await eventually(unchanged, "the end of the work", interval=1.0)

        # Scaled up: each takes a share, and nothing is written.
        await operator.scale(3)
        owned = await operator.slots()
        assert sorted(map(len, owned.values())) == [85, 85, 86]
        assert await _versions(client, namespace) == before

        # A rolling update: each pod comes back to its own slots, and no other has had them meanwhile.
        lost = await operator.lost()
        template = {"metadata": {"annotations": {"example.com/restarted": "now"}}}
        await client.patch("StatefulSet", SYSTEM, "openclaw", {"spec": {"template": template}})
        await operator.settled(3)
        assert await operator.slots() == owned
        assert lost["openclaw-0"] > 0
        assert set((await operator.lost()).values()) == {0.0}  # of new processes, which gave nothing away
        gained = {
            name: await process.metric("openclaw_slots_moved_total", direction="gained")
            for name, process in pods.processes.items()
        }
        assert gained == {name: float(len(of)) for name, of in owned.items()}
        assert await _versions(client, namespace) == before

        # Every shard does its part.
        for name in slots:
            await client.patch("OpenClaw", namespace, name, {"spec": {"frontend": {"image": "web:2"}}})

        def updated(items: list[dict[str, Any]]) -> bool:
            images = [it["spec"]["template"]["spec"]["containers"][0]["image"] for it in items]
            return images.count("web:2") == COUNT

        await client.wait_list("Deployment", namespace, updated, timeout=60)

        # A container that crashes comes back to its own slots, once what was there before is surely over.
        pods.processes["openclaw-1"].signal(signal.SIGKILL)
        await pods.processes["openclaw-1"].wait()
        await operator.settled(3)
        assert await operator.slots() == owned

        # Scaled down: what goes lets go at once, whatever it could hold on to.
        await operator.scale(1)
        assert await operator.slots() == {"openclaw-0": set(range(256))}
        refused = [
            it
            for it in plane.audit_events(f"system:serviceaccount:{SYSTEM}:openclaw")
            if (it.get("responseStatus") or {}).get("code") in (401, 403)
        ]
        assert refused == []
