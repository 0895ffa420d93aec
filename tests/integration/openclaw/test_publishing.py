"""Service types, Ingress and the external endpoint: set, changed, unset."""

from __future__ import annotations

import itertools

import pytest

from openclaw.testing import Client
from openclaw.testing.client import Object
from tests.integration.openclaw.claws import (
    SECONDS,
    change,
    claw,
    condition,
    create_settled,
    degraded,
    wait_settled,
)
from tests.integration.openclaw.operator_process import OperatorProcess

pytestmark = pytest.mark.usefixtures("operator")

NAME = "shop-frontend"
TYPES = ("ClusterIP", "NodePort", "LoadBalancer")


async def balancer_says(client: Client, namespace: str, *ingress: Object) -> None:
    """What a cloud's controller writes into a Service's status."""
    change = {"status": {"loadBalancer": {"ingress": list(ingress)}}}
    await client.patch("Service", namespace, NAME, change, subresource="status")


async def endpoint_becomes(client: Client, namespace: str, endpoint: str | None) -> Object:
    return await client.wait_for(
        "OpenClaw",
        namespace,
        "shop",
        lambda it: (
            it["status"].get("externalEndpoint") == endpoint
            and it["status"]["observedGeneration"] == it["metadata"]["generation"]
        ),
        SECONDS,
    )


async def test_an_ingress_comes_changes_and_goes_with_the_host(kube_client: Client, namespace: str) -> None:
    await create_settled(kube_client, namespace, claw())
    await change(kube_client, namespace, {"frontend": {"ingressHost": "shop.example.com"}})
    found = await wait_settled(kube_client, namespace)
    assert found["status"]["externalEndpoint"] == "http://shop.example.com"
    first = await kube_client.get("Ingress", namespace, NAME)
    assert first["spec"]["rules"] == [
        {
            "host": "shop.example.com",
            "http": {
                "paths": [
                    {
                        "path": "/",
                        "pathType": "Prefix",
                        "backend": {"service": {"name": NAME, "port": {"name": "http"}}},
                    }
                ]
            },
        }
    ]
    assert first["metadata"]["ownerReferences"][0]["uid"] == found["metadata"]["uid"]
    await change(kube_client, namespace, {"frontend": {"ingressHost": "*.example.com"}})
    await endpoint_becomes(kube_client, namespace, "http://*.example.com")
    second = await kube_client.get("Ingress", namespace, NAME)
    assert [it["host"] for it in second["spec"]["rules"]] == ["*.example.com"]
    assert second["metadata"]["uid"] == first["metadata"]["uid"], "changed in place"
    await change(kube_client, namespace, {"frontend": {"ingressHost": None}})
    await endpoint_becomes(kube_client, namespace, None)
    await kube_client.wait_gone("Ingress", namespace, NAME)


async def test_an_ingress_of_somebody_else_is_not_deleted(kube_client: Client, namespace: str) -> None:
    foreign = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": NAME},
        "spec": {"defaultBackend": {"service": {"name": "other", "port": {"number": 80}}}},
    }
    before = await kube_client.create(foreign, namespace=namespace)
    await create_settled(kube_client, namespace, claw())
    assert await kube_client.get("Ingress", namespace, NAME) == before


@pytest.mark.parametrize(("before", "after"), list(itertools.permutations(TYPES, 2)))
async def test_the_service_type_changes(
    kube_client: Client, namespace: str, before: str, after: str, operator: OperatorProcess
) -> None:
    await create_settled(kube_client, namespace, claw(frontend={"serviceType": before}))
    if before == "LoadBalancer":
        await balancer_says(kube_client, namespace, {"ip": "203.0.113.9"})
        await endpoint_becomes(kube_client, namespace, "http://203.0.113.9")
    await change(kube_client, namespace, {"frontend": {"serviceType": after}})
    await wait_settled(kube_client, namespace)
    service = await kube_client.get("Service", namespace, NAME)
    assert service["spec"]["type"] == after
    node_port = service["spec"]["ports"][0].get("nodePort")
    assert (node_port is not None) == (after != "ClusterIP")
    expected = f"<node>:{node_port}" if after == "NodePort" else None
    await endpoint_becomes(kube_client, namespace, expected)
    assert [it for it in operator.of(namespace) if it["level"] not in ("info", "debug")] == []


async def test_the_endpoint_follows_the_load_balancer(kube_client: Client, namespace: str) -> None:
    await create_settled(kube_client, namespace, claw(frontend={"serviceType": "LoadBalancer"}))
    await endpoint_becomes(kube_client, namespace, None)
    await balancer_says(kube_client, namespace, {"ip": "203.0.113.9"})
    await endpoint_becomes(kube_client, namespace, "http://203.0.113.9")
    await balancer_says(kube_client, namespace, {"hostname": "lb.example.com"})
    await endpoint_becomes(kube_client, namespace, "http://lb.example.com")
    await balancer_says(kube_client, namespace, {"ip": "2001:db8::9"})
    await endpoint_becomes(kube_client, namespace, "http://[2001:db8::9]")
    await balancer_says(kube_client, namespace)
    await endpoint_becomes(kube_client, namespace, None)


async def test_a_host_wins_over_the_load_balancer(kube_client: Client, namespace: str) -> None:
    body = claw(frontend={"serviceType": "LoadBalancer", "ingressHost": "shop.example.com"})
    await create_settled(kube_client, namespace, body)
    await balancer_says(kube_client, namespace, {"ip": "203.0.113.9"})
    await endpoint_becomes(kube_client, namespace, "http://shop.example.com")
    await change(kube_client, namespace, {"frontend": {"ingressHost": None}})
    await endpoint_becomes(kube_client, namespace, "http://203.0.113.9")


async def test_a_node_port_that_somebody_chose_is_kept(kube_client: Client, namespace: str) -> None:
    found = await create_settled(kube_client, namespace, claw(frontend={"serviceType": "NodePort"}))
    service = await kube_client.get("Service", namespace, NAME)
    allocated = service["spec"]["ports"][0]["nodePort"]
    assert found["status"]["externalEndpoint"] == f"<node>:{allocated}"
    # Freed and taken again with another number, by a manager that states only this.
    chosen = 30000 + (allocated - 30000 + 7) % 2768
    stated = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": NAME},
        "spec": {"ports": [{"port": 80, "protocol": "TCP", "nodePort": chosen}]},
    }
    await kube_client.apply(stated, namespace=namespace)
    await endpoint_becomes(kube_client, namespace, f"<node>:{chosen}")
    await change(kube_client, namespace, {"frontend": {"port": 9000}})
    await wait_settled(kube_client, namespace)
    service = await kube_client.get("Service", namespace, NAME)
    assert service["spec"]["ports"][0]["nodePort"] == chosen
    await change(kube_client, namespace, {"frontend": {"serviceType": "ClusterIP"}})
    await wait_settled(kube_client, namespace)
    service = await kube_client.get("Service", namespace, NAME)
    assert "nodePort" not in service["spec"]["ports"][0]


@pytest.mark.parametrize(
    "theirs",
    [
        {"externalTrafficPolicy": "Local"},
        {"allocateLoadBalancerNodePorts": False},
        {"internalTrafficPolicy": "Local", "sessionAffinity": "ClientIP"},
    ],
    ids=str,
)
async def test_what_others_set_for_a_load_balancer_does_not_keep_it_one(
    kube_client: Client, namespace: str, theirs: Object
) -> None:
    await create_settled(kube_client, namespace, claw(frontend={"serviceType": "LoadBalancer"}))
    await kube_client.patch("Service", namespace, NAME, {"spec": theirs})
    for kind in ("NodePort", "ClusterIP", "LoadBalancer", "ClusterIP"):
        await change(kube_client, namespace, {"frontend": {"serviceType": kind}})
        await wait_settled(kube_client, namespace)
        assert (await kube_client.get("Service", namespace, NAME))["spec"]["type"] == kind


async def test_a_type_that_others_fields_forbid_is_reported(kube_client: Client, namespace: str) -> None:
    """Source ranges are another manager's, and valid with a load balancer only: not ours to remove."""
    await create_settled(kube_client, namespace, claw(frontend={"serviceType": "LoadBalancer"}))
    ranges = {"loadBalancerSourceRanges": ["10.0.0.0/8"]}
    await kube_client.patch("Service", namespace, NAME, {"spec": ranges})
    await change(kube_client, namespace, {"frontend": {"serviceType": "ClusterIP", "replicas": 2}})
    found = await degraded(kube_client, namespace, "frontend: ", "LoadBalancerSourceRanges")
    assert condition(found, "Degraded")["reason"] == "Invalid"
    await kube_client.wait_for(
        "OpenClaw", namespace, "shop", lambda it: it["status"]["frontendReadyReplicas"] == 2, SECONDS
    )
    await kube_client.patch("Service", namespace, NAME, {"spec": {"loadBalancerSourceRanges": None}})
    await wait_settled(kube_client, namespace)
