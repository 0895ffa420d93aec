"""The shipped controller, as it is, on a cluster in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from openclaw.controllers.openclaw import OpenClawReconciler
from openclaw.runtime.manager import Manager
from openclaw.testing.client import Client
from openclaw.testing.cluster.cluster import FakeCluster
from openclaw.testing.cluster.faults import Fault, WatchFault
from openclaw.testing.cluster.workloads import Workloads
from tests.unit.kube.virtual_time import virtual_time
from tests.unit.testing.cluster.asking import EPOCH

ROOT = Path(__file__).parents[4]
CRD = ROOT / "crds/apps.openclaw.dev_openclaws.yaml"
SAMPLE = yaml.safe_load((ROOT / "examples/openclaw/storefront.yaml").read_text())
KIND = "OpenClaw.apps.openclaw.dev"


@asynccontextmanager
async def operated(cluster: FakeCluster) -> AsyncIterator[Client]:
    manager = Manager(OpenClawReconciler(), transport=cluster.transport(user_agent="operator"))
    running = asyncio.create_task(manager.serve())
    try:
        async with cluster.client() as client:
            await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
            yield client
    finally:
        manager.stop()
        await running


def settled(claw: dict[str, Any]) -> bool:
    conditions = {one["type"]: one["status"] for one in claw["status"]["conditions"]}
    wanted = {"Available": "True", "Progressing": "False", "Degraded": "False"}
    return bool(
        claw["status"]["observedGeneration"] == claw["metadata"]["generation"]
        and wanted.items() <= conditions.items()
        and claw["status"].get("workerReadyReplicas", 0) == claw["spec"]["worker"]["replicas"]
    )


async def test_an_openclaw_converges_changes_and_goes() -> None:
    async with FakeCluster(crds=[CRD]) as cluster, operated(cluster) as client:
        await client.apply(SAMPLE)
        await client.wait_for(KIND, "shop", "storefront", settled)
        assert len(await client.list("Deployment", "shop")) == 2
        assert len(await client.list("Pod", "shop")) == 5
        cluster.audit.clear()
        await client.patch(KIND, "shop", "storefront", {"spec": {"worker": {"replicas": 7}}})
        await client.wait_for(
            KIND, "shop", "storefront", lambda it: it["spec"]["worker"]["replicas"] == 7 and settled(it)
        )
        await client.patch("Deployment", "shop", "storefront-worker", {"spec": {"replicas": 1}})
        await client.wait_for(
            "Deployment", "shop", "storefront-worker", lambda it: it["spec"]["replicas"] == 7
        )
        await client.delete(KIND, "shop", "storefront")
        await client.wait_gone(KIND, "shop", "storefront")
        for kind in ("Deployment", "Service", "Ingress", "ReplicaSet", "Pod"):
            await client.wait_list(kind, "shop", lambda found: not found)
        assert all(one.code < 400 or one.code == 404 for one in cluster.audit)


@pytest.mark.parametrize("what", ["compaction", "lost events", "lost answers", "refusals"])
async def test_an_openclaw_converges_whatever_happens(what: str) -> None:
    async with FakeCluster(crds=[CRD]) as cluster, operated(cluster) as client:
        count = 0

        def now_and_then(_: object = None, *__: object) -> bool:
            nonlocal count
            count += 1
            return count % 3 == 0

        if what == "lost answers":
            cluster.faults.at_requests(
                lambda info: (
                    Fault(lose_answer=True)
                    if info.user_agent == "operator" and info.writes and now_and_then()
                    else None
                )
            )
        elif what == "refusals":
            cluster.faults.at_requests(
                lambda info: Fault.unavailable() if info.user_agent == "operator" and now_and_then() else None
            )
        elif what == "lost events":
            cluster.faults.at_events(
                lambda watch, *_: WatchFault(cut=now_and_then()) if watch.user_agent == "operator" else None
            )
        await client.apply(SAMPLE)
        if what == "compaction":
            cluster.compact()
            cluster.cut_watches()
        await asyncio.sleep(0.2)
        cluster.faults.clear()
        await client.wait_for(KIND, "shop", "storefront", settled)


@virtual_time
async def test_hours_pass_at_once_in_virtual_time() -> None:
    loop = asyncio.get_running_loop()
    async with (
        FakeCluster(crds=[CRD], epoch=EPOCH, workloads=Workloads(startup_seconds=300)) as cluster,
        cluster.running(OpenClawReconciler()),
        cluster.client() as client,
    ):
        began = loop.time()
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        await client.apply(SAMPLE)
        await client.wait_for(KIND, "shop", "storefront", settled, timeout=3600)
        assert 300 <= loop.time() - began < 400
        await asyncio.sleep(60)  # Events come a little later.
        cluster.audit.clear()
        await asyncio.sleep(6 * 3600)
        assert {one.verb for one in cluster.audit} == {"watch"}
