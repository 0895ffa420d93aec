"""Rollouts that do not come to an end, pods that are lost, and rollouts that somebody else began."""

from __future__ import annotations

import pytest

from openclaw.testing import BEHAVIOUR_ANNOTATION, Client
from tests.integration.openclaw.claws import (
    SECONDS,
    change,
    claw,
    condition,
    create_settled,
    degraded,
    says,
    wait_settled,
)

pytestmark = pytest.mark.usefixtures("operator")


async def short_deadline(client: Client, namespace: str, name: str) -> None:
    """Make a Deployment's progress deadline a second, as another manager."""
    await client.wait_for("Deployment", namespace, name, lambda _: True)
    await client.patch(
        "Deployment", namespace, name, {"spec": {"progressDeadlineSeconds": 2, "minReadySeconds": 0}}
    )


async def test_a_rollout_past_its_deadline_is_degraded_while_the_old_pods_serve(
    kube_client: Client, namespace: str
) -> None:
    await create_settled(kube_client, namespace, claw(worker={"replicas": 2}))
    await short_deadline(kube_client, namespace, "shop-worker")
    await change(kube_client, namespace, {"worker": {"image": "registry.example.com/jobs:never-ready"}})
    found = await kube_client.wait_for(
        "OpenClaw", namespace, "shop", lambda it: says(it, Progressing="True"), SECONDS
    )
    assert says(found, Available="True", Degraded="False")
    found = await degraded(kube_client, namespace, "worker: ", "has timed out progressing")
    assert condition(found, "Degraded")["reason"] == "ProgressDeadlineExceeded"
    assert says(found, Available="True", Progressing="False")
    await change(kube_client, namespace, {"worker": {"image": "registry.example.com/jobs:2"}})
    await wait_settled(kube_client, namespace)


async def test_a_first_rollout_past_its_deadline(kube_client: Client, namespace: str) -> None:
    await kube_client.create(
        claw(frontend={"image": "registry.example.com/web:never-ready"}, worker={"replicas": 2}),
        namespace=namespace,
    )
    await short_deadline(kube_client, namespace, "shop-frontend")
    found = await degraded(
        kube_client, namespace, "frontend: ", "timed out progressing", Available="False", Progressing="False"
    )
    assert found["status"]["workerReadyReplicas"] == 2
    assert not condition(found, "Stalled")


async def test_lost_pods_are_degraded_whatever_else_goes_on(kube_client: Client, namespace: str) -> None:
    """Pods that were ready and are not any more: no rollout, and no other change makes it look like one."""
    await create_settled(kube_client, namespace, claw(frontend={"replicas": 2}))
    pods = await kube_client.list("Pod", namespace, label_selector="app.kubernetes.io/component=frontend")
    for pod in pods:
        await kube_client.patch(
            "Pod",
            namespace,
            pod["metadata"]["name"],
            {"metadata": {"annotations": {BEHAVIOUR_ANNOTATION: "crash-loop"}}},
        )
    lost = "frontend: 0 of 2 pods are available"
    await degraded(kube_client, namespace, lost, Available="False", Progressing="False")
    # A change of the other component, and drift of the other component, are no rollout of this one.
    await change(kube_client, namespace, {"worker": {"replicas": 2}})
    found = await kube_client.wait_for(
        "OpenClaw",
        namespace,
        "shop",
        lambda it: it["status"]["workerReadyReplicas"] == 2 and says(it, Progressing="False"),
        SECONDS,
    )
    assert lost in condition(found, "Degraded")["message"]
    before = await kube_client.get("Deployment", namespace, "shop-worker")
    await kube_client.delete("Deployment", namespace, "shop-worker")
    await kube_client.wait_for(
        "Deployment",
        namespace,
        "shop-worker",
        lambda it: it["metadata"]["uid"] != before["metadata"]["uid"] and it["status"]["readyReplicas"] == 2,
        SECONDS,
    )
    found = await kube_client.wait_for(
        "OpenClaw",
        namespace,
        "shop",
        lambda it: it["status"]["workerReadyReplicas"] == 2 and says(it, Progressing="False"),
        SECONDS,
    )
    assert lost in condition(found, "Degraded")["message"]
    for pod in pods:
        await kube_client.patch(
            "Pod",
            namespace,
            pod["metadata"]["name"],
            {"metadata": {"annotations": {BEHAVIOUR_ANNOTATION: "ready"}}},
        )
    await wait_settled(kube_client, namespace)


async def test_a_rollout_that_somebody_else_began_is_progress(kube_client: Client, namespace: str) -> None:
    """Like `kubectl rollout restart`: the pod template changes by another manager, and the pods are slow."""
    await create_settled(kube_client, namespace, claw(worker={"replicas": 2}))
    slow = {"spec": {"template": {"metadata": {"annotations": {BEHAVIOUR_ANNOTATION: "never-ready"}}}}}
    await kube_client.patch("Deployment", namespace, "shop-worker", slow)
    await kube_client.wait_for(
        "Deployment", namespace, "shop-worker", lambda it: it["status"]["updatedReplicas"] == 1, SECONDS
    )
    await change(kube_client, namespace, {"frontend": {"replicas": 2}})
    found = await kube_client.wait_for(
        "OpenClaw",
        namespace,
        "shop",
        lambda it: (
            it["status"]["frontendReadyReplicas"] == 2
            and "worker rolling out" in condition(it, "Progressing")["message"]
        ),
        SECONDS,
    )
    assert says(found, Available="True", Progressing="True", Degraded="False")
    slow["spec"]["template"]["metadata"]["annotations"][BEHAVIOUR_ANNOTATION] = "ready"
    await kube_client.patch("Deployment", namespace, "shop-worker", slow)
    await wait_settled(kube_client, namespace)
