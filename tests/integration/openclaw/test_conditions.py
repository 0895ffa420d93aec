"""Conditions tell the truth in every version that anybody can see."""

from __future__ import annotations

import pytest

from openclaw.testing import BEHAVIOUR_ANNOTATION, Client, ControlPlane
from openclaw.testing.client import Object
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
from tests.integration.openclaw.conftest import SYSTEM
from tests.integration.openclaw.history import History, check, version

pytestmark = pytest.mark.usefixtures("operator")


async def test_a_first_rollout(kube_client: Client, namespace: str) -> None:
    async with History(kube_client, namespace) as history:
        body = claw(frontend={"replicas": 4}, worker={"replicas": 3})
        await history.until_version(await create_settled(kube_client, namespace, body))
    check(history)
    said = [condition(it, "Available")["status"] for it in history.versions() if it.get("status")]
    assert said[0] == "False"
    assert said == sorted(said), "False until it is True, then no more"


async def test_changes_one_after_the_other(kube_client: Client, namespace: str) -> None:
    async with History(kube_client, namespace) as history:
        await create_settled(kube_client, namespace, claw(frontend={"replicas": 4}))
        for spec in (
            {"frontend": {"image": "registry.example.com/web:2"}},
            {"frontend": {"replicas": 8}, "worker": {"image": "registry.example.com/jobs:2"}},
            {"frontend": {"replicas": 1}},
            {"frontend": {"replicas": 0}, "worker": {"replicas": 2}},
            {"frontend": {"serviceType": "NodePort"}},
        ):
            await change(kube_client, namespace, spec)
            await wait_settled(kube_client, namespace)
        await history.until_version(await kube_client.get("OpenClaw", namespace, "shop"))
    check(history)


async def test_changes_that_do_not_wait_for_each_other(kube_client: Client, namespace: str) -> None:
    async with History(kube_client, namespace) as history:
        await kube_client.create(claw(frontend={"replicas": 4}), namespace=namespace)
        for number in range(10):
            frontend = {"image": f"registry.example.com/web:{number}", "replicas": 2 + number % 4}
            spec = {"frontend": frontend, "worker": {"replicas": number % 3}}
            await change(kube_client, namespace, spec)
        await history.until_version(await wait_settled(kube_client, namespace))
    check(history)
    assert history.versions()[-1]["status"]["observedGeneration"] == 11


async def test_a_stuck_rollout_and_its_end(kube_client: Client, namespace: str) -> None:
    async with History(kube_client, namespace) as history:
        await create_settled(kube_client, namespace, claw(frontend={"replicas": 4}))
        await kube_client.patch(
            "Deployment", namespace, "shop-frontend", {"spec": {"progressDeadlineSeconds": 2}}
        )
        await change(kube_client, namespace, {"frontend": {"image": "example.com/web:image-pull-failure"}})
        await degraded(kube_client, namespace, "frontend: ")
        await change(kube_client, namespace, {"frontend": {"image": "example.com/web:2"}})
        await history.until_version(await wait_settled(kube_client, namespace))
    check(history)
    stuck = [it for it in history.versions() if condition(it, "Degraded").get("status") == "True"]
    assert all(condition(it, "Progressing")["status"] == "False" for it in stuck)
    assert all(condition(it, "Available")["status"] == "True" for it in history.versions()[-len(stuck) :])


async def test_lost_pods_and_their_return(kube_client: Client, namespace: str) -> None:
    async with History(kube_client, namespace) as history:
        await create_settled(kube_client, namespace, claw(worker={"replicas": 3}))
        pods = await kube_client.list("Pod", namespace, label_selector="app.kubernetes.io/component=worker")
        for behaviour in ("never-ready", "ready"):
            for pod in pods:
                metadata = {"annotations": {BEHAVIOUR_ANNOTATION: behaviour}}
                await kube_client.patch("Pod", namespace, pod["metadata"]["name"], {"metadata": metadata})
            if behaviour == "never-ready":
                found = await degraded(kube_client, namespace, "worker: 0 of 3", Available="False")
                assert condition(found, "Degraded")["reason"] == "PodsUnavailable"
        await history.until_version(await wait_settled(kube_client, namespace))
    check(history)


async def test_a_spec_that_changes_nothing_is_observed(kube_client: Client, namespace: str) -> None:
    """A new generation that leads to no write of a child: the status must speak of it all the same."""
    await create_settled(kube_client, namespace, claw())
    before = await kube_client.list("Deployment", namespace)
    changed = await change(kube_client, namespace, {"globalConfig": {"imagePullSecrets": []}})
    assert changed["metadata"]["generation"] == 2
    after = await wait_settled(kube_client, namespace)
    assert after["status"]["observedGeneration"] == 2
    assert [version(it) for it in await kube_client.list("Deployment", namespace)] == [
        version(it) for it in before
    ]


async def test_conditions_of_others_survive(kube_client: Client, namespace: str) -> None:
    await create_settled(kube_client, namespace, claw())
    foreign: Object = {
        "type": "example.com/Backup",
        "status": "True",
        "reason": "Done",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    stated = {**claw(), "status": {"conditions": [foreign]}}
    del stated["spec"]
    await kube_client.apply(stated, namespace=namespace, subresource="status")
    await change(kube_client, namespace, {"worker": {"replicas": 3}})
    found = await wait_settled(kube_client, namespace)
    assert condition(found, "example.com/Backup") == foreign


async def test_every_status_write_changes_the_status(
    kube_client: Client, namespace: str, control_plane: ControlPlane
) -> None:
    async with History(kube_client, namespace) as history:
        await create_settled(kube_client, namespace, claw(frontend={"replicas": 4}))
        await change(kube_client, namespace, {"frontend": {"image": "registry.example.com/web:2"}})
        await history.until_version(await wait_settled(kube_client, namespace))
        path = f"/namespaces/{namespace}/openclaws/shop/status"
        written = [
            it
            for it in control_plane.audit_events(f"system:serviceaccount:{SYSTEM}:{SYSTEM}")
            if path in it["requestURI"]
        ]
    assert all(it["responseStatus"]["code"] == 200 for it in written)
    statuses = [it.get("status") for it in history.versions()]
    changes = sum(now != before for before, now in zip([None, *statuses], statuses, strict=False))
    assert len(written) == changes, "a write that changes nothing makes no version"


async def test_a_first_status_says_that_it_is_under_way(kube_client: Client, namespace: str) -> None:
    body = claw(frontend={"image": "registry.example.com/web:never-ready"})
    await kube_client.create(body, namespace=namespace)
    found = await kube_client.wait_for(
        "OpenClaw",
        namespace,
        "shop",
        lambda it: it["status"]["workerReadyReplicas"] == 1,
        SECONDS,
    )
    assert says(found, Available="False", Progressing="True", Degraded="False")
    assert condition(found, "Progressing")["message"].startswith("frontend rolling out")
    assert condition(found, "Available")["message"].startswith("frontend not available")
