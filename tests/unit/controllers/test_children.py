from typing import Any

import pytest

from openclaw.api.unstructured import Unstructured
from openclaw.controllers.openclaw.children import (
    frontend_deployment,
    frontend_ingress,
    frontend_service,
    worker_deployment,
)
from tests.unit.controllers.claws import claw


def labels(component: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "openclaw",
        "app.kubernetes.io/instance": "storefront",
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/part-of": "storefront",
        "app.kubernetes.io/managed-by": "openclaw",
    }


def selector(component: str) -> dict[str, str]:
    return dict(list(labels(component).items())[:3])


def test_the_front_ends_deployment() -> None:
    assert frontend_deployment(claw(frontend={"replicas": 2, "port": 3000})).to_dict() == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "storefront-frontend", "namespace": "shop", "labels": labels("frontend")},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": selector("frontend")},
            "template": {
                "metadata": {"labels": labels("frontend")},
                "spec": {
                    "containers": [
                        {
                            "name": "frontend",
                            "image": "web:1",
                            "ports": [{"name": "http", "containerPort": 3000, "protocol": "TCP"}],
                            "readinessProbe": {"tcpSocket": {"port": "http"}},
                        }
                    ]
                },
            },
        },
    }


def test_the_workers_deployment() -> None:
    spec = worker_deployment(claw(worker={"replicas": 3})).spec
    assert spec["replicas"] == 3
    assert spec["selector"] == {"matchLabels": selector("worker")}
    assert spec["template"]["spec"] == {
        "containers": [
            {
                "name": "worker",
                "image": "worker:1",
                "env": [{"name": "QUEUE_ADDRESS", "value": "redis.shop:6379"}],
            }
        ]
    }


@pytest.mark.parametrize(("given", "replicas"), [({}, 1), ({"replicas": 0}, 0), ({"replicas": 7}, 7)])
def test_unset_means_one_and_zero_means_none(given: dict[str, Any], replicas: int) -> None:
    obj = claw(frontend=given, worker=given)
    assert frontend_deployment(obj).spec["replicas"] == replicas
    assert worker_deployment(obj).spec["replicas"] == replicas


def test_pull_secrets_and_node_selector_are_on_both() -> None:
    obj = claw(shared={"imagePullSecrets": ["a", "b"], "nodeSelector": {"disktype": "ssd"}})
    for deployment in (frontend_deployment(obj), worker_deployment(obj)):
        pod = deployment.spec["template"]["spec"]
        assert pod["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]
        assert pod["nodeSelector"] == {"disktype": "ssd"}


@pytest.mark.parametrize("shared", [None, {}, {"imagePullSecrets": [], "nodeSelector": {}}])
def test_what_is_not_wished_is_not_stated(shared: dict[str, Any] | None) -> None:
    # Stated empty it would take away what others set.
    for deployment in (frontend_deployment(claw(shared=shared)), worker_deployment(claw(shared=shared))):
        assert set(deployment.spec["template"]["spec"]) == {"containers"}


@pytest.mark.parametrize("type_", ["ClusterIP", "NodePort", "LoadBalancer"])
def test_the_service_leads_to_the_front_ends_pods(type_: str) -> None:
    obj = claw(frontend={"serviceType": type_})
    service = frontend_service(obj)
    assert (service.name, service.namespace, service.labels) == (
        "storefront-frontend",
        "shop",
        labels("frontend"),
    )
    assert service.spec == {
        "type": type_,
        "selector": selector("frontend"),
        "ports": [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}],
    }
    pod = frontend_deployment(obj).spec["template"]
    assert service.spec["selector"].items() <= pod["metadata"]["labels"].items()
    assert service.spec["ports"][0]["targetPort"] == pod["spec"]["containers"][0]["ports"][0]["name"]


def test_the_ingress_leads_to_the_service() -> None:
    obj = claw(frontend={"ingressHost": "shop.example.com"})
    ingress = frontend_ingress(obj)
    assert ingress.labels == labels("frontend")
    assert ingress.spec == {
        "rules": [
            {
                "host": "shop.example.com",
                "http": {
                    "paths": [
                        {
                            "path": "/",
                            "pathType": "Prefix",
                            "backend": {"service": {"name": "storefront-frontend", "port": {"name": "http"}}},
                        }
                    ]
                },
            }
        ]
    }
    backend = ingress.spec["rules"][0]["http"]["paths"][0]["backend"]["service"]
    service = frontend_service(obj)
    assert (backend["name"], backend["port"]["name"]) == (service.name, service.spec["ports"][0]["name"])


def test_the_components_pods_are_told_apart() -> None:
    obj = claw()
    front, work = frontend_deployment(obj), worker_deployment(obj)
    for one, other in ((front, work), (work, front)):
        wanted = one.spec["selector"]["matchLabels"].items()
        assert wanted <= one.spec["template"]["metadata"]["labels"].items()
        assert not wanted <= other.spec["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize("name", ["0.example.com", "x" * 253, "a" * 63])
def test_labels_fit_whatever_the_root_is_called(name: str) -> None:
    obj = claw(name=name, frontend={"ingressHost": "x.example.com"})
    children: list[Unstructured] = [
        frontend_deployment(obj),
        frontend_service(obj),
        frontend_ingress(obj),
        worker_deployment(obj),
    ]
    for child in children:
        assert all(0 < len(value) <= 63 for value in child.labels.values())


def test_the_same_spec_makes_the_same_intent() -> None:
    assert frontend_deployment(claw()).to_dict() == frontend_deployment(claw()).to_dict()


def test_an_intent_shares_nothing_with_the_spec() -> None:
    obj = claw(shared={"nodeSelector": {"a": "b"}})
    frontend_deployment(obj).spec["template"]["spec"]["nodeSelector"]["c"] = "d"
    assert obj.spec.global_config.node_selector == {"a": "b"}
