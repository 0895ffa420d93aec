"""The OpenClaw kind: its CRD as it is published, its defaults, what it admits."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from openclaw.api import InvalidObjectError, OpenClaw
from openclaw.manifests import custom_resource_definition, dump

PUBLISHED = Path(__file__).parents[3] / "crds" / "apps.openclaw.dev_openclaws.yaml"

MINIMAL: dict[str, Any] = {
    "metadata": {"name": "storefront", "namespace": "shop"},
    "spec": {
        "frontend": {"image": "registry.example.com/shop/web:1.4"},
        "worker": {
            "image": "registry.example.com/shop/worker:1.4",
            "queue": "amqp://rabbitmq.shop:5672/jobs",
        },
    },
}


def crd() -> dict[str, Any]:
    return custom_resource_definition(OpenClaw)


def with_field(section: str, name: str, value: Any) -> dict[str, Any]:
    spec = {**MINIMAL["spec"]}
    spec[section] = {**spec.get(section, {}), name: value}
    return {**MINIMAL, "spec": spec}


def test_the_published_crd_is_the_declared_one() -> None:
    assert PUBLISHED.read_text() == dump([crd()])


def test_names() -> None:
    body = crd()
    assert body["metadata"]["name"] == "openclaws.apps.openclaw.dev"
    assert body["spec"]["group"] == "apps.openclaw.dev"
    assert body["spec"]["scope"] == "Namespaced"
    assert body["spec"]["names"] == {
        "plural": "openclaws",
        "singular": "openclaw",
        "kind": "OpenClaw",
        "listKind": "OpenClawList",
        "shortNames": ["claw"],
        "categories": ["all"],
    }
    (version,) = body["spec"]["versions"]
    assert (version["name"], version["served"], version["storage"]) == ("v1alpha1", True, True)
    assert version["subresources"] == {"status": {}}


def test_columns() -> None:
    columns = crd()["spec"]["versions"][0]["additionalPrinterColumns"]
    shown = [column["name"] for column in columns if "priority" not in column]
    assert shown == ["Frontend", "Worker", "Endpoint", "Available", "Progressing", "Degraded", "Age"]
    assert [column["name"] for column in columns if column.get("priority") == 1] == [
        "Frontend-Desired",
        "Worker-Desired",
        "Message",
    ]


def test_required_fields_and_defaults() -> None:
    spec = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    frontend, worker = spec["properties"]["frontend"], spec["properties"]["worker"]
    assert spec["required"] == ["frontend", "worker"]
    assert frontend["required"] == ["image"]
    assert worker["required"] == ["image", "queue"]
    defaults = {
        name: field["default"] for name, field in frontend["properties"].items() if "default" in field
    }
    assert defaults == {"replicas": 1, "serviceType": "ClusterIP", "port": 8080}
    assert worker["properties"]["replicas"]["default"] == 1
    assert (
        spec["properties"]["globalConfig"]["properties"]["imagePullSecrets"]["x-kubernetes-list-type"]
        == "set"
    )


def fields(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from fields(child, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from fields(schema[key], f"{path}[*]")


def test_kubectl_explain_has_a_word_on_every_field() -> None:
    schema = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    bare = [path for path, field in fields(schema) if "description" not in field]
    # The server describes metadata itself; items and values are described by their list or map.
    assert [path for path in bare if not path.endswith("[*]")] == [".metadata"]


def test_all_that_a_rule_looks_at_is_bounded() -> None:
    """The API server refuses a CRD whose rules may cost too much."""
    schema = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    limits = {"string": "maxLength", "array": "maxItems", "object": "maxProperties"}
    for path, field in fields(schema):
        if "x-kubernetes-validations" in field:
            assert limits[field["type"]] in field, path


def test_the_smallest_object_reads_as_the_server_defaults_it() -> None:
    claw = OpenClaw.from_dict(MINIMAL)
    assert claw.spec.frontend.replicas == 1
    assert claw.spec.frontend.service_type == "ClusterIP"
    assert claw.spec.frontend.port == 8080
    assert claw.spec.frontend.ingress_host is None
    assert claw.spec.worker.replicas == 1
    assert claw.spec.global_config.image_pull_secrets == []
    assert claw.spec.global_config.node_selector == {}
    assert claw.status_dict() == {"conditions": [], "frontendReadyReplicas": 0, "workerReadyReplicas": 0}


def test_zero_replicas_are_not_the_default() -> None:
    assert OpenClaw.from_dict(with_field("worker", "replicas", 0)).spec.worker.replicas == 0


GOOD = [
    ("frontend", "image", "nginx"),
    ("frontend", "image", "localhost:5000/a/b@sha256:" + "0" * 64),
    ("frontend", "replicas", 0),
    ("frontend", "replicas", 1000),
    ("frontend", "serviceType", "LoadBalancer"),
    ("frontend", "serviceType", "NodePort"),
    ("frontend", "ingressHost", "shop.example.com"),
    ("frontend", "ingressHost", "*.example.com"),
    ("frontend", "ingressHost", "a"),
    ("frontend", "port", 1),
    ("frontend", "port", 65535),
    ("worker", "queue", "redis://:secret@redis:6379/0"),
    ("worker", "queue", "redis.shop:6379"),
    ("worker", "queue", "https://sqs.eu-west-1.amazonaws.com/1/jobs"),
    ("globalConfig", "imagePullSecrets", ["registry", "other.registry"]),
    ("globalConfig", "nodeSelector", {"kubernetes.io/os": "linux", "disktype": "", "a_B.c": "D-1"}),
]
BAD = [
    ("frontend", "image", ""),
    ("frontend", "image", "a b"),
    ("frontend", "image", " nginx"),
    ("frontend", "image", "nginx\n"),
    ("frontend", "image", "a" * 1025),
    ("frontend", "replicas", -1),
    ("frontend", "replicas", 1001),
    ("frontend", "serviceType", "ExternalName"),
    ("frontend", "ingressHost", ""),
    ("frontend", "ingressHost", "Shop.example.com"),
    ("frontend", "ingressHost", "http://shop.example.com"),
    ("frontend", "ingressHost", "shop..example.com"),
    ("frontend", "ingressHost", "a.*.example.com"),
    ("frontend", "ingressHost", "*"),
    ("frontend", "ingressHost", "a" * 254),
    ("frontend", "port", 0),
    ("frontend", "port", 65536),
    ("worker", "image", ""),
    ("worker", "replicas", -1),
    ("worker", "queue", ""),
    ("worker", "queue", "  "),
    ("worker", "queue", "redis: 6379"),
    ("globalConfig", "imagePullSecrets", ["Registry"]),
    ("globalConfig", "imagePullSecrets", [""]),
    ("globalConfig", "imagePullSecrets", [{"name": "registry"}]),
    ("globalConfig", "imagePullSecrets", [f"s{number}" for number in range(33)]),
    ("globalConfig", "nodeSelector", {"a": "b c"}),
    ("globalConfig", "nodeSelector", {"a": "-b"}),
    ("globalConfig", "nodeSelector", {"a": "x" * 64}),
    ("globalConfig", "nodeSelector", {f"k{number}": "" for number in range(33)}),
]


@pytest.mark.parametrize(("section", "name", "value"), GOOD)
def test_admitted(section: str, name: str, value: Any) -> None:
    claw = OpenClaw.from_dict(with_field(section, name, value))
    assert claw.to_dict()["spec"][section][name] == value


@pytest.mark.parametrize(("section", "name", "value"), BAD)
def test_refused(section: str, name: str, value: Any) -> None:
    with pytest.raises(InvalidObjectError, match=rf"OpenClaw shop/storefront .* spec\.{section}\.{name}"):
        OpenClaw.from_dict(with_field(section, name, value))


@pytest.mark.parametrize(
    ("section", "name"), [("frontend", "image"), ("worker", "image"), ("worker", "queue")]
)
def test_what_is_required_may_not_be_absent(section: str, name: str) -> None:
    spec = {key: dict(value) for key, value in MINIMAL["spec"].items()}
    del spec[section][name]
    with pytest.raises(InvalidObjectError, match=rf"spec\.{section}\.{name}: Field required"):
        OpenClaw.from_dict({"metadata": {}, "spec": spec})


def test_label_keys_are_held_to_their_syntax_by_a_rule() -> None:
    selector = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"][
        "globalConfig"
    ]["properties"]["nodeSelector"]
    (rule,) = selector["x-kubernetes-validations"]
    found = re.search(r"key\.matches\('(.*)'\)\)$", rule["rule"])
    assert found is not None
    pattern = re.compile(found.group(1).replace("\\\\", "\\"))
    for key in ("disktype", "kubernetes.io/os", "a_B.c-d", "x" * 63):
        assert pattern.fullmatch(key), key
    for key in ("", "-a", "a-", "A.b/c", "a/b/c", "/a", "a/", "x" * 64, "a b"):
        assert not pattern.fullmatch(key), key


def test_the_published_crd_is_plain_yaml() -> None:
    assert yaml.safe_load(PUBLISHED.read_text()) == crd()
