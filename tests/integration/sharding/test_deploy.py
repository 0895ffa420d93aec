"""What is in deploy/: kustomize builds it, the API server takes it, the monitoring names what there is."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from openclaw.testing import Client, ControlPlane
from openclaw.testing.binaries import find_binary
from tests.integration.monitored import EXTERNAL, metrics_named, names_in
from tests.integration.reliability.operator_process import OperatorProcess
from tests.integration.reliability.waiting import eventually

ROOT = Path(__file__).parents[3]


def built(folder: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [find_binary("kubectl"), "kustomize", str(ROOT / "deploy" / folder)],
        capture_output=True,
        check=True,
        text=True,
    )
    return list(yaml.safe_load_all(done.stdout))


@pytest.mark.parametrize(("folder", "replicas"), [("base", 1), ("overlays/three-shards", 3)])
async def test_the_api_server_takes_it(
    api_server: ControlPlane, kube_client: Client, namespace: str, folder: str, replicas: int
) -> None:
    assert api_server.url
    for manifest in built(folder):
        if manifest["metadata"].get("namespace"):  # the others are applied by a test of their own
            manifest["metadata"]["namespace"] = namespace
            await kube_client.apply(manifest)
    live = await kube_client.get("StatefulSet", namespace, "openclaw")
    assert live["spec"]["replicas"] == replicas
    assert live["spec"]["podManagementPolicy"] == "Parallel"
    budget = await kube_client.get("PodDisruptionBudget", namespace, "openclaw")
    assert budget["spec"]["maxUnavailable"] == 1


def test_the_monitoring_is_what_prometheus_and_grafana_read() -> None:
    by_kind = {manifest["kind"]: manifest for manifest in built("monitoring")}
    assert set(by_kind) == {"PrometheusRule", "ServiceMonitor", "ConfigMap"}
    assert set(by_kind["ConfigMap"]["data"]) == {"operator.json", "shards.json", "external.json"}
    wanted = by_kind["ServiceMonitor"]["spec"]
    [service] = [manifest for manifest in built("base") if manifest["kind"] == "Service"]
    assert wanted["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert [it["port"] for it in wanted["endpoints"]] == [port["name"] for port in service["spec"]["ports"]]


async def test_alerts_and_dashboards_name_metrics_that_there_are(
    api_server: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    named = {name for name in metrics_named() if not name.startswith(EXTERNAL)}
    assert {"openclaw_slots_unowned", "workqueue_depth"} <= named
    arguments = ["--shard", "a", "--lease-namespace", namespace, "--namespace", namespace]
    async with OperatorProcess(api_server.kubeconfig, tmp_path / "log", arguments) as operator:
        await operator.ready()
        # The hand-over's histogram has its samples once there was one.
        await eventually(lambda: operator.said("slots gained"), "the first slots")
        _, body = await operator.get("/metrics")
    assert named - names_in(body) == set()
