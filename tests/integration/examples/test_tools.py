"""What docs/testing.md shows of openclaw.testing, run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import yaml

from examples.greeting.greeting import GreetingReconciler
from openclaw import Manager, Options
from openclaw.api import Deployment
from openclaw.manifests import generate
from openclaw.testing import Client, ControlPlane, NodeStandIn, Outcome, PodBehaviour


@pytest.fixture
async def greetings(kube_client: Client, tmp_path: Path) -> None:
    files = generate([GreetingReconciler], image="example/greeting:1")
    (tmp_path / "crd.yaml").write_text(files["crds/demo.example.com_greetings.yaml"])
    await kube_client.install_crds(tmp_path / "crd.yaml")


def web(name: str, image: str) -> Deployment:
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": image}]}}
    return Deployment(name=name, spec={"selector": {"matchLabels": labels}, "template": pod})


async def test_a_pod_that_crashes(kube_client: Client, namespace: str) -> None:
    await kube_client.create(web("shaky", "example/web:crash-loop"), namespace=namespace)
    pods = await kube_client.wait_list(
        "Pod", namespace, lambda pods: pods[0]["status"]["containerStatuses"][0]["restartCount"] > 0
    )
    assert pods[0]["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "CrashLoopBackOff"


async def test_a_pod_that_recovers(api_server: ControlPlane, kube_client: Client, namespace: str) -> None:
    outcome = Outcome.NEVER_READY
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "web", "image": "example/web:1"}]},
    }
    async with NodeStandIn(
        api_server.kubeconfig, bind=True, decide=lambda _: PodBehaviour(outcome), prefix="recovering"
    ) as node:
        await kube_client.create(pod, namespace=namespace)
        await kube_client.wait_for("Pod", namespace, "web", lambda it: it["status"]["phase"] == "Running")
        outcome = Outcome.READY
        node.refresh()
        await kube_client.wait_for(
            "Pod", namespace, "web", lambda it: it["status"]["containerStatuses"][0]["ready"]
        )


@pytest.mark.usefixtures("greetings")
async def test_the_role_is_enough_and_nothing_is_asked_in_vain(
    control_plane: ControlPlane, kube_client: Client, namespace: str
) -> None:
    files = generate([GreetingReconciler], image="example/greeting:1", namespace=namespace, name=namespace)
    for document in yaml.safe_load_all(files["deploy/base/rbac.yaml"]):
        await kube_client.apply(document)
    kubeconfig = control_plane.service_account_kubeconfig(namespace, namespace)

    options = Options(kubeconfig=str(kubeconfig))
    manager = Manager(GreetingReconciler(), options=options)
    running = asyncio.create_task(manager.serve())
    try:
        await kube_client.apply_yaml("examples/greeting/greeting.yaml")
        await kube_client.wait_for("ConfigMap", "default", "hello-page", lambda it: it["data"]["index.txt"])
    finally:
        manager.stop()
        await running
        await kube_client.delete("greetings", "default", "hello")

    user = f"system:serviceaccount:{namespace}:{namespace}"
    answers = [event["responseStatus"]["code"] for event in control_plane.audit_events(user)]
    assert answers
    assert 403 not in answers


async def test_while_the_api_server_is_away() -> None:
    with ControlPlane() as plane:
        async with Client(plane.kubeconfig) as client:
            plane.kill_api_server()
            waiting = asyncio.create_task(client.wait_for("Namespace", None, "late", lambda _: True))
            await asyncio.to_thread(plane.start_api_server)
            plane.create_namespace("late")
            await waiting
