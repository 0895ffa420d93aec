"""The controllers and the node stand-in: what becomes of Deployments, Jobs and the rest."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest

from openclaw.testing import (
    BEHAVIOUR_ANNOTATION,
    Client,
    ControlPlane,
)
from tests.integration.plane_objects import (
    SPROCKETS,
    Object,
    condition,
    config_map,
    deployment,
    has_readiness,
    is_ready,
    pod,
    pod_spec,
    waiting_reason,
)


async def test_a_deployment_becomes_available_scales_and_goes(
    control_plane: ControlPlane, kube_client: Client, namespace: str
) -> None:
    await kube_client.apply(deployment("web", replicas=2), namespace=namespace)
    available = await kube_client.wait_for(
        "Deployment", namespace, "web", lambda it: it["status"]["readyReplicas"] == 2
    )
    assert condition(available, "Available") == "True"
    await kube_client.patch("Deployment", namespace, "web", {"spec": {"replicas": 0}})
    await kube_client.wait_list("Pod", namespace, lambda pods: not pods)
    await kube_client.delete("Deployment", namespace, "web")
    await kube_client.wait_list("ReplicaSet", namespace, lambda sets: not sets)


async def test_hundreds_of_pods_become_ready(
    control_plane: ControlPlane, kube_client: Client, namespace: str
) -> None:
    await kube_client.apply(deployment("many", replicas=200), namespace=namespace)
    await kube_client.wait_for(
        "Deployment", namespace, "many", lambda it: it["status"]["readyReplicas"] == 200, timeout=50
    )
    pods = await kube_client.list("Pod", namespace)
    assert len({item["status"]["podIP"] for item in pods}) == 200


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        ("example/web:image-pull-failure", "ImagePullBackOff"),
        ("example/web:crash-loop", "CrashLoopBackOff"),
        ("example/web:creating", "ContainerCreating"),
    ],
)
async def test_the_tag_of_an_image_makes_its_pods_fail(
    control_plane: ControlPlane, kube_client: Client, namespace: str, image: str, reason: str
) -> None:
    await kube_client.create(pod("failing", image), namespace=namespace)
    failing = await kube_client.wait_for("Pod", namespace, "failing", lambda it: waiting_reason(it) == reason)
    assert condition(failing, "Ready") == "False"


async def test_an_annotation_steers_a_pod_while_it_runs(
    control_plane: ControlPlane, kube_client: Client, namespace: str
) -> None:
    steered = pod("steered", **{BEHAVIOUR_ANNOTATION: "never-ready"})
    await kube_client.create(steered, namespace=namespace)
    running = await kube_client.wait_for(
        "Pod", namespace, "steered", lambda it: it["status"]["phase"] == "Running"
    )
    assert not is_ready(running)
    for behaviour, expected in (("ready@0.2", True), ("crash-loop", False), ("ready", True)):
        change = {"metadata": {"annotations": {BEHAVIOUR_ANNOTATION: behaviour}}}
        await kube_client.patch("Pod", namespace, "steered", change)
        reached = partial(has_readiness, expected)
        await kube_client.wait_for("Pod", namespace, "steered", reached)


async def test_a_job_runs_to_completion(
    control_plane: ControlPlane, kube_client: Client, namespace: str
) -> None:
    spec = {"template": {"spec": {**pod_spec(), "restartPolicy": "Never"}}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": spec}
    await kube_client.create(job, namespace=namespace)
    await kube_client.wait_for("Job", namespace, "once", lambda it: condition(it, "Complete") == "True")


async def test_a_stateful_set_gets_its_pods_one_by_one(
    control_plane: ControlPlane, kube_client: Client, namespace: str
) -> None:
    body = deployment("db", replicas=2)
    body["kind"] = "StatefulSet"
    body["spec"]["serviceName"] = "db"
    await kube_client.create(body, namespace=namespace)
    await kube_client.wait_for("StatefulSet", namespace, "db", lambda it: it["status"]["readyReplicas"] == 2)
    assert {it["metadata"]["name"] for it in await kube_client.list("Pod", namespace)} == {"db-0", "db-1"}


async def test_the_endpoints_of_a_service_are_the_ready_pods(
    control_plane: ControlPlane, kube_client: Client, namespace: str
) -> None:
    await kube_client.apply(deployment("web"), namespace=namespace)
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec}
    await kube_client.create(service, namespace=namespace)

    def served(slices: list[Object]) -> bool:
        return bool(slices) and slices[0]["endpoints"][0]["conditions"]["ready"] is True

    slices = await kube_client.wait_list("EndpointSlice", namespace, served)
    (ready,) = await kube_client.list("Pod", namespace)
    assert slices[0]["endpoints"][0]["addresses"] == [ready["status"]["podIP"]]


async def test_what_an_owner_leaves_behind_is_collected(
    control_plane: ControlPlane, kube_client: Client, namespace: str
) -> None:
    owner = await kube_client.create(config_map("owner"), namespace=namespace)
    child = config_map("child")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    child["metadata"]["ownerReferences"] = [reference]
    await kube_client.create(child, namespace=namespace)
    await kube_client.delete("ConfigMap", namespace, "owner")
    await kube_client.wait_gone("ConfigMap", namespace, "child")


async def test_a_namespace_goes_with_all_that_is_in_it(
    control_plane: ControlPlane, kube_client: Client
) -> None:
    async with kube_client.namespace() as name:
        await kube_client.apply(deployment("web"), namespace=name)
        await kube_client.wait_for("Deployment", name, "web", lambda it: it["status"]["readyReplicas"] == 1)
    await kube_client.wait_gone("Namespace", None, name, timeout=50)
    assert await kube_client.list("Pod", name) == []


async def test_controllers_and_nodes_go_on_after_the_api_server_was_away() -> None:
    async with ControlPlane(controller_manager=True, scheduler=True, nodes=1) as it:
        it.kill_api_server()
        await asyncio.to_thread(it.start_api_server)
        async with Client(it.kubeconfig) as client:
            await client.apply(deployment("web"), namespace="default")
            await client.wait_for(
                "Deployment", "default", "web", lambda it: it["status"]["readyReplicas"] == 1, timeout=50
            )


async def test_children_of_a_custom_resource_known_from_the_start_are_collected_at_once(
    tmp_path: Path,
) -> None:
    file = tmp_path / "sprockets.yaml"
    file.write_text(SPROCKETS)
    async with ControlPlane(controller_manager=True, crds=[file]) as it, Client(it.kubeconfig) as client:
        body = {"apiVersion": "testing.openclaw.dev/v1", "kind": "Sprocket", "metadata": {"name": "one"}}
        owner = await client.create(body, namespace="default")
        child = config_map("child")
        reference = {**body, "name": "one", "uid": owner["metadata"]["uid"]}
        reference.pop("metadata")
        child["metadata"]["ownerReferences"] = [reference]
        await client.create(child, namespace="default")
        await client.delete("Sprocket", "default", "one")
        # Within less than the 30 seconds after which the collector looks for new kinds.
        await client.wait_gone("ConfigMap", "default", "child", timeout=20)
