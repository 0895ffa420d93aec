"""Making OpenClaw objects, and reading what became of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openclaw.testing import Client
from openclaw.testing.client import Object

WEB = "registry.example.com/shop/web:1.4"
JOBS = "registry.example.com/shop/worker:1.4"
QUEUE = "redis.shop:6379"
SECONDS = 60.0
"""How long an object may take to converge on a busy machine."""


def claw(
    name: str = "shop",
    *,
    frontend: Mapping[str, Any] | None = None,
    worker: Mapping[str, Any] | None = None,
    shared: Mapping[str, Any] | None = None,
) -> Object:
    """An OpenClaw with what it needs at least, and what is given."""
    spec: Object = {
        "frontend": {"image": WEB, **(frontend or {})},
        "worker": {"image": JOBS, "queue": QUEUE, **(worker or {})},
    }
    if shared is not None:
        spec["globalConfig"] = dict(shared)
    return {
        "apiVersion": "apps.openclaw.dev/v1alpha1",
        "kind": "OpenClaw",
        "metadata": {"name": name},
        "spec": spec,
    }


def condition(obj: Object, kind: str) -> Object:
    """A condition of any object; empty where it has none of the type."""
    for item in obj.get("status", {}).get("conditions") or ():
        if item["type"] == kind:
            found: Object = item
            return found
    return {}


def says(obj: Object, **conditions: str) -> bool:
    """Whether the conditions have these statuses, for the present generation."""
    generation = obj["metadata"]["generation"]
    return all(
        (found := condition(obj, kind)).get("status") == status and found["observedGeneration"] == generation
        for kind, status in conditions.items()
    )


def settled(obj: Object) -> bool:
    """Whether the object says that all of its present generation is there."""
    return (
        obj["status"]["observedGeneration"] == obj["metadata"]["generation"]
        and says(obj, Available="True", Progressing="False", Degraded="False")
        and not condition(obj, "Stalled")
    )


async def wait_settled(
    client: Client, namespace: str, name: str = "shop", *, timeout: float = SECONDS
) -> Object:
    """Wait until the object says that it has converged."""
    return await client.wait_for("OpenClaw", namespace, name, settled, timeout)


async def create_settled(client: Client, namespace: str, body: Object) -> Object:
    """Create an object and wait until it has converged."""
    await client.create(body, namespace=namespace)
    return await wait_settled(client, namespace, body["metadata"]["name"])


async def change(client: Client, namespace: str, spec: Mapping[str, Any], name: str = "shop") -> Object:
    """Change the spec by a merge patch."""
    return await client.patch("OpenClaw", namespace, name, {"spec": spec})


def container(deployment: Object) -> Object:
    """The only container of a Deployment."""
    (only,) = deployment["spec"]["template"]["spec"]["containers"]
    found: Object = only
    return found


def managed(obj: Object, manager: str = "openclaw") -> Object | None:
    """What a manager owns by server-side apply, as fieldsV1; None where it has applied nothing."""
    for entry in obj["metadata"].get("managedFields", ()):
        if (entry["manager"], entry["operation"]) == (manager, "Apply") and not entry.get("subresource"):
            owned: Object = entry["fieldsV1"]
            return owned
    return None


async def degraded(client: Client, namespace: str, *words: str, name: str = "shop", **also: str) -> Object:
    """Wait until the object is degraded with these words in the message."""
    return await client.wait_for(
        "OpenClaw",
        namespace,
        name,
        lambda it: (
            says(it, Degraded="True", **also)
            and all(word in condition(it, "Degraded")["message"] for word in words)
        ),
        SECONDS,
    )
