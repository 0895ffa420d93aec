"""OpenClaw objects for tests, and what is expected of them."""

from __future__ import annotations

from typing import Any

from openclaw.testing import Client

Object = dict[str, Any]

CHILD_KINDS = ("Deployment", "Service", "Ingress")


def claw(
    name: str, namespace: str, *, host: str | None = None, replicas: int = 0, image: str = "web:1"
) -> Object:
    """An OpenClaw; without pods by default, so that it is complete where no Deployment controller runs."""
    frontend: Object = {"image": image, "replicas": replicas}
    if host is not None:
        frontend["ingressHost"] = host
    return {
        "apiVersion": "apps.openclaw.dev/v1alpha1",
        "kind": "OpenClaw",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "frontend": frontend,
            "worker": {"image": "worker:1", "replicas": replicas, "queue": "redis.shop:6379"},
        },
    }


def observed(item: Object) -> bool:
    """Whether the operator has written a status for the present generation."""
    return bool(item["status"]["observedGeneration"] == item["metadata"]["generation"])


def condition(item: Object, kind: str) -> Object:
    """One condition of an object; LookupError when there is none."""
    for found in item.get("status", {}).get("conditions", ()):
        if found["type"] == kind:
            return dict(found)
    raise LookupError(f"no condition {kind}")


async def play_deployment_controller(client: Client, namespace: str, name: str) -> None:
    """Write the status that a Deployment has once all its pods are available."""
    live = await client.get("Deployment", namespace, name)
    count = live["spec"]["replicas"]
    status = {
        "observedGeneration": live["metadata"]["generation"],
        "replicas": count,
        "updatedReplicas": count,
        "readyReplicas": count,
        "availableReplicas": count,
    }
    await client.patch("Deployment", namespace, name, {"status": status}, subresource="status")
