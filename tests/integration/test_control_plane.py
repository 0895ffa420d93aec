"""The control plane that all other integration tests stand on."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from openclaw.kube.errors import Forbidden, Invalid, NotFound, Unauthorized, Unreachable
from openclaw.testing import (
    BEHAVIOUR_ANNOTATION,
    Client,
    ConditionTimeoutError,
    ControlPlane,
    ControlPlaneError,
    NodeStandIn,
    Outcome,
    PodBehaviour,
    find_binary,
    places,
)
from openclaw.testing.watchdog import Identity, State

Object = dict[str, Any]

WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.testing.openclaw.dev}
spec:
  group: testing.openclaw.dev
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer}}}}
"""


def config_map(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def pod_spec(image: str = "example/web:1") -> Object:
    return {"containers": [{"name": "web", "image": image}]}


def pod(name: str, image: str = "example/web:1", **annotations: str) -> Object:
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(image)}


def deployment(name: str, *, replicas: int = 1, image: str = "example/web:1") -> Object:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec(image)},
        },
    }


def condition(item: Object, kind: str) -> str:
    return next((it["status"] for it in item["status"]["conditions"] if it["type"] == kind), "absent")


def waiting_reason(item: Object) -> str:
    reason: str = item["status"]["containerStatuses"][0]["state"]["waiting"]["reason"]
    return reason


def is_ready(item: Object) -> bool:
    return condition(item, "Ready") == "True"


def has_readiness(expected: bool, item: Object) -> bool:
    return is_ready(item) is expected


# The API server by itself


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
    with pytest.raises(ControlPlaneError, match="Widget"):
        await kube_client.list("Widget")
    file = tmp_path / "widgets.yaml"
    file.write_text(WIDGETS)
    await kube_client.install_crds(file)
    body = {"apiVersion": "testing.openclaw.dev/v1", "kind": "Widget", "metadata": {"name": "one"}}
    await kube_client.apply({**body, "spec": {"size": 1}}, namespace=namespace)
    assert (await kube_client.get("Widget", namespace, "one"))["spec"] == {"size": 1}
    assert len(await kube_client.list("widgets.testing.openclaw.dev", namespace)) == 1
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


# Life and death


async def test_a_killed_api_server_comes_back_at_its_address_with_its_data() -> None:
    async with ControlPlane() as it, Client(it.kubeconfig) as client:
        url = it.url
        await client.create(config_map("kept"), namespace="default")
        async with aclosing(client.follow("ConfigMap", "default")) as changes:
            await anext(changes)
            it.kill_api_server()
            with pytest.raises(Unreachable):
                await client.list("ConfigMap", "default")
            await asyncio.to_thread(it.start_api_server)
            assert it.url == url
            assert (await client.get("ConfigMap", "default", "kept"))["metadata"]["name"] == "kept"
            # Whoever followed goes on by itself.
            await client.create(config_map("later"), namespace="default")
            async for events in changes:
                if any(item["metadata"]["name"] == "later" for _, item in events):
                    break


async def test_a_paused_api_server_answers_nothing_until_it_is_resumed() -> None:
    async with ControlPlane() as it, Client(it.kubeconfig) as client:
        await client.list("Namespace")
        it.pause("kube-apiserver")
        with pytest.raises(Unreachable, match="no answer within"):
            await client.transport.request("GET", "/api/v1/namespaces", timeout=0.3)
        it.resume("kube-apiserver")
        assert await client.list("Namespace")


@pytest.mark.parametrize("taken", [1, 2])
def test_ports_that_were_taken_meanwhile_are_given_up(monkeypatch: pytest.MonkeyPatch, taken: int) -> None:
    choose = places.free_ports
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        choices = [choose(5), choose(5)]
        choices[0][taken] = somebody.getsockname()[1]
        monkeypatch.setattr(places, "free_ports", lambda _: choices.pop(0))
        with ControlPlane() as it:
            assert not choices
            assert it._requests.healthy("/readyz") is None


async def test_a_start_that_is_cancelled_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[Path] = []
    stop = ControlPlane.stop

    def record(it: ControlPlane) -> None:
        stopped.append(it.folder)
        stop(it)

    monkeypatch.setattr(ControlPlane, "stop", record)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2), ControlPlane():
            pytest.fail("a control plane is not ready in 0.2 s")
    (folder,) = stopped
    assert not folder.exists()


def test_stop_removes_everything_and_may_be_called_again() -> None:
    control_plane = ControlPlane()
    with control_plane as it:
        folder = it.folder
        state = State.read(folder)
        assert state is not None
        assert set(state.processes) == {"etcd", "kube-apiserver"}
    control_plane.stop()
    assert not folder.exists()
    assert not any(process.alive() for process in state.processes.values())
    with pytest.raises(ControlPlaneError, match="not running"):
        _ = control_plane.kubeconfig


def test_a_given_directory_keeps_the_data_from_one_start_to_the_next(tmp_path: Path) -> None:
    control_plane = ControlPlane(directory=tmp_path / "kept")
    with control_plane as it:
        it.create_namespace("kept")
    with control_plane as it:
        assert it._requests.send("GET", "/api/v1/namespaces/kept")["metadata"]["name"] == "kept"
    assert (tmp_path / "kept" / "etcd").is_dir()


def test_a_server_that_can_not_start_shows_why() -> None:
    with pytest.raises(ControlPlaneError, match=r"(?s)kube-apiserver ended.*no-such-argument"):
        ControlPlane(api_server_args=["--no-such-argument"]).start()


def test_feature_gates_and_admission_plugins_reach_the_server() -> None:
    options = {"feature_gates": {"ShardedListAndWatch": True}, "admission_plugins": ["AlwaysPullImages"]}
    with ControlPlane(**options) as it:  # type: ignore[arg-type]
        metrics = str(it._requests.send("GET", "/metrics"))
        assert 'kubernetes_feature_enabled{name="ShardedListAndWatch",stage="ALPHA"} 1' in metrics
        it._requests.send("POST", "/api/v1/namespaces/default/pods", {**pod("one"), "status": {}})
        created = it._requests.send("GET", "/api/v1/namespaces/default/pods/one")
        assert created["spec"]["containers"][0]["imagePullPolicy"] == "Always"


def test_nothing_outlives_a_parent_that_is_killed() -> None:
    script = """
import time
from openclaw.testing import ControlPlane
with ControlPlane() as it:
    print(it.folder, flush=True)
    time.sleep(1000)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        folder = Path(parent.stdout.readline().strip())
        state = State.read(folder)
        assert state is not None
        servers = list(state.processes.values())
        assert len(servers) == 2
        assert all(server.alive() for server in servers)
        parent.kill()
    _until_gone(servers, folder)


def _until_gone(processes: list[Identity], folder: Path) -> None:
    from tests.unit.testing.waiting import wait_until

    wait_until(lambda: not any(process.alive() for process in processes) and not folder.exists())


# With controllers


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
    file = tmp_path / "widgets.yaml"
    file.write_text(WIDGETS)
    async with ControlPlane(controller_manager=True, crds=[file]) as it, Client(it.kubeconfig) as client:
        body = {"apiVersion": "testing.openclaw.dev/v1", "kind": "Widget", "metadata": {"name": "one"}}
        owner = await client.create(body, namespace="default")
        child = config_map("child")
        reference = {**body, "name": "one", "uid": owner["metadata"]["uid"]}
        reference.pop("metadata")
        child["metadata"]["ownerReferences"] = [reference]
        await client.create(child, namespace="default")
        await client.delete("Widget", "default", "one")
        # Within less than the 30 seconds after which the collector looks for new kinds.
        await client.wait_gone("ConfigMap", "default", "child", timeout=20)
