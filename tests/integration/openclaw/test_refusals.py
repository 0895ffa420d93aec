"""What can go wrong with a component: it is said in the server's words, and the other one goes on."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from openclaw.testing import Client
from tests.integration.openclaw.claws import (
    SECONDS,
    change,
    claw,
    condition,
    degraded,
    says,
    wait_settled,
)
from tests.integration.openclaw.conftest import SYSTEM
from tests.integration.openclaw.operator_process import OperatorProcess
from tests.integration.openclaw.policies import policy_denying

pytestmark = pytest.mark.usefixtures("operator")

RECOVERY = 150.0
"""Refusals are tried again after half a minute, and after two at most where many events were refused before:
nothing tells when a policy or a role has changed."""


async def create_quota(client: Client, namespace: str, hard: dict[str, str], name: str = "small") -> None:
    """A ResourceQuota that is in force: the quota controller has counted what is there."""
    body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": {"hard": hard}}
    await client.create(body, namespace=namespace)
    await client.wait_for("ResourceQuota", namespace, name, lambda it: it["status"]["hard"] == hard, SECONDS)


@pytest.mark.timeout(300)
async def test_refusals_degrade_one_component_and_pass_by_themselves(
    kube_client: Client, operator: OperatorProcess
) -> None:
    """Three ways to be refused, side by side because each takes its time to recover."""
    async with AsyncExitStack() as stack:
        denied, limited, narrow = [await stack.enter_async_context(kube_client.namespace()) for _ in range(3)]
        # An admission policy denies the worker.
        policy = AsyncExitStack()
        await stack.enter_async_context(policy)
        words = "workers are not wanted here"
        await policy.enter_async_context(
            policy_denying(
                kube_client,
                denied,
                "object.kind != 'Deployment' || !object.metadata.name.endsWith('-worker')",
                words,
            )
        )
        # A quota allows one Deployment only.
        await create_quota(kube_client, limited, {"count/deployments.apps": "1"})
        # The operator's role lacks Ingresses.
        role = await kube_client.get("ClusterRole", None, f"{SYSTEM}-operator")
        rules = [rule for rule in role["rules"] if rule["resources"] != ["ingresses"]]
        for rule in rules:
            rule["resources"] = [it for it in rule["resources"] if it != "ingresses"]
        restore = {"rules": role["rules"]}
        stack.push_async_callback(kube_client.patch, "ClusterRole", None, f"{SYSTEM}-operator", restore)
        reading = {"apiGroups": ["networking.k8s.io"], "resources": ["ingresses"], "verbs": ["list", "watch"]}
        await kube_client.patch("ClusterRole", None, f"{SYSTEM}-operator", {"rules": [*rules, reading]})

        body = claw(frontend={"replicas": 2, "ingressHost": "shop.example.com"}, worker={"replicas": 2})
        for namespace in (denied, narrow):
            await kube_client.create(body, namespace=namespace)
        await kube_client.create(claw(frontend={"replicas": 2}), namespace=limited)

        found = await degraded(kube_client, denied, "worker: ", words, Available="False", Progressing="False")
        found = await kube_client.wait_for(
            "OpenClaw", denied, "shop", lambda it: it["status"]["frontendReadyReplicas"] == 2, SECONDS
        )
        assert found["status"]["workerReadyReplicas"] == 0
        assert condition(found, "Stalled")["status"] == "True"
        assert found["status"]["observedGeneration"] == 1
        # The status of the other component is live meanwhile.
        await change(kube_client, denied, {"frontend": {"replicas": 3}})
        await kube_client.wait_for(
            "OpenClaw", denied, "shop", lambda it: it["status"]["frontendReadyReplicas"] == 3, SECONDS
        )
        await degraded(kube_client, denied, words)

        found = await degraded(kube_client, limited, "exceeded quota: small", "deployments.apps")
        await kube_client.wait_for(
            "OpenClaw", limited, "shop", lambda it: it["status"]["frontendReadyReplicas"] == 2, SECONDS
        )

        found = await degraded(kube_client, narrow, "frontend: ", "ingresses", "is forbidden: User")
        assert condition(found, "Degraded")["reason"] == "Forbidden"
        found = await kube_client.wait_for(
            "OpenClaw",
            narrow,
            "shop",
            lambda it: (
                it["status"]["workerReadyReplicas"] == 2
                and it["status"]["frontendReadyReplicas"] == 2
                and says(it, Available="True")
            ),
            SECONDS,
        )
        assert "externalEndpoint" not in found["status"], "there is no Ingress"
        assert says(found, Degraded="True", Progressing="False")

        await policy.aclose()
        await kube_client.delete("ResourceQuota", limited, "small")
        await kube_client.patch("ClusterRole", None, f"{SYSTEM}-operator", restore)
        for namespace in (denied, limited, narrow):
            await wait_settled(kube_client, namespace, timeout=RECOVERY)
        assert (await kube_client.get("OpenClaw", narrow, "shop"))["status"]["externalEndpoint"]
        errors = [it for it in operator.of(denied) if it["level"] == "error"]
        assert 0 < len(errors) < 40, "a refusal is not tried again and again"


async def test_a_pod_quota_is_reported_in_the_servers_words(kube_client: Client, namespace: str) -> None:
    await create_quota(kube_client, namespace, {"pods": "3"})
    await kube_client.create(claw(frontend={"replicas": 1}, worker={"replicas": 1}), namespace=namespace)
    await wait_settled(kube_client, namespace)
    await change(kube_client, namespace, {"worker": {"replicas": 4}})
    found = await degraded(
        kube_client, namespace, "worker: ", "exceeded quota: small", Available="False", Progressing="False"
    )
    assert condition(found, "Degraded")["reason"] == "FailedCreate"
    assert not condition(found, "Stalled"), "the operator's own work is done"
    # The front end is not kept from changing.
    await change(kube_client, namespace, {"frontend": {"port": 9000}})
    await kube_client.wait_for(
        "Deployment",
        namespace,
        "shop-frontend",
        lambda it: it["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"] == 9000,
        SECONDS,
    )
    await change(kube_client, namespace, {"worker": {"replicas": 1}})
    await wait_settled(kube_client, namespace)


async def test_a_limit_range_is_reported_in_the_servers_words(kube_client: Client, namespace: str) -> None:
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "modest"},
        "spec": {"limits": [{"type": "Pod", "min": {"cpu": "2"}}]},
    }
    await kube_client.create(limits, namespace=namespace)
    await kube_client.create(claw(worker={"replicas": 0}), namespace=namespace)
    found = await degraded(kube_client, namespace, "frontend: ", "cpu", Available="False")
    assert "worker:" not in condition(found, "Degraded")["message"]
