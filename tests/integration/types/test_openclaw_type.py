"""The OpenClaw CRD on the real API server: defaults, refusals, pruning, subresource, kubectl."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from openclaw.api.openclaw import OpenClaw
from openclaw.kube.errors import BadRequest, Invalid
from openclaw.testing import Client
from openclaw.testing.client import Object
from tests.integration.types.conftest import Kubectl

pytestmark = pytest.mark.usefixtures("api_server")

ROOT = Path(__file__).parents[3]
CRD = ROOT / "crds" / "apps.openclaw.dev_openclaws.yaml"
SAMPLES = sorted((ROOT / "examples" / "openclaw").glob("*.yaml"))
MINIMAL: Object = {"frontend": {"image": "web:1"}, "worker": {"image": "jobs:1", "queue": "redis:6379"}}


def claw(name: str = "shop", **changes: Any) -> Object:
    """The least OpenClaw, with changes by paths such as frontend__replicas; `...` takes a field away."""
    spec: Object = {key: dict(value) for key, value in MINIMAL.items()}
    for path, value in changes.items():
        section, _, field = path.partition("__")
        at = spec.setdefault(section, {}) if field else spec
        if value is ...:
            del at[field or section]
        else:
            at[field or section] = value
    return {
        "apiVersion": "apps.openclaw.dev/v1alpha1",
        "kind": "OpenClaw",
        "metadata": {"name": name},
        "spec": spec,
    }


@pytest.fixture(autouse=True)
async def _no_warnings(kube_client: Client) -> AsyncIterator[None]:
    yield
    assert kube_client.warnings == []


async def test_the_crd_is_accepted_without_a_warning(kube_client: Client) -> None:
    crd = await kube_client.apply(yaml.safe_load(CRD.read_text()))
    assert not [it for it in crd["status"]["conditions"] if it["type"] == "NonStructuralSchema"]


async def test_defaults(kube_client: Client, namespace: str) -> None:
    created = await kube_client.create(claw(), namespace=namespace)
    assert created["spec"] == {
        "frontend": {"image": "web:1", "replicas": 1, "serviceType": "ClusterIP", "port": 8080},
        "worker": {"image": "jobs:1", "queue": "redis:6379", "replicas": 1},
    }
    assert created["metadata"]["generation"] == 1
    assert "status" not in created


async def test_zero_is_not_unset_and_null_is(kube_client: Client, namespace: str) -> None:
    created = await kube_client.create(
        claw(frontend__replicas=0, worker__replicas=None, frontend__port=None, frontend__ingressHost=None),
        namespace=namespace,
    )
    assert created["spec"]["frontend"]["replicas"] == 0
    assert created["spec"]["worker"]["replicas"] == 1
    assert created["spec"]["frontend"]["port"] == 8080
    assert OpenClaw.from_dict(created).spec.frontend.ingress_host is None


async def test_a_default_may_be_taken_back_to(kube_client: Client, namespace: str) -> None:
    await kube_client.create(claw(frontend__replicas=5), namespace=namespace)
    change = {"spec": {"frontend": {"replicas": None}}}
    assert (await kube_client.patch("OpenClaw", namespace, "shop", change))["spec"]["frontend"][
        "replicas"
    ] == 1


LONG_NAME = "a" * 64


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"frontend": ...}, "spec.frontend", "Required"),
        ({"worker": ...}, "spec.worker", "Required"),
        ({"frontend__image": ...}, "spec.frontend.image", "Required"),
        ({"frontend__image": ""}, "spec.frontend.image", "must be a container image such as"),
        ({"frontend__image": "web 1"}, "spec.frontend.image", "without blanks"),
        ({"frontend__image": "w" * 1025}, "spec.frontend.image", "1024"),
        ({"frontend__image": 1}, "spec.frontend.image", "string"),
        ({"frontend__replicas": -1}, "spec.frontend.replicas", "greater than or equal to 0"),
        ({"frontend__replicas": 1001}, "spec.frontend.replicas", "less than or equal to 1000"),
        ({"frontend__replicas": "2"}, "spec.frontend.replicas", "integer"),
        ({"frontend__replicas": 1.5}, "spec.frontend.replicas", "integer"),
        (
            {"frontend__serviceType": "ExternalName"},
            "spec.frontend.serviceType",
            '"ClusterIP", "NodePort", "LoadBalancer"',
        ),
        ({"frontend__port": 0}, "spec.frontend.port", "greater than or equal to 1"),
        ({"frontend__port": 65536}, "spec.frontend.port", "less than or equal to 65535"),
        ({"frontend__ingressHost": ""}, "spec.frontend.ingressHost", "must be a DNS name such as"),
        ({"frontend__ingressHost": "Shop.example.com"}, "spec.frontend.ingressHost", "must be a DNS name"),
        ({"frontend__ingressHost": "http://a.b"}, "spec.frontend.ingressHost", "must be a DNS name"),
        ({"frontend__ingressHost": "a..b"}, "spec.frontend.ingressHost", "must be a DNS name"),
        ({"frontend__ingressHost": "a.*.b"}, "spec.frontend.ingressHost", "must be a DNS name"),
        ({"frontend__ingressHost": "10.0.0.1"}, "spec.frontend.ingressHost", "not an IP address"),
        ({"frontend__ingressHost": "a" * 254}, "spec.frontend.ingressHost", "253"),
        ({"worker__image": ...}, "spec.worker.image", "Required"),
        ({"worker__queue": ...}, "spec.worker.queue", "Required"),
        ({"worker__queue": ""}, "spec.worker.queue", "must be the address of a queue such as"),
        ({"worker__queue": "a b"}, "spec.worker.queue", "without blanks"),
        ({"worker__queue": "q" * 2049}, "spec.worker.queue", "2048"),
        ({"worker__replicas": -1}, "spec.worker.replicas", "greater than or equal to 0"),
        ({"worker__replicas": 1001}, "spec.worker.replicas", "less than or equal to 1000"),
        (
            {"globalConfig__imagePullSecrets": ["A"]},
            "spec.globalConfig.imagePullSecrets[0]",
            "name of a Secret",
        ),
        (
            {"globalConfig__imagePullSecrets": [""]},
            "spec.globalConfig.imagePullSecrets[0]",
            "name of a Secret",
        ),
        (
            {"globalConfig__imagePullSecrets": ["a", "a"]},
            "spec.globalConfig.imagePullSecrets[1]",
            "Duplicate",
        ),
        (
            {"globalConfig__imagePullSecrets": [f"s{number}" for number in range(33)]},
            "spec.globalConfig.imagePullSecrets",
            "at most 32 items",
        ),
        (
            {"globalConfig__nodeSelector": {"a b": "c"}},
            "spec.globalConfig.nodeSelector",
            "must be label keys",
        ),
        ({"globalConfig__nodeSelector": {"": "c"}}, "spec.globalConfig.nodeSelector", "must be label keys"),
        ({"globalConfig__nodeSelector": {LONG_NAME: "c"}}, "spec.globalConfig.nodeSelector", "63 letters"),
        (
            {"globalConfig__nodeSelector": {"a": "-"}},
            "spec.globalConfig.nodeSelector[a]",
            "must be a label value",
        ),
        ({"globalConfig__nodeSelector": {"a": LONG_NAME}}, "spec.globalConfig.nodeSelector.a", "63"),
        ({"globalConfig__nodeSelector": {"a": True}}, "spec.globalConfig.nodeSelector.a", "string"),
        (
            {"globalConfig__nodeSelector": {f"k{number}": "" for number in range(33)}},
            "spec.globalConfig.nodeSelector",
            "at most 32 items",
        ),
    ],
    ids=lambda it: str(it)[:50] if isinstance(it, dict) else "",
)
async def test_refusals_name_the_field_and_what_is_allowed(
    kube_client: Client, namespace: str, changes: Object, field: str, words: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        await kube_client.create(claw(**changes), namespace=namespace)
    assert field in {cause["field"] for cause in refusal.value.causes}, refusal.value.causes
    assert words in refusal.value.message


@pytest.mark.parametrize(
    "changes",
    [
        {"frontend__image": "registry.example.com:5000/a/b@sha256:" + "0" * 64},
        {"frontend__replicas": 1000, "worker__replicas": 0},
        {"frontend__ingressHost": "*.example.com"},
        {"frontend__ingressHost": "localhost"},
        {"frontend__ingressHost": "1.example.com"},
        {"worker__queue": "amqps://user:pass@rabbit.shop:5671/%2F?heartbeat=10"},
        {"globalConfig__nodeSelector": {"a": "", "example.com/b.c_d": "E.f_g-1"}},
        {"globalConfig__imagePullSecrets": ["a", "b.c", "1"]},
        {"globalConfig": {}},
    ],
    ids=str,
)
async def test_the_edges_of_what_is_allowed(kube_client: Client, namespace: str, changes: Object) -> None:
    created = await kube_client.create(claw(**changes), namespace=namespace)
    # What the server admits, Python reads.
    OpenClaw.from_dict(created)


async def test_unknown_fields_are_pruned_and_refused_where_that_is_asked(
    kube_client: Client, namespace: str, kubectl: Kubectl
) -> None:
    body = claw(frontend__replica=3)
    with pytest.raises(BadRequest, match=r'unknown field "spec.frontend.replica"'):
        await kube_client.create(body, namespace=namespace)
    answer = await kubectl("create", "--validate=ignore", "-f", "-", stdin=yaml.safe_dump(body))
    assert answer.status == 0, answer
    stored = await kube_client.get("OpenClaw", namespace, "shop")
    assert "replica" not in stored["spec"]["frontend"]
    answer = await kubectl("apply", "-f", "-", stdin=yaml.safe_dump(body))
    assert answer.status == 1
    assert 'unknown field "spec.frontend.replica"' in answer.err


async def test_status_is_written_by_the_subresource_only(kube_client: Client, namespace: str) -> None:
    created = await kube_client.create(
        {**claw(), "status": {"frontendReadyReplicas": 7}}, namespace=namespace
    )
    assert "status" not in created
    status = {"frontendReadyReplicas": 7, "observedGeneration": 1}
    both = {"spec": {"worker": {"replicas": 9}}, "status": status}
    changed = await kube_client.patch("OpenClaw", namespace, "shop", both, subresource="status")
    assert changed["status"] == status
    assert changed["spec"]["worker"]["replicas"] == 1
    assert changed["metadata"]["generation"] == 1, "a status is no new generation"
    other = {"spec": {"worker": {"replicas": 2}}, "status": {"frontendReadyReplicas": 0}}
    changed = await kube_client.patch("OpenClaw", namespace, "shop", other)
    assert changed["status"] == status
    assert changed["metadata"]["generation"] == 2
    labels = {"metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}}}
    changed = await kube_client.patch("OpenClaw", namespace, "shop", labels)
    assert changed["metadata"]["generation"] == 2, "only the spec counts"


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"reason": "not a word"}, "reason"),
        ({"reason": ""}, "reason"),
        ({"status": "Yes"}, "status"),
        ({"lastTransitionTime": "now"}, "lastTransitionTime"),
        ({"lastTransitionTime": None}, "lastTransitionTime"),
        ({"type": "a b"}, "type"),
    ],
    ids=str,
)
async def test_conditions_are_validated(
    kube_client: Client, namespace: str, item: Object, words: str
) -> None:
    await kube_client.create(claw(), namespace=namespace)
    good = {
        "type": "Available",
        "status": "True",
        "reason": "Good",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    right = {"status": {"conditions": [good]}}
    await kube_client.patch("OpenClaw", namespace, "shop", right, subresource="status")
    wrong = {"status": {"conditions": [good | item]}}
    with pytest.raises(Invalid, match=rf"status\.conditions\[0\]\.{words}"):
        await kube_client.patch("OpenClaw", namespace, "shop", wrong, subresource="status")
    twice = {"status": {"conditions": [good, good]}}
    with pytest.raises(Invalid, match="Duplicate"):
        await kube_client.patch("OpenClaw", namespace, "shop", twice, subresource="status")


async def test_columns(kube_client: Client, namespace: str, kubectl: Kubectl) -> None:
    await kube_client.create(claw(frontend__replicas=2), namespace=namespace)
    conditions = [
        {
            "type": kind,
            "status": status,
            "reason": "Because",
            "message": "it is so" if kind == "Degraded" else "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        for kind, status in (("Available", "True"), ("Progressing", "False"), ("Degraded", "Unknown"))
    ]
    status = {
        "frontendReadyReplicas": 2,
        "workerReadyReplicas": 0,
        "externalEndpoint": "http://shop.example.com",
        "conditions": conditions,
    }
    await kube_client.patch("OpenClaw", namespace, "shop", {"status": status}, subresource="status")
    heading, row = (await kubectl.ok("get", "openclaws")).splitlines()
    assert heading.split() == [
        *("NAME", "FRONTEND", "WORKER", "ENDPOINT", "AVAILABLE", "PROGRESSING", "DEGRADED", "AGE")
    ]
    assert row.split()[:-1] == ["shop", "2", "0", "http://shop.example.com", "True", "False", "Unknown"]
    wide = await kubectl.ok("get", "claw", "-o", "wide")
    assert "it is so" in wide
    assert {"FRONTEND-DESIRED", "WORKER-DESIRED", "MESSAGE"} <= set(wide.split())
    for name in ("openclaw", "claw", "openclaws.apps.openclaw.dev", "openclaw.v1alpha1.apps.openclaw.dev"):
        assert "shop" in await kubectl.ok("get", name), name
    assert "openclaw.apps.openclaw.dev/shop" in await kubectl.ok("get", "all", "-o", "name")


async def test_a_new_object_shows_before_anybody_has_looked_after_it(
    kube_client: Client, namespace: str, kubectl: Kubectl
) -> None:
    await kube_client.create(claw(), namespace=namespace)
    assert (await kubectl.ok("get", "claw")).splitlines()[1].split()[0] == "shop"


async def test_explain(kubectl: Kubectl) -> None:
    top = await kubectl.ok("explain", "openclaw")
    assert "KIND:       OpenClaw" in top
    assert "An application of a web front end and background workers" in top
    schema = OpenClaw.schema_of_object()["properties"]

    async def compare(path: str, below: Object) -> None:
        text = await kubectl.ok("explain", path)
        for name, field in below["properties"].items():
            assert f"\n  {name}\t" in text, (path, name)
            assert field["description"], (path, name)
            if name in below.get("required", ()):
                line = next(it for it in text.splitlines() if it.startswith(f"  {name}\t"))
                assert "-required-" in line
            if "properties" in field:
                await compare(f"{path}.{name}", field)

    await compare("openclaw.spec", schema["spec"])
    await compare("openclaw.status", schema["status"])
    assert "enum: ClusterIP, NodePort, LoadBalancer" in await kubectl.ok("explain", "openclaw.spec.frontend")


async def test_the_samples_apply(kubectl: Kubectl, kube_client: Client) -> None:
    assert SAMPLES
    folder = str(SAMPLES[0].parent)
    # In the order in which kubectl reads the folder, the namespace may come after what is in it.
    namespaces = [it for it in SAMPLES if "kind: Namespace" in it.read_text()]
    answer = await kubectl.unplaced("apply", "-f", str(namespaces[0]))
    answer = await kubectl.unplaced("apply", "--validate=strict", "-f", folder)
    assert (answer.status, answer.err) == (0, ""), answer
    assert await kubectl.unplaced("apply", "-f", folder) == await kubectl.unplaced("apply", "-f", folder)
    assert "unchanged" in (await kubectl.unplaced("apply", "-f", folder)).out
    found = await kube_client.list("OpenClaw", "shop")
    assert len(found) == len(SAMPLES) - len(namespaces)
    for item in found:
        OpenClaw.from_dict(item)
    for item in found:
        await kube_client.delete("OpenClaw", "shop", item["metadata"]["name"])


async def test_a_changed_sample_is_edited_and_patched_by_kubectl(
    kube_client: Client, namespace: str, kubectl: Kubectl
) -> None:
    body = yaml.safe_dump(claw())
    await kubectl.ok("apply", "-f", "-", stdin=body)
    await kubectl.ok("patch", "claw", "shop", "--type=merge", "-p", '{"spec":{"frontend":{"replicas":3}}}')
    await kubectl.ok("label", "claw", "shop", "a=b")
    answer = await kubectl("apply", "--server-side", "-f", "-", stdin=body)
    assert answer.status == 0, answer
    found = await kube_client.get("OpenClaw", namespace, "shop")
    assert found["spec"]["frontend"]["replicas"] == 3
    answer = await kubectl("patch", "claw", "shop", "--type=merge", "-p", '{"spec":{"frontend":{"port":0}}}')
    assert answer.status == 1
    assert "spec.frontend.port" in answer.err
