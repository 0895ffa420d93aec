"""What an OpenClaw becomes: exactly the children of its spec, with exactly the stated fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from openclaw._core import slot
from openclaw.testing import Client
from openclaw.testing.client import Object
from tests.integration.openclaw.claws import (
    JOBS,
    QUEUE,
    WEB,
    change,
    claw,
    container,
    create_settled,
    settled,
    wait_settled,
)
from tests.integration.openclaw.operator_process import OperatorProcess

pytestmark = pytest.mark.usefixtures("operator")


def labels(component: str, instance: str = "shop") -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "openclaw",
        "app.kubernetes.io/instance": instance,
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/part-of": instance,
        "app.kubernetes.io/managed-by": "openclaw",
    }


def owned_paths(fields: Object, prefix: str = "") -> set[str]:
    """The leaves of a fieldsV1, as paths."""
    found = set()
    for name, below in fields.items():
        if name == ".":
            continue
        path = f"{prefix}/{name.removeprefix('f:')}"
        found |= owned_paths(below, path) or {path}
    return found


def applied_entry(obj: Object) -> Object:
    (entry,) = (it for it in obj["metadata"]["managedFields"] if it["manager"] == "openclaw")
    assert entry["operation"] == "Apply"
    found: Object = entry["fieldsV1"]
    return found


async def children(client: Client, namespace: str) -> dict[str, Object]:
    """What belongs to the namespace's only OpenClaw: `Kind name` to object."""
    found = {}
    for kind in ("Deployment", "Service", "Ingress", "ConfigMap", "Secret", "StatefulSet", "Job"):
        for item in await client.list(kind, namespace):
            if item["metadata"]["name"] != "kube-root-ca.crt":
                found[f"{kind} {item['metadata']['name']}"] = item
    return found


async def test_a_minimal_object_becomes_exactly_its_children(kube_client: Client, namespace: str) -> None:
    owner = await create_settled(kube_client, namespace, claw())
    found = await children(kube_client, namespace)
    assert set(found) == {"Deployment shop-frontend", "Deployment shop-worker", "Service shop-frontend"}
    for key, child in found.items():
        component = key.rpartition("-")[2]
        assert child["metadata"]["labels"] == {
            **labels(component),
            "openclaw.dev/slot": str(slot(owner["metadata"]["uid"])),
        }
        assert child["metadata"]["ownerReferences"] == [
            {
                "apiVersion": "apps.openclaw.dev/v1alpha1",
                "kind": "OpenClaw",
                "name": "shop",
                "uid": owner["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
        assert not child["metadata"].get("finalizers")
    frontend, worker = found["Deployment shop-frontend"], found["Deployment shop-worker"]
    assert container(frontend)["name"] == "frontend"
    assert container(frontend)["image"] == WEB
    assert container(frontend)["ports"] == [{"name": "http", "containerPort": 8080, "protocol": "TCP"}]
    assert container(frontend)["readinessProbe"]["tcpSocket"] == {"port": "http"}
    assert "env" not in container(frontend)
    assert container(worker)["name"] == "worker"
    assert container(worker)["image"] == JOBS
    assert container(worker)["env"] == [{"name": "QUEUE_ADDRESS", "value": QUEUE}]
    assert "ports" not in container(worker)
    for component, deployment in (("frontend", frontend), ("worker", worker)):
        assert deployment["spec"]["replicas"] == 1
        assert deployment["spec"]["template"]["metadata"]["labels"] == labels(component)
        selector = deployment["spec"]["selector"]["matchLabels"]
        assert selector.items() <= labels(component).items()
        assert selector["app.kubernetes.io/component"] == component
        assert "imagePullSecrets" not in deployment["spec"]["template"]["spec"]
        assert "nodeSelector" not in deployment["spec"]["template"]["spec"]
    service = found["Service shop-frontend"]
    assert service["spec"]["type"] == "ClusterIP"
    assert service["spec"]["selector"] == frontend["spec"]["selector"]["matchLabels"]
    assert service["spec"]["ports"] == [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}]
    status = owner["status"]
    assert (status["frontendReadyReplicas"], status["workerReadyReplicas"]) == (1, 1)
    assert "externalEndpoint" not in status


async def test_the_service_leads_to_the_pods(kube_client: Client, namespace: str) -> None:
    await create_settled(kube_client, namespace, claw(frontend={"replicas": 2, "port": 3000}))

    def leads_to_both(slices: list[Object]) -> bool:
        (only,) = slices
        ready = [it for it in only["endpoints"] if it["conditions"]["ready"]]
        return len(ready) == 2 and only["ports"][0]["port"] == 3000

    await kube_client.wait_list("EndpointSlice.discovery.k8s.io", namespace, leads_to_both)


async def test_only_what_is_stated_is_owned(kube_client: Client, namespace: str) -> None:
    await create_settled(kube_client, namespace, claw(frontend={"ingressHost": "shop.example.com"}))
    owner = r'k:{"uid":"'
    found = await children(kube_client, namespace)
    for key, child in found.items():
        paths = owned_paths(applied_entry(child))
        meta = {path for path in paths if path.startswith("/metadata/")}
        assert {path for path in meta if owner not in path} == {
            f"/metadata/labels/{name}" for name in (*labels(""), "openclaw.dev/slot")
        }, key
        spec = {path for path in paths if not path.startswith("/metadata/")}
        assert all(path.startswith("/spec/") for path in spec)
        for foreign in ("strategy", "clusterIP", "revisionHistoryLimit", "ingressClassName", "annotations"):
            assert not any(foreign in path for path in paths), (key, foreign)


ChildCheck = Callable[[dict[str, Object]], Any]


@pytest.mark.parametrize(
    ("spec", "check"),
    [
        pytest.param(
            {"frontend": {"image": "registry.example.com/web:2"}},
            lambda it: container(it["Deployment shop-frontend"])["image"] == "registry.example.com/web:2",
            id="frontend.image",
        ),
        pytest.param(
            {"frontend": {"replicas": 3}},
            lambda it: it["Deployment shop-frontend"]["spec"]["replicas"] == 3,
            id="frontend.replicas",
        ),
        pytest.param(
            {"frontend": {"port": 9000}},
            lambda it: container(it["Deployment shop-frontend"])["ports"][0]["containerPort"] == 9000,
            id="frontend.port",
        ),
        pytest.param(
            {"frontend": {"serviceType": "NodePort"}},
            lambda it: it["Service shop-frontend"]["spec"]["type"] == "NodePort",
            id="frontend.serviceType",
        ),
        pytest.param(
            {"frontend": {"ingressHost": "a.example.com"}},
            lambda it: it["Ingress shop-frontend"]["spec"]["rules"][0]["host"] == "a.example.com",
            id="frontend.ingressHost",
        ),
        pytest.param(
            {"worker": {"image": "registry.example.com/jobs:2"}},
            lambda it: container(it["Deployment shop-worker"])["image"] == "registry.example.com/jobs:2",
            id="worker.image",
        ),
        pytest.param(
            {"worker": {"replicas": 2}},
            lambda it: it["Deployment shop-worker"]["spec"]["replicas"] == 2,
            id="worker.replicas",
        ),
        pytest.param(
            {"worker": {"queue": "amqp://other:5672/jobs"}},
            lambda it: container(it["Deployment shop-worker"])["env"][0]["value"] == "amqp://other:5672/jobs",
            id="worker.queue",
        ),
        pytest.param(
            {"globalConfig": {"imagePullSecrets": ["one", "two"]}},
            lambda it: all(
                it[f"Deployment shop-{name}"]["spec"]["template"]["spec"]["imagePullSecrets"]
                == [{"name": "one"}, {"name": "two"}]
                for name in ("frontend", "worker")
            ),
            id="globalConfig.imagePullSecrets",
        ),
        pytest.param(
            {"globalConfig": {"nodeSelector": {"kubernetes.io/os": "linux"}}},
            lambda it: all(
                it[f"Deployment shop-{name}"]["spec"]["template"]["spec"]["nodeSelector"]
                == {"kubernetes.io/os": "linux"}
                for name in ("frontend", "worker")
            ),
            id="globalConfig.nodeSelector",
        ),
    ],
)
async def test_a_changed_field_reaches_the_child(
    kube_client: Client, namespace: str, spec: Object, check: ChildCheck
) -> None:
    before = await create_settled(kube_client, namespace, claw())
    changed = await change(kube_client, namespace, spec)
    assert changed["metadata"]["generation"] == before["metadata"]["generation"] + 1
    await wait_settled(kube_client, namespace)
    assert check(await children(kube_client, namespace))


async def test_what_the_spec_no_longer_states_goes_from_the_children(
    kube_client: Client, namespace: str
) -> None:
    shared = {
        "imagePullSecrets": ["one", "two"],
        "nodeSelector": {"kubernetes.io/os": "linux", "kubernetes.io/hostname": "stand-in-0"},
    }
    await create_settled(
        kube_client, namespace, claw(frontend={"ingressHost": "shop.example.com"}, shared=shared)
    )
    # First a part of each, then all of it.
    await change(
        kube_client,
        namespace,
        {
            "globalConfig": {
                "imagePullSecrets": ["two"],
                "nodeSelector": {"kubernetes.io/hostname": None},
            }
        },
    )
    await wait_settled(kube_client, namespace)
    for deployment in await kube_client.list("Deployment", namespace):
        pod = deployment["spec"]["template"]["spec"]
        assert pod["imagePullSecrets"] == [{"name": "two"}]
        assert pod["nodeSelector"] == {"kubernetes.io/os": "linux"}
    await change(kube_client, namespace, {"frontend": {"ingressHost": None}, "globalConfig": None})
    await wait_settled(kube_client, namespace)
    for deployment in await kube_client.list("Deployment", namespace):
        pod = deployment["spec"]["template"]["spec"]
        assert not pod.get("imagePullSecrets")
        assert not pod.get("nodeSelector")
    assert await kube_client.list("Ingress", namespace) == []


async def test_zero_replicas_are_none_and_can_come_back(kube_client: Client, namespace: str) -> None:
    body = claw(frontend={"replicas": 0}, worker={"replicas": 2})
    status = (await create_settled(kube_client, namespace, body))["status"]
    assert (status["frontendReadyReplicas"], status["workerReadyReplicas"]) == (0, 2)
    await change(kube_client, namespace, {"frontend": {"replicas": 2}, "worker": {"replicas": 0}})
    status = (await wait_settled(kube_client, namespace))["status"]
    assert (status["frontendReadyReplicas"], status["workerReadyReplicas"]) == (2, 0)
    pods = await kube_client.wait_list(
        "Pod", namespace, lambda found: len(found) == 2, label_selector="app.kubernetes.io/part-of=shop"
    )
    assert {pod["metadata"]["labels"]["app.kubernetes.io/component"] for pod in pods} == {"frontend"}


async def test_unset_replicas_are_one_and_unsetting_goes_back_to_it(
    kube_client: Client, namespace: str
) -> None:
    await create_settled(kube_client, namespace, claw(frontend={"replicas": 3}))
    await change(kube_client, namespace, {"frontend": {"replicas": None}})
    status = (await wait_settled(kube_client, namespace))["status"]
    assert status["frontendReadyReplicas"] == 1


async def test_many_objects_in_one_namespace_do_not_mix(kube_client: Client, namespace: str) -> None:
    names = [f"shop-{number}" for number in range(5)]
    for number, name in enumerate(names):
        await kube_client.create(claw(name, frontend={"replicas": number}), namespace=namespace)
    found = await kube_client.wait_list(
        "OpenClaw", namespace, lambda items: len(items) == 5 and all(map(settled, items))
    )
    ready = {it["metadata"]["name"]: it["status"]["frontendReadyReplicas"] for it in found}
    assert ready == {name: number for number, name in enumerate(names)}
    assert len(await kube_client.list("Deployment", namespace)) == 10


async def test_the_operator_reported_no_trouble(operator: OperatorProcess) -> None:
    assert [it for it in operator.records if it["level"] not in ("info", "debug")] == []
