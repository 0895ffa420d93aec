"""The API server that all other integration tests stand on."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from openclaw.kube.errors import Forbidden, Invalid, NotFound, Unauthorized
from openclaw.testing import (
    Client,
    ConditionTimeoutError,
    ControlPlane,
    ControlPlaneError,
    NodeStandIn,
    Outcome,
    PodBehaviour,
    find_binary,
)
from tests.integration.plane_objects import (
    SPROCKETS,
    Object,
    config_map,
    is_ready,
    pod,
)


async def test_the_server_tells_its_version_and_serves_the_administrator(api_server: ControlPlane) -> None:
    async with Client(api_server.kubeconfig) as client:
        answer = await client.transport.request("GET", "/version")
        assert b'"major": "1"' in answer.body
        assert b"v0.0.0-master" not in answer.body
        assert await client.list("Namespace")


async def test_an_object_can_be_created_read_changed_listed_and_deleted(
    api_server: ControlPlane, kube_client: Client, namespace: str
) -> None:
    await kube_client.create(config_map("one", a="1"), namespace=namespace)
    await kube_client.apply(config_map("two", a="2"), namespace=namespace)
    await kube_client.patch("ConfigMap", namespace, "one", {"data": {"b": "2"}})
    change = [{"op": "remove", "path": "/data/a"}]
    assert (await kube_client.patch("ConfigMap", namespace, "one", change))["data"] == {"b": "2"}
    names = {item["metadata"]["name"] for item in await kube_client.list("configmaps", namespace)}
    assert names == {"one", "two"}
    await kube_client.delete("ConfigMap", namespace, "one")
    with pytest.raises(NotFound):
        await kube_client.get("ConfigMap", namespace, "one")


async def test_waiting_sees_a_later_change_and_a_deletion(
    api_server: ControlPlane, kube_client: Client, namespace: str
) -> None:
    async with asyncio.TaskGroup() as tasks:
        changed = tasks.create_task(
            kube_client.wait_for("ConfigMap", namespace, "one", lambda it: it["data"]["a"] == "2")
        )
        await kube_client.create(config_map("one", b="1"), namespace=namespace)
        await kube_client.apply(config_map("one", a="2"), namespace=namespace)
    assert changed.result()["data"] == {"a": "2", "b": "1"}
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(kube_client.wait_gone("ConfigMap", namespace, "one"))
        await kube_client.delete("ConfigMap", namespace, "one")


async def test_waiting_in_vain_shows_what_was_seen_last(
    api_server: ControlPlane, kube_client: Client, namespace: str
) -> None:
    with pytest.raises(ConditionTimeoutError, match="does not exist"):
        await kube_client.wait_for("ConfigMap", namespace, "one", lambda _: True, timeout=0.5)
    await kube_client.create(config_map("one", colour="blue"), namespace=namespace)
    with pytest.raises(ConditionTimeoutError, match=r"KeyError\('size'\).*colour"):
        await kube_client.wait_for("ConfigMap", namespace, "one", lambda it: it["data"]["size"], timeout=0.5)


async def test_a_custom_resource_is_found_by_name_once_it_is_installed(
    api_server: ControlPlane, kube_client: Client, namespace: str, tmp_path: Path
) -> None:
    with pytest.raises(ControlPlaneError, match="Sprocket"):
        await kube_client.list("Sprocket")
    file = tmp_path / "sprockets.yaml"
    file.write_text(SPROCKETS)
    await kube_client.install_crds(file)
    body = {"apiVersion": "testing.openclaw.dev/v1", "kind": "Sprocket", "metadata": {"name": "one"}}
    await kube_client.apply({**body, "spec": {"size": 1}}, namespace=namespace)
    assert (await kube_client.get("Sprocket", namespace, "one"))["spec"] == {"size": 1}
    assert len(await kube_client.list("sprockets.testing.openclaw.dev", namespace)) == 1
    with pytest.raises(Invalid, match=r"spec\.size"):
        await kube_client.create(
            {**body, "metadata": {"name": "two"}, "spec": {"size": "large"}}, namespace=namespace
        )


async def test_a_service_account_may_do_what_a_role_grants_and_nothing_else(
    api_server: ControlPlane, kube_client: Client, namespace: str
) -> None:
    kubeconfig = api_server.service_account_kubeconfig(namespace, "worker")
    async with Client(kubeconfig) as worker:
        with pytest.raises(Forbidden, match=f"system:serviceaccount:{namespace}:worker"):
            await worker.list("ConfigMap", namespace)
        role = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "worker"},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}],
        }
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "worker"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "worker"},
            "subjects": [{"kind": "ServiceAccount", "name": "worker", "namespace": namespace}],
        }
        await kube_client.apply(role, namespace=namespace)
        await kube_client.apply(binding, namespace=namespace)
        await _until_allowed(worker, namespace)
        with pytest.raises(Forbidden):
            await worker.list("Secret", namespace)
        with pytest.raises(Forbidden):
            await worker.create(config_map("one"), namespace=namespace)


async def _until_allowed(client: Client, namespace: str) -> None:
    """The authorizer learns of new roles by a watch, an instant later."""
    async with asyncio.timeout(20):
        while True:
            try:
                await client.list("ConfigMap", namespace)
            except Forbidden:
                await asyncio.sleep(0.02)
            else:
                return


async def test_a_token_in_a_file_is_followed(
    api_server: ControlPlane, kube_client: Client, namespace: str
) -> None:
    kubeconfig = api_server.service_account_kubeconfig(namespace, "worker", token_file=True)
    token = kubeconfig.with_name(f"{kubeconfig.name}.token")
    assert token.read_text() not in kubeconfig.read_text()
    async with Client(kubeconfig) as worker:
        with pytest.raises(Forbidden):
            await worker.list("ConfigMap", namespace)
    token.write_text("no token")
    async with Client(kubeconfig) as worker:
        with pytest.raises(Unauthorized):
            await worker.list("ConfigMap", namespace)


async def test_owner_references_that_block_deletion_need_a_permission(
    api_server: ControlPlane, kube_client: Client, namespace: str
) -> None:
    owner = await kube_client.create(config_map("owner"), namespace=namespace)
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "create"]}]
    for kind, extra in (
        ("Role", {"rules": rules}),
        (
            "RoleBinding",
            {
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "maker"},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "maker"}],
            },
        ),
    ):
        body = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": "maker"}}
        await kube_client.apply({**body, **extra}, namespace=namespace)
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    child = config_map("child")
    async with Client(api_server.kubeconfig_for("maker", ["makers"])) as maker:
        await _until_allowed(maker, namespace)
        child["metadata"]["ownerReferences"] = [{**reference, "blockOwnerDeletion": True}]
        with pytest.raises(Forbidden, match="blockOwnerDeletion"):
            await maker.create(child, namespace=namespace)
        child["metadata"]["ownerReferences"] = [reference]
        await maker.create(child, namespace=namespace)


async def test_the_audit_log_tells_who_did_what_and_how_it_ended(
    api_server: ControlPlane, kube_client: Client, namespace: str
) -> None:
    kubeconfig = api_server.service_account_kubeconfig(namespace, "audited")
    async with Client(kubeconfig) as audited:
        for _ in range(3):
            with pytest.raises(Forbidden):
                await audited.get("Secret", namespace, "hidden")
    events = api_server.audit_events(user=f"system:serviceaccount:{namespace}:audited")
    told = [(it["verb"], it["objectRef"]["resource"], it["responseStatus"]["code"]) for it in events]
    assert told == [("get", "secrets", 403)] * 3
    assert len(api_server.audit_events()) > len(events)


async def test_warnings_of_the_server_are_collected(
    api_server: ControlPlane, kube_client: Client, namespace: str
) -> None:
    endpoints = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "old"}, "subsets": []}
    await kube_client.create(endpoints, namespace=namespace)
    assert any("deprecated" in warning for warning in kube_client.warnings)


async def test_kubectl_takes_the_kubeconfig(api_server: ControlPlane) -> None:
    command = [str(find_binary("kubectl")), "--kubeconfig", str(api_server.kubeconfig)]
    command += ["get", "namespaces", "-o", "name"]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    assert "namespace/default" in output.decode().split()


async def test_without_a_scheduler_the_node_stand_in_takes_pods(
    api_server: ControlPlane, kube_client: Client, namespace: str
) -> None:
    outcome = Outcome.NEVER_READY

    def decide(item: Object) -> PodBehaviour | None:
        return PodBehaviour(outcome) if item["metadata"]["name"] == "steered" else None

    async with NodeStandIn(api_server.kubeconfig, bind=True, decide=decide) as node:
        await kube_client.create(pod("steered"), namespace=namespace)
        await kube_client.create(pod("plain"), namespace=namespace)
        plain = await kube_client.wait_for("Pod", namespace, "plain", is_ready)
        assert plain["status"]["podIP"]
        running = await kube_client.wait_for(
            "Pod", namespace, "steered", lambda it: it["status"]["phase"] == "Running"
        )
        assert not is_ready(running)
        outcome = Outcome.READY
        node.refresh()
        await kube_client.wait_for("Pod", namespace, "steered", is_ready)
        await kube_client.delete("Pod", namespace, "plain")
        await kube_client.wait_gone("Pod", namespace, "plain")
