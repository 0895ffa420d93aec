"""The generated role is what the operator needs: nothing is refused, and nothing is allowed in vain."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from openclaw.controllers import OpenClawReconciler
from openclaw.kube import Invalid
from openclaw.testing import Client, ControlPlane
from tests.integration.reliability.accounts import (
    Account,
    Rules,
    code_of,
    describe,
    generated_rules,
    granted,
    resource_of,
)
from tests.integration.reliability.claws import claw, condition, observed, play_deployment_controller
from tests.integration.reliability.conftest import NewAccount
from tests.integration.reliability.operator_process import OPENCLAW, OperatorProcess
from tests.integration.reliability.waiting import eventually

_ADMISSION_ONLY = {("update", "openclaws/finalizers"), ("delete", "deployments"), ("delete", "services")}
"""Asked for by admission (OwnerReferencesPermissionEnforcement), never by a request of their own."""
# Read only where a child's name is taken by an object that the watch does not show (or not yet).
_UNSEEN_ONLY = {("get", resource) for resource in ("deployments", "services", "ingresses")}


def _used(account: Account) -> set[tuple[str, str]]:
    """The (verb, resource) pairs that the account's requests needed."""
    used = set()
    for event in account.requests():
        used.add((event["verb"], resource_of(event)))
        if event["verb"] == "patch" and code_of(event) == 201:
            used.add(("create", resource_of(event)))  # a server-side apply that creates
    return used


async def _become(client: Client, namespace: str, *, available: bool) -> None:
    if available:
        await play_deployment_controller(client, namespace, "web-frontend")
        await play_deployment_controller(client, namespace, "web-worker")
    else:
        lost = {"status": {"availableReplicas": 0, "readyReplicas": 0}}
        await client.patch("Deployment", namespace, "web-frontend", lost, subresource="status")
    status = str(available)
    await client.wait_for(
        "OpenClaw", namespace, "web", lambda it: condition(it, "Available")["status"] == status
    )


async def test_a_run_uses_exactly_the_generated_role(
    own_plane: ControlPlane, own_client: Client, own_account: NewAccount, tmp_path: Path
) -> None:
    kube_client, namespace = own_client, "shop"
    own_plane.create_namespace(namespace)
    rules = generated_rules([OpenClawReconciler])
    me = await own_account(rules=rules)
    async with OperatorProcess(me.kubeconfig, tmp_path / "log", [OPENCLAW]) as operator:
        await operator.ready()
        await kube_client.create(claw("web", namespace, host="a.example.com", replicas=1))
        await kube_client.wait_for("OpenClaw", namespace, "web", observed)
        # The same event twice: once created, then a series.
        for available in (True, False, True):
            await _become(kube_client, namespace, available=available)
        # Drift and change.
        await kube_client.patch("Deployment", namespace, "web-worker", {"spec": {"replicas": 7}})
        await kube_client.wait_for(
            "Deployment", namespace, "web-worker", lambda it: it["spec"]["replicas"] == 1
        )
        await kube_client.patch("OpenClaw", namespace, "web", {"spec": {"frontend": {"ingressHost": None}}})
        await kube_client.wait_gone("Ingress", namespace, "web-frontend")

        # Somebody else's conditions, until one of them comes between a read and a write of the operator.
        turn = 0

        async def conflict() -> bool:
            nonlocal turn
            turn += 1
            live = await kube_client.get("OpenClaw", namespace, "web")
            others = {
                "type": "Others",
                "status": "True",
                "reason": f"Turn{turn}",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            kept = [it for it in live["status"]["conditions"] if it["type"] != "Others"]
            patch = [
                {
                    "op": "test",
                    "path": "/metadata/resourceVersion",
                    "value": live["metadata"]["resourceVersion"],
                },
                {"op": "replace", "path": "/status/conditions", "value": [*kept, others]},
            ]
            pods = {"status": {"readyReplicas": turn % 2, "availableReplicas": turn % 2}}
            await kube_client.patch("Deployment", namespace, "web-frontend", pods, subresource="status")
            try:
                await kube_client.patch("OpenClaw", namespace, "web", patch, subresource="status")
            except Invalid:  # the test of the resourceVersion failed: the operator was faster
                return False
            return ("get", "openclaws") in _used(me)

        await eventually(conflict, "a conflict of status writes", timeout=90, interval=0)
        await _become(kube_client, namespace, available=True)
        assert await operator.stop() == 0

    forbidden = [describe(event) for event in me.requests() if code_of(event) in (401, 403)]
    assert forbidden == []
    allowed = granted(rules)
    assert allowed - _used(me) == _ADMISSION_ONLY | _UNSEEN_ONLY
    assert _used(me) - allowed == set()


def _without(verb: str, resource: str) -> Callable[[Rules], Rules]:
    """The generated rules without one pair."""

    def change(rules: Rules) -> Rules:
        kept = []
        for rule in rules:
            for item in rule["resources"]:
                verbs = [it for it in rule["verbs"] if (it, item) != (verb, resource)]
                if verbs:
                    kept.append({"apiGroups": rule["apiGroups"], "resources": [item], "verbs": verbs})
        assert granted(kept) == granted(rules) - {(verb, resource)}
        return kept

    return change


@pytest.mark.parametrize("pair", sorted(_ADMISSION_ONLY), ids="-".join)
async def test_what_admission_alone_asks_for_is_needed(
    kube_client: Client, namespace: str, account: NewAccount, tmp_path: Path, pair: tuple[str, str]
) -> None:
    """Without the pair something is refused that goes well with it."""
    verb, resource = pair
    for change in (_without(verb, resource), None):
        me = await account(change=change)
        name = "refused" if change else "allowed"
        async with OperatorProcess(me.kubeconfig, tmp_path / "log", ["--namespace", namespace]) as operator:
            await operator.ready()
            await kube_client.create(claw(name, namespace))
            if resource in ("deployments", "services"):
                # An owner reference that was taken off; putting it back needs the permission to delete.
                await kube_client.wait_for("OpenClaw", namespace, name, observed)
                kind = {"deployments": "Deployment", "services": "Service"}[resource]
                without = {"metadata": {"ownerReferences": None}}
                await kube_client.patch(kind, namespace, f"{name}-frontend", without)
                # It no longer leads to its owner: that must run for another reason.
                await kube_client.patch(
                    "OpenClaw", namespace, name, {"spec": {"frontend": {"image": "web:2"}}}
                )
            live = await kube_client.wait_for("OpenClaw", namespace, name, observed)
            degraded = condition(live, "Degraded")
            if change is None:
                assert degraded["status"] == "False"
            else:
                assert (degraded["status"], degraded["reason"]) == ("True", "Forbidden")
                about = "cannot set blockOwnerDeletion" if verb == "update" else "cannot set an ownerRef on"
                assert about in degraded["message"]
            assert await operator.stop() == 0
        # It would run both.
        await kube_client.delete("OpenClaw", namespace, name)
