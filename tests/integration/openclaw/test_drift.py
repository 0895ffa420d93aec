"""What is ours and was changed is put right; what is others' is left alone."""

from __future__ import annotations

from contextlib import aclosing

import pytest

from openclaw.testing import Client, ControlPlane
from openclaw.testing.client import Object
from tests.integration.openclaw.claws import (
    JOBS,
    QUEUE,
    SECONDS,
    WEB,
    change,
    claw,
    condition,
    container,
    create_settled,
    degraded,
    managed,
    says,
    settled,
    wait_settled,
)
from tests.integration.openclaw.operator_process import OperatorProcess

pytestmark = pytest.mark.usefixtures("operator")

WORKER = "shop-worker"
FRONTEND = "shop-frontend"


def spec_of(deployment: Object) -> Object:
    found: Object = deployment["spec"]
    return found


@pytest.mark.parametrize(
    "drift",
    [
        pytest.param([{"op": "replace", "path": "/spec/replicas", "value": 3}], id="replicas"),
        pytest.param(
            [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "evil:1"}],
            id="image",
        ),
        pytest.param(
            [{"op": "replace", "path": "/spec/template/spec/containers/0/env/0/value", "value": "other:1"}],
            id="queue",
        ),
        pytest.param([{"op": "remove", "path": "/spec/template/spec/containers/0/env"}], id="env removed"),
        pytest.param([{"op": "remove", "path": "/metadata/ownerReferences"}], id="owner reference"),
        pytest.param(
            [{"op": "replace", "path": "/metadata/ownerReferences/0/blockOwnerDeletion", "value": False}],
            id="owner reference does not block",
        ),
        pytest.param([{"op": "remove", "path": "/metadata/labels/openclaw.dev~1slot"}], id="slot label"),
        pytest.param(
            [{"op": "replace", "path": "/metadata/labels/app.kubernetes.io~1instance", "value": "other"}],
            id="label",
        ),
        pytest.param([{"op": "remove", "path": "/metadata/labels"}], id="all labels"),
        pytest.param([{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}], id="ownership"),
    ],
)
async def test_drift_of_the_worker_is_put_right(
    kube_client: Client, namespace: str, drift: list[Object], operator: OperatorProcess
) -> None:
    await create_settled(kube_client, namespace, claw())
    before = await kube_client.get("Deployment", namespace, WORKER)
    await kube_client.patch("Deployment", namespace, WORKER, drift)

    def as_before(it: Object) -> bool:
        same = [it["metadata"][name] == before["metadata"][name] for name in ("labels", "ownerReferences")]
        return all(same) and spec_of(it) == spec_of(before) and managed(it) == managed(before)

    after = await kube_client.wait_for("Deployment", namespace, WORKER, as_before, SECONDS)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    await wait_settled(kube_client, namespace)
    assert [it for it in operator.of(namespace) if it["level"] not in ("info", "debug")] == []


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("Service", [{"op": "replace", "path": "/spec/ports/0/targetPort", "value": 1}]),
        ("Service", [{"op": "replace", "path": "/spec/selector", "value": {"app": "other"}}]),
        ("Service", [{"op": "add", "path": "/spec/selector/extra", "value": "yes"}]),
        ("Service", [{"op": "replace", "path": "/spec/type", "value": "NodePort"}]),
        ("Ingress", [{"op": "replace", "path": "/spec/rules/0/host", "value": "other.example.com"}]),
        ("Ingress", [{"op": "add", "path": "/spec/rules/-", "value": {"host": "second.example.com"}}]),
    ],
    ids=["port", "selector", "selector extended", "type", "host", "second rule"],
)
async def test_drift_of_what_publishes_is_put_right(
    kube_client: Client, namespace: str, kind: str, change: list[Object]
) -> None:
    await create_settled(kube_client, namespace, claw(frontend={"ingressHost": "shop.example.com"}))
    before = await kube_client.get(kind, namespace, FRONTEND)
    await kube_client.patch(kind, namespace, FRONTEND, change)
    await kube_client.wait_for(kind, namespace, FRONTEND, lambda it: spec_of(it) == spec_of(before), SECONDS)


@pytest.mark.parametrize(
    ("kind", "name", "propagation"),
    [
        ("Deployment", WORKER, "Background"),
        ("Deployment", WORKER, "Foreground"),
        ("Deployment", WORKER, "Orphan"),
        ("Service", FRONTEND, "Background"),
        ("Ingress", FRONTEND, "Background"),
    ],
)
async def test_a_deleted_child_comes_back(
    kube_client: Client, namespace: str, kind: str, name: str, propagation: str
) -> None:
    await create_settled(kube_client, namespace, claw(frontend={"ingressHost": "shop.example.com"}))
    before = await kube_client.get(kind, namespace, name)
    await kube_client.delete(kind, namespace, name, propagation=propagation)
    after = await kube_client.wait_for(
        kind, namespace, name, lambda it: it["metadata"]["uid"] != before["metadata"]["uid"], SECONDS
    )
    # What the server chooses anew is not compared.
    chosen = {"clusterIP", "clusterIPs"}
    assert {key: it for key, it in spec_of(after).items() if key not in chosen} == {
        key: it for key, it in spec_of(before).items() if key not in chosen
    }
    await wait_settled(kube_client, namespace)


@pytest.mark.parametrize("propagation", ["Foreground", "Background"])
async def test_while_a_child_is_being_deleted_the_object_says_so(
    kube_client: Client, namespace: str, propagation: str
) -> None:
    """A deletion held by a finalizer, whose pods go (Foreground) or are all there still (Background)."""
    await create_settled(kube_client, namespace, claw())
    held = {"metadata": {"finalizers": ["example.com/hold"]}}
    before = await kube_client.patch("Deployment", namespace, WORKER, held)
    await kube_client.delete("Deployment", namespace, WORKER, propagation=propagation)
    found = await kube_client.wait_for(
        "OpenClaw", namespace, "shop", lambda it: says(it, Progressing="True"), SECONDS
    )
    assert "worker" in condition(found, "Progressing")["message"]
    assert not settled(found)
    # A new spec does not wake the one that goes, nor does it fail.
    await change(kube_client, namespace, {"worker": {"queue": "other:1"}, "frontend": {"replicas": 2}})
    found = await kube_client.wait_for(
        "OpenClaw",
        namespace,
        "shop",
        lambda it: it["status"]["frontendReadyReplicas"] == 2 and says(it, Progressing="True"),
        SECONDS,
    )
    assert condition(found, "Degraded")["status"] == "False"
    assert condition(found, "Available")["status"] == "False"
    await kube_client.patch("Deployment", namespace, WORKER, {"metadata": {"finalizers": None}})
    await wait_settled(kube_client, namespace)
    after = await kube_client.get("Deployment", namespace, WORKER)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert container(after)["env"][0]["value"] == "other:1"


async def test_what_others_set_is_left_alone(
    kube_client: Client, namespace: str, operator: OperatorProcess
) -> None:
    await create_settled(kube_client, namespace, claw(frontend={"ingressHost": "shop.example.com"}))
    await kube_client.patch(
        "Deployment",
        namespace,
        FRONTEND,
        {
            "metadata": {
                "annotations": {"example.com/note": "by kubectl"},
                "labels": {"example.com/team": "shop"},
                "finalizers": ["example.com/hold"],
            },
            "spec": {"minReadySeconds": 0, "revisionHistoryLimit": 3, "progressDeadlineSeconds": 1234},
        },
    )
    sidecar = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": FRONTEND},
        "spec": {
            "template": {
                "metadata": {"annotations": {"example.com/injected": "yes"}},
                "spec": {
                    "containers": [
                        {"name": "proxy", "image": "example.com/proxy:1"},
                        {"name": "frontend", "env": [{"name": "PROXY", "value": "on"}]},
                    ],
                    "tolerations": [{"key": "a", "operator": "Exists"}],
                },
            }
        },
    }
    await kube_client.apply(sidecar, namespace=namespace)
    await kube_client.patch(
        "Service",
        namespace,
        FRONTEND,
        {
            "metadata": {"annotations": {"example.com/balancer": "internal"}},
            "spec": {"sessionAffinity": "ClientIP"},
        },
    )
    await kube_client.patch(
        "Ingress",
        namespace,
        FRONTEND,
        {
            "metadata": {"annotations": {"example.com/rewrite": "/"}},
            "spec": {
                "ingressClassName": "nginx",
                "tls": [{"hosts": ["shop.example.com"], "secretName": "tls"}],
            },
        },
    )

    def theirs(deployment: Object) -> Object:
        meta, spec = deployment["metadata"], spec_of(deployment)
        pod = spec["template"]["spec"]
        return {
            "annotation": meta["annotations"]["example.com/note"],
            "label": meta["labels"]["example.com/team"],
            "finalizers": meta["finalizers"],
            "numbers": [spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]],
            "injected": spec["template"]["metadata"]["annotations"]["example.com/injected"],
            "containers": {it["name"]: it["image"] for it in pod["containers"] if it["name"] != "frontend"},
            "env": [it["env"] for it in pod["containers"] if it["name"] == "frontend"],
            "tolerations": pod["tolerations"],
        }

    expected = theirs(await kube_client.get("Deployment", namespace, FRONTEND))
    # Only the next change of ours shows whether an apply of it would take theirs away.
    await change(kube_client, namespace, {"frontend": {"image": "registry.example.com/web:2", "replicas": 2}})
    await wait_settled(kube_client, namespace)
    deployment = await kube_client.get("Deployment", namespace, FRONTEND)
    assert theirs(deployment) == expected
    assert spec_of(deployment)["replicas"] == 2
    images = [it["image"] for it in spec_of(deployment)["template"]["spec"]["containers"]]
    assert "registry.example.com/web:2" in images
    await change(kube_client, namespace, {"frontend": {"serviceType": "NodePort"}})
    await wait_settled(kube_client, namespace)
    service = await kube_client.get("Service", namespace, FRONTEND)
    assert service["metadata"]["annotations"]["example.com/balancer"] == "internal"
    assert service["spec"]["sessionAffinity"] == "ClientIP"
    await change(kube_client, namespace, {"frontend": {"ingressHost": "b.example.com"}})
    await wait_settled(kube_client, namespace)
    ingress = await kube_client.get("Ingress", namespace, FRONTEND)
    assert ingress["metadata"]["annotations"]["example.com/rewrite"] == "/"
    assert ingress["spec"]["ingressClassName"] == "nginx"
    assert ingress["spec"]["tls"]
    assert [it for it in operator.of(namespace) if it["level"] not in ("info", "debug")] == []
    await kube_client.patch("Deployment", namespace, FRONTEND, {"metadata": {"finalizers": None}})


async def test_a_change_by_others_makes_no_write_of_ours(
    kube_client: Client, namespace: str, control_plane: ControlPlane, operator_kubeconfig: object
) -> None:
    """An annotation on a child wakes the reconciler; it finds nothing to do and sends nothing."""
    await create_settled(kube_client, namespace, claw())
    await create_settled(kube_client, namespace, claw("canary"))
    before = {it["metadata"]["uid"] for it in await kube_client.list("Deployment", namespace)}
    since = len(writes(control_plane, namespace))
    for name in (WORKER, FRONTEND):
        await kube_client.patch(
            "Deployment", namespace, name, {"metadata": {"annotations": {"example.com/a": "b"}}}
        )
    await kube_client.patch("OpenClaw", namespace, "shop", {"metadata": {"labels": {"example.com/a": "b"}}})
    # What a later change of another object leads to comes after what those led to.
    await kube_client.patch("OpenClaw", namespace, "canary", {"spec": {"worker": {"replicas": 2}}})
    await wait_settled(kube_client, namespace, "canary")
    news = [it for it in writes(control_plane, namespace)[since:] if "canary" not in it["requestURI"]]
    assert [it["requestURI"] for it in news if "/events" not in it["requestURI"]] == []
    assert {it["metadata"]["uid"] for it in await kube_client.list("Deployment", namespace)} == before


def writes(control_plane: ControlPlane, namespace: str) -> list[Object]:
    """The operator's writes in a namespace, from the audit log."""
    return [
        it
        for it in control_plane.audit_events()
        if it.get("userAgent", "").startswith("openclaw")
        and it["user"]["username"].startswith("system:serviceaccount:")
        and it["verb"] not in ("get", "list", "watch")
        and (it.get("objectRef") or {}).get("namespace") == namespace
    ]


async def test_a_paused_deployment_stays_paused(kube_client: Client, namespace: str) -> None:
    await create_settled(kube_client, namespace, claw())
    await kube_client.patch("Deployment", namespace, WORKER, {"spec": {"paused": True}})
    await change(kube_client, namespace, {"worker": {"image": "registry.example.com/jobs:2"}})
    found = await kube_client.wait_for(
        "OpenClaw", namespace, "shop", lambda it: says(it, Progressing="True", Available="True"), SECONDS
    )
    assert not settled(found)
    deployment = await kube_client.get("Deployment", namespace, WORKER)
    assert deployment["spec"]["paused"] is True
    await kube_client.patch("Deployment", namespace, WORKER, {"spec": {"paused": False}})
    await wait_settled(kube_client, namespace)


async def test_a_restart_of_a_deployment_by_hand_shows_as_progress(
    kube_client: Client, namespace: str
) -> None:
    """`kubectl rollout restart` sets an annotation of its own in the pod template."""
    await create_settled(kube_client, namespace, claw(worker={"replicas": 2}))
    stamp = {"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}
    async with aclosing(kube_client.follow("OpenClaw", namespace)) as changes:
        await anext(changes)
        await kube_client.patch(
            "Deployment", namespace, WORKER, {"spec": {"template": {"metadata": {"annotations": stamp}}}}
        )
        seen = []
        async for events in changes:
            seen += [obj for _, obj in events]
            if any(says(obj, Progressing="True") for obj in seen) and settled(seen[-1]):
                break
    deployment = await kube_client.get("Deployment", namespace, WORKER)
    assert deployment["spec"]["template"]["metadata"]["annotations"] == stamp
    assert (container(deployment)["image"], WEB, QUEUE) == (JOBS, WEB, QUEUE)


@pytest.mark.parametrize(
    ("name", "edit", "words"),
    [
        (
            FRONTEND,
            {"readinessProbe": {"httpGet": {"path": "/healthz", "port": 8080}}},
            "readinessProbe",
        ),
        (
            WORKER,
            {"env": [{"name": "QUEUE_ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]},
            "valueFrom",
        ),
    ],
    ids=["probe", "queue"],
)
async def test_an_edit_that_contradicts_ours_is_reported_until_it_is_undone(
    kube_client: Client, namespace: str, name: str, edit: Object, words: str
) -> None:
    """Alternatives, of which only one may be set. An apply can't take away what another manager owns."""
    await create_settled(kube_client, namespace, claw())
    before = container(await kube_client.get("Deployment", namespace, name))
    operations = [
        {"op": "replace", "path": f"/spec/template/spec/containers/0/{key}", "value": value}
        for key, value in edit.items()
    ]
    await kube_client.patch("Deployment", namespace, name, operations)
    found = await degraded(kube_client, namespace, words)
    for kind in ("Degraded", "Stalled"):
        assert condition(found, kind)["reason"] == "Invalid"
    undo = [{**it, "value": before[key]} for it, key in zip(operations, edit, strict=True)]
    await kube_client.patch("Deployment", namespace, name, undo)
    await wait_settled(kube_client, namespace)
    assert container(await kube_client.get("Deployment", namespace, name)) == before
