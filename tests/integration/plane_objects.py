"""Objects that the tests of the control plane make, and what is looked at in them."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

SPROCKETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sprockets.testing.openclaw.dev}
spec:
  group: testing.openclaw.dev
  names: {kind: Sprocket, plural: sprockets}
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
