"""Names: whatever a root may be called, its children have valid names, and nobody's name is taken over."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw._core import fnv1a64
from openclaw.api.builtin import Deployment
from openclaw.api.openclaw import OpenClaw
from openclaw.controllers.openclaw.children import frontend_deployment
from openclaw.kube import Client as KubeClient
from openclaw.kube import ConfigSource, Transport
from openclaw.runtime.apply import Applier
from openclaw.runtime.errors import NotControlled
from openclaw.runtime.informer import Informer
from openclaw.testing import Client
from openclaw.testing.client import Object
from tests.integration.openclaw.claws import (
    SECONDS,
    claw,
    condition,
    create_settled,
    degraded,
    managed,
    says,
    settled,
    wait_settled,
)

pytestmark = pytest.mark.usefixtures("operator")

LONGEST = ".".join(["a" * 62, "b" * 62, "c" * 62, "d" * 64])
assert len(LONGEST) == 253


def foreign_deployment(name: str, *, replicas: int = 1) -> Object:
    labels = {"app": "foreign"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "app", "image": "foreign:1"}]},
            },
        },
    }


@pytest.mark.parametrize(
    "name",
    [
        LONGEST,
        "shop.example.com",
        "1st",
        "1.2.3",
        "a" * 54,
        "a" * 55,
        "a" * 63,
        f"{'a' * 44}-{'b' * 80}",
        "frontend",
    ],
    ids=lambda it: f"{it[:12]}({len(it)})",
)
async def test_any_name_converges(kube_client: Client, namespace: str, name: str) -> None:
    body = claw(name, frontend={"ingressHost": "shop.example.com"})
    owner = await create_settled(kube_client, namespace, body)
    for kind, count in (("Deployment", 2), ("Service", 1), ("Ingress", 1)):
        found = await kube_client.list(kind, namespace)
        assert len(found) == count
        for child in found:
            assert child["metadata"]["ownerReferences"][0]["uid"] == owner["metadata"]["uid"]
            assert len(child["metadata"]["name"]) <= 63
    await kube_client.delete("OpenClaw", namespace, name)
    for kind in ("Deployment", "Service", "Ingress", "Pod"):
        await kube_client.wait_list(kind, namespace, lambda it: not it)


async def test_names_that_differ_only_in_what_is_replaced_do_not_collide(
    kube_client: Client, namespace: str
) -> None:
    names = ["a.b", "a-b", "a--b", "1ab", "claw-1ab", f"{'a' * 60}.x", f"{'a' * 60}.y"]
    for name in names:
        await kube_client.create(claw(name), namespace=namespace)
    await kube_client.wait_list(
        "OpenClaw", namespace, lambda it: len(it) == len(names) and all(map(settled, it))
    )
    assert len(await kube_client.list("Deployment", namespace)) == 2 * len(names)
    assert len(await kube_client.list("Service", namespace)) == len(names)


async def test_two_roots_that_want_one_name_the_second_says_so(kube_client: Client, namespace: str) -> None:
    twin = f"a-b-{fnv1a64('a.b'):016x}"[: len("a-b-")] + f"{fnv1a64('a.b'):016x}"[-8:]
    await create_settled(kube_client, namespace, claw("a.b"))
    first = {it["metadata"]["uid"] for it in await kube_client.list("Deployment", namespace)}
    await kube_client.create(claw(twin), namespace=namespace)
    found = await kube_client.wait_for(
        "OpenClaw", namespace, twin, lambda it: says(it, Degraded="True"), SECONDS
    )
    assert condition(found, "Degraded")["reason"] == "NameTaken"
    assert "OpenClaw a.b" in condition(found, "Degraded")["message"]
    assert says(found, Available="False", Progressing="False")
    assert {it["metadata"]["uid"] for it in await kube_client.list("Deployment", namespace)} == first
    # The other's pods are not counted as one's own.
    assert found["status"]["frontendReadyReplicas"] == 0
    assert settled(await kube_client.get("OpenClaw", namespace, "a.b"))
    # Once the name is free, it is taken without anybody's help.
    await kube_client.delete("OpenClaw", namespace, "a.b")
    await wait_settled(kube_client, namespace, twin)


async def test_a_name_taken_by_somebody_else_is_reported_and_the_rest_goes_on(
    kube_client: Client, namespace: str
) -> None:
    await kube_client.create(foreign_deployment("shop-frontend", replicas=2), namespace=namespace)
    foreign = await kube_client.wait_for(
        "Deployment", namespace, "shop-frontend", lambda it: it["status"]["availableReplicas"] == 2
    )
    await kube_client.create(claw(frontend={"replicas": 2}, worker={"replicas": 2}), namespace=namespace)
    found = await kube_client.wait_for(
        "OpenClaw",
        namespace,
        "shop",
        lambda it: (
            it["status"]["workerReadyReplicas"] == 2 and says(it, Degraded="True", Progressing="False")
        ),
        SECONDS,
    )
    for kind in ("Degraded", "Stalled"):
        assert condition(found, kind)["status"] == "True"
        assert condition(found, kind)["reason"] == "NameTaken"
        assert f"Deployment {namespace}/shop-frontend" in condition(found, kind)["message"]
    assert says(found, Available="False"), "the pods of somebody else do not make ours available"
    assert found["status"]["frontendReadyReplicas"] == 0
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"]
    now = await kube_client.get("Deployment", namespace, "shop-frontend")
    assert now["metadata"]["resourceVersion"] == foreign["metadata"]["resourceVersion"]
    assert managed(now) is None
    # Nothing but the deletion tells the operator of it.
    await kube_client.delete("Deployment", namespace, "shop-frontend")
    await wait_settled(kube_client, namespace)


async def test_a_service_name_taken_gives_no_endpoint(kube_client: Client, namespace: str) -> None:
    foreign = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "shop-frontend"},
        "spec": {"type": "NodePort", "selector": {"app": "foreign"}, "ports": [{"port": 1}]},
    }
    await kube_client.create(foreign, namespace=namespace)
    await kube_client.create(claw(frontend={"serviceType": "NodePort"}), namespace=namespace)
    found = await kube_client.wait_for(
        "OpenClaw",
        namespace,
        "shop",
        lambda it: it["status"]["frontendReadyReplicas"] == 1 and says(it, Degraded="True"),
        SECONDS,
    )
    assert condition(found, "Degraded")["reason"] == "NameTaken"
    assert "externalEndpoint" not in found["status"]
    assert says(found, Available="False"), "no Service leads to the pods"
    await kube_client.delete("Service", namespace, "shop-frontend")
    found = await wait_settled(kube_client, namespace)
    assert found["status"]["externalEndpoint"].startswith("<node>:")


async def test_an_object_that_the_cache_does_not_know_yet_is_not_taken_over(
    kube_client: Client, namespace: str, operator_kubeconfig: Path
) -> None:
    """Somebody creates a Deployment of the name just before the operator does."""
    foreign = await kube_client.create(foreign_deployment("shop-frontend"), namespace=namespace)
    root = OpenClaw.from_dict(await kube_client.create(claw(), namespace=namespace))
    await degraded(kube_client, namespace, "shop-frontend exists")
    async with Transport(ConfigSource(operator_kubeconfig)) as transport:
        empty = Informer(transport, Deployment.resource, field_manager="openclaw")
        applier = Applier(KubeClient(transport), {Deployment.resource: empty})
        with pytest.raises(NotControlled, match=r"Deployment .* exists and was not made"):
            await applier.apply(root, Deployment.resource, frontend_deployment(root).to_dict())
    now = await kube_client.get("Deployment", namespace, "shop-frontend")
    assert now["spec"] == foreign["spec"]
    assert "ownerReferences" not in now["metadata"]
