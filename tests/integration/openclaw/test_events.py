"""Events: what a person sees with kubectl."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from openclaw.testing import BEHAVIOUR_ANNOTATION, Client, ControlPlane, find_binary
from openclaw.testing.client import Object
from tests.integration.openclaw.claws import SECONDS, claw, condition, create_settled, degraded, wait_settled
from tests.integration.openclaw.test_names import foreign_deployment

pytestmark = pytest.mark.usefixtures("operator")


async def kubectl(control_plane: ControlPlane, *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        str(find_binary("kubectl")),
        *("--kubeconfig", str(control_plane.kubeconfig)),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    assert err == b"", err.decode()
    return out.decode()


def about(events: list[Object], uid: str) -> list[Object]:
    return [it for it in events if it["regarding"].get("uid") == uid]


async def test_a_life_in_events(kube_client: Client, namespace: str, control_plane: ControlPlane) -> None:
    owner = await create_settled(kube_client, namespace, claw(worker={"replicas": 2}))
    uid = owner["metadata"]["uid"]
    pods = await kube_client.list("Pod", namespace, label_selector="app.kubernetes.io/component=worker")

    async def pods_become(behaviour: str) -> None:
        for pod in pods:
            metadata = {"annotations": {BEHAVIOUR_ANNOTATION: behaviour}}
            await kube_client.patch("Pod", namespace, pod["metadata"]["name"], {"metadata": metadata})

    for _ in range(3):
        await pods_become("never-ready")
        await degraded(kube_client, namespace, "worker: 0 of 2")
        await pods_become("ready")
        await wait_settled(kube_client, namespace)

    def complete(events: list[Object]) -> bool:
        found = about(events, uid)
        reasons = {it["reason"] for it in found}
        counts = [it.get("series", {}).get("count", 1) for it in found if it["reason"] == "Recovered"]
        return {"Available", "Degraded", "Unavailable", "Recovered"} <= reasons and sum(counts) == 3

    events = about(await kube_client.wait_list("Event.events.k8s.io", namespace, complete, SECONDS), uid)
    for event in events:
        assert event["type"] == ("Warning" if event["reason"] in ("Degraded", "Unavailable") else "Normal")
        assert event["regarding"]["apiVersion"] == "apps.openclaw.dev/v1alpha1"
        assert (event["regarding"]["kind"], event["regarding"]["name"]) == ("OpenClaw", "shop")
        assert event["reportingController"] == "openclaws.openclaw.dev"
        assert event["reportingInstance"]
        assert event["action"]
        assert event["note"]
    # The same thing again is the same event, counted.
    each = Counter((it["reason"], it["note"]) for it in events)
    assert set(each.values()) == {1}, each
    text = await kubectl(control_plane, "describe", "openclaw", "shop", "-n", namespace)
    told = text.partition("Events:")[2]
    for reason in ("Available", "Degraded", "Recovered"):
        assert reason in told
    assert "of 2 pods are available" in told
    assert "x3 over" in told
    assert "openclaws.openclaw.dev" in told


async def test_a_terminal_error_is_one_event_however_often_it_is_met(
    kube_client: Client, namespace: str
) -> None:
    await kube_client.create(foreign_deployment("shop-worker"), namespace=namespace)
    await kube_client.create(claw(frontend={"replicas": 4}), namespace=namespace)
    found = await kube_client.wait_for(
        "OpenClaw", namespace, "shop", lambda it: it["status"]["frontendReadyReplicas"] == 4, SECONDS
    )
    message = condition(found, "Degraded")["message"].removeprefix("worker: ")
    events = about(await kube_client.list("Event.events.k8s.io", namespace), found["metadata"]["uid"])
    taken = [it for it in events if it["reason"] == "NameTaken"]
    assert len(taken) == 1
    assert taken[0]["note"] == message
    assert taken[0]["type"] == "Warning"
    assert [it for it in events if it["reason"] == "Degraded"] == []
