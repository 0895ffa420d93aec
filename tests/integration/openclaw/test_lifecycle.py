"""Deletion in each of its forms, and what is recreated."""

from __future__ import annotations

from contextlib import aclosing

import pytest

from openclaw.testing import Client, ControlPlane
from openclaw.testing.client import Object
from tests.integration.openclaw.claws import (
    SECONDS,
    change,
    claw,
    condition,
    create_settled,
    managed,
    wait_settled,
)
from tests.integration.openclaw.operator_process import OperatorProcess

pytestmark = pytest.mark.usefixtures("operator")

KINDS = ("Deployment", "ReplicaSet", "Pod", "Service", "EndpointSlice.discovery.k8s.io", "Ingress")


def uids(objects: list[Object]) -> set[str]:
    return {it["metadata"]["uid"] for it in objects}


def trouble(operator: OperatorProcess, namespace: str) -> list[Object]:
    return [it for it in operator.of(namespace) if it["level"] not in ("info", "debug")]


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_deletion_leaves_nothing_behind(
    kube_client: Client, namespace: str, propagation: str, operator: OperatorProcess
) -> None:
    await create_settled(kube_client, namespace, claw(frontend={"ingressHost": "shop.example.com"}))
    await kube_client.delete("OpenClaw", namespace, "shop", propagation=propagation)
    await kube_client.wait_gone("OpenClaw", namespace, "shop")
    for kind in KINDS:
        await kube_client.wait_list(kind, namespace, lambda it: not it, SECONDS)
    assert trouble(operator, namespace) == []


async def test_deletion_while_it_is_rolling_out_leaves_nothing_behind(
    kube_client: Client, namespace: str, operator: OperatorProcess
) -> None:
    await kube_client.create(claw(frontend={"replicas": 5}, worker={"replicas": 5}), namespace=namespace)
    await kube_client.wait_list("Deployment", namespace, lambda it: len(it) == 2)
    await change(kube_client, namespace, {"worker": {"image": "registry.example.com/jobs:2"}})
    await kube_client.delete("OpenClaw", namespace, "shop")
    for kind in KINDS:
        await kube_client.wait_list(kind, namespace, lambda it: not it, SECONDS)
    assert trouble(operator, namespace) == []


async def test_nothing_is_done_for_an_object_that_a_finalizer_of_others_holds(
    kube_client: Client, namespace: str, operator: OperatorProcess
) -> None:
    await create_settled(kube_client, namespace, claw())
    await create_settled(kube_client, namespace, claw("canary"))
    held = {"metadata": {"finalizers": ["example.com/hold"]}}
    await kube_client.patch("OpenClaw", namespace, "shop", held)
    await kube_client.delete("OpenClaw", namespace, "shop")
    await kube_client.delete("Deployment", namespace, "shop-worker")
    await kube_client.wait_gone("Deployment", namespace, "shop-worker")
    await change(kube_client, namespace, {"worker": {"replicas": 2}}, "canary")
    await wait_settled(kube_client, namespace, "canary")
    names = {it["metadata"]["name"] for it in await kube_client.list("Deployment", namespace)}
    assert names == {"shop-frontend", "canary-frontend", "canary-worker"}
    await kube_client.patch("OpenClaw", namespace, "shop", {"metadata": {"finalizers": None}})
    await kube_client.wait_gone("Deployment", namespace, "shop-frontend", SECONDS)
    assert trouble(operator, namespace) == []


async def test_orphans_stay_and_are_adopted_again(
    kube_client: Client, namespace: str, operator: OperatorProcess
) -> None:
    body = claw(frontend={"ingressHost": "shop.example.com"})
    await create_settled(kube_client, namespace, body)
    before = {kind: uids(await kube_client.list(kind, namespace)) for kind in KINDS}
    await kube_client.delete("OpenClaw", namespace, "shop", propagation="Orphan")
    await kube_client.wait_gone("OpenClaw", namespace, "shop")
    for kind in ("Deployment", "Service", "Ingress"):
        orphans = await kube_client.list(kind, namespace)
        assert uids(orphans) == before[kind]
        assert not any(it["metadata"].get("ownerReferences") for it in orphans)
    again = await create_settled(kube_client, namespace, body)
    for kind in ("Deployment", "Service", "Ingress"):
        children = await kube_client.list(kind, namespace)
        assert uids(children) == before[kind]
        for child in children:
            assert [it["uid"] for it in child["metadata"]["ownerReferences"]] == [again["metadata"]["uid"]]
            assert managed(child) is not None
    assert uids(await kube_client.list("Pod", namespace)) == before["Pod"], "no pod was restarted"
    assert trouble(operator, namespace) == []


async def test_an_orphan_that_the_new_spec_does_not_want_goes(kube_client: Client, namespace: str) -> None:
    await create_settled(kube_client, namespace, claw(frontend={"ingressHost": "shop.example.com"}))
    await kube_client.delete("OpenClaw", namespace, "shop", propagation="Orphan")
    await kube_client.wait_gone("OpenClaw", namespace, "shop")
    await create_settled(kube_client, namespace, claw())
    await kube_client.wait_gone("Ingress", namespace, "shop-frontend", SECONDS)


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_recreated_at_once_under_the_same_name(
    kube_client: Client, namespace: str, propagation: str, operator: OperatorProcess
) -> None:
    """The children of the old one are still there, owned by its uid, when the new one comes."""
    body = claw(frontend={"replicas": 2, "ingressHost": "shop.example.com"})
    first = await create_settled(kube_client, namespace, body)
    await kube_client.delete("OpenClaw", namespace, "shop", propagation=propagation)
    if propagation == "Foreground":
        await kube_client.wait_gone("OpenClaw", namespace, "shop")
    async with aclosing(kube_client.follow("OpenClaw", namespace)) as changes:
        created = await kube_client.create(body, namespace=namespace)
        assert created["metadata"]["uid"] != first["metadata"]["uid"]
        await wait_settled(kube_client, namespace)
        seen: list[Object] = []
        async for events in changes:
            seen += [it for _, it in events if it["metadata"]["uid"] == created["metadata"]["uid"]]
            if seen and condition(seen[-1], "Available").get("status") == "True":
                break
    for version in seen:
        assert condition(version, "Degraded").get("status") != "True", condition(version, "Degraded")
        assert not condition(version, "Stalled"), condition(version, "Stalled")
    for kind in ("Deployment", "Service", "Ingress"):
        for child in await kube_client.list(kind, namespace):
            assert child["metadata"]["ownerReferences"][0]["uid"] == created["metadata"]["uid"]
    assert trouble(operator, namespace) == []


async def test_namespace_deletion_ends_everything_quietly(
    kube_client: Client, namespace: str, operator: OperatorProcess
) -> None:
    for number in range(5):
        body = claw(f"shop-{number}", frontend={"replicas": 2, "ingressHost": f"{number}.example.com"})
        await kube_client.create(body, namespace=namespace)
    await kube_client.wait_list("Deployment", namespace, lambda it: len(it) == 10)
    await kube_client.delete("Namespace", None, namespace)
    await kube_client.wait_gone("Namespace", None, namespace, 40)
    assert [it for it in operator.of(namespace) if it["level"] == "error"] == []
    async with kube_client.namespace() as other:
        # What was under way is in the log once the next object is done.
        await create_settled(kube_client, other, claw())
        operator.wait_for(lambda records: any(it.get("namespace") == other for it in records))
        begun = len(operator.of(namespace))
        await create_settled(kube_client, other, claw("second"))
    assert operator.of(namespace)[begun:] == [], "nothing goes on after the end"


async def test_a_restart_with_nothing_to_change_sends_no_write(
    kube_client: Client,
    namespace: str,
    operator: OperatorProcess,
    control_plane: ControlPlane,
) -> None:
    body = claw(
        frontend={"ingressHost": "shop.example.com", "serviceType": "LoadBalancer"},
        shared={"imagePullSecrets": ["a"], "nodeSelector": {"kubernetes.io/os": "linux"}},
    )
    await create_settled(kube_client, namespace, body)
    operator.stop()
    since = len(control_plane.audit_events())
    operator.start()
    # An object that is made after the start is done after the initial list.
    async with kube_client.namespace() as other:
        await create_settled(kube_client, other, claw())
        news = control_plane.audit_events()[since:]
    ours = [
        f"{it['verb']} {it['requestURI']}"
        for it in news
        if (it.get("objectRef") or {}).get("namespace") == namespace
        and it["user"]["username"].startswith("system:serviceaccount:openclaw-under-test")
    ]
    assert ours == []


async def test_what_was_missed_while_the_operator_was_away_is_made_up_for(
    kube_client: Client, namespace: str, operator: OperatorProcess
) -> None:
    for name in ("changed", "deleted", "drifted"):
        await create_settled(kube_client, namespace, claw(name, frontend={"ingressHost": "a.example.com"}))
    operator.stop()
    await change(
        kube_client, namespace, {"worker": {"replicas": 2}, "frontend": {"ingressHost": None}}, "changed"
    )
    await kube_client.delete("OpenClaw", namespace, "deleted")
    await kube_client.delete("Service", namespace, "drifted-frontend")
    await kube_client.patch("Deployment", namespace, "drifted-worker", {"spec": {"replicas": 0}})
    await kube_client.create(claw("new"), namespace=namespace)
    operator.start()
    await wait_settled(kube_client, namespace, "new")
    assert (await wait_settled(kube_client, namespace, "changed"))["status"]["workerReadyReplicas"] == 2
    await kube_client.wait_gone("Ingress", namespace, "changed-frontend")
    await kube_client.wait_for("Service", namespace, "drifted-frontend", lambda _: True)
    await kube_client.wait_for(
        "Deployment", namespace, "drifted-worker", lambda it: it["spec"]["replicas"] == 1
    )
    await kube_client.wait_list("Deployment", namespace, lambda it: len(it) == 6)
