"""A reconcile that is cut off at any API call, and run again, ends where an undisturbed one does."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio

from openclaw.controllers import OpenClawReconciler
from openclaw.runtime import Manager
from openclaw.testing import Client, ControlPlane
from tests.integration.reliability.claws import (
    CHILD_KINDS,
    claw,
    condition,
    observed,
    play_deployment_controller,
)
from tests.integration.reliability.faults import Fault, FaultyTransport
from tests.integration.reliability.managers import serving, settled
from tests.integration.reliability.waiting import eventually

Object = dict[str, Any]
Scene = Callable[[Client, str], Awaitable[None]]

_MOST_REQUESTS = 30


async def _created(client: Client, namespace: str) -> None:
    await client.create(claw("web", namespace, host="a.example.com", replicas=1))


async def _changed(client: Client, namespace: str) -> None:
    change = {"spec": {"frontend": {"image": "web:2", "ingressHost": None}, "worker": {"replicas": 2}}}
    await client.patch("OpenClaw", namespace, "web", change)


async def _drifted(client: Client, namespace: str) -> None:
    await client.patch("Deployment", namespace, "web-frontend", {"spec": {"replicas": 9}})
    await client.delete("Service", namespace, "web-frontend")
    await client.delete("Deployment", namespace, "web-worker")


# What is there before, and what happens; the operator is away meanwhile.
SCENES: dict[str, tuple[tuple[Scene, ...], Scene]] = {
    "create": ((), _created),
    "change": ((_created,), _changed),
    "drift": ((_created,), _drifted),
}


def _normalised(item: Object) -> Object:
    """What a user would compare: without what the server, the clock or the order of writes sets."""
    item = copy.deepcopy(item)
    for field in ("uid", "resourceVersion", "creationTimestamp", "managedFields", "namespace", "generation"):
        item["metadata"].pop(field, None)
    item["metadata"].get("annotations", {}).pop("deployment.kubernetes.io/revision", None)
    for owner in item["metadata"].get("ownerReferences", ()):
        owner["uid"] = "the owner's"
    labels = item["metadata"].get("labels", {})
    if "openclaw.dev/slot" in labels:
        labels["openclaw.dev/slot"] = "the owner's"
    for field in ("clusterIP", "clusterIPs"):
        item.get("spec", {}).pop(field, None)
    status = item.get("status", {})
    for found in status.get("conditions", ()):
        found.pop("lastTransitionTime", None)
    if item["kind"] != "OpenClaw":
        status.pop("observedGeneration", None)
    return item


async def _state(client: Client, namespace: str) -> dict[str, Object]:
    found = {}
    for kind in ("OpenClaw", *CHILD_KINDS):
        for item in await client.list(kind, namespace):
            found[f"{kind} {item['metadata']['name']}"] = _normalised(item)
    return found


def _differences(left: Any, right: Any, path: str = "") -> list[str]:
    """Where two documents differ."""
    if isinstance(left, dict) and isinstance(right, dict):
        return [
            line
            for key in sorted({*left, *right})
            for line in _differences(left.get(key), right.get(key), f"{path}.{key}")
        ]
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        pairs = enumerate(zip(left, right, strict=True))
        return [line for at, (a, b) in pairs for line in _differences(a, b, f"{path}[{at}]")]
    return [] if left == right else [f"{path}: {left!r}, not {right!r}"]


async def _settle(client: Client, namespace: str, manager: Manager) -> None:
    """Wait until the operator has come to its end."""

    async def check() -> bool:
        live = await client.get("OpenClaw", namespace, "web")
        return observed(live) and await settled(client, manager, namespace)

    await eventually(check, "the end of the operator's work")


async def _roll_out(client: Client, namespace: str, manager: Manager) -> None:
    """All pods come up."""
    for name in ("web-frontend", "web-worker"):
        await play_deployment_controller(client, namespace, name)

    async def check() -> bool:
        live = await client.get("OpenClaw", namespace, "web")
        done = condition(live, "Progressing")["status"] == "False"
        return done and await settled(client, manager, namespace)

    await eventually(check, "the end of the rollout")


async def _run(client: Client, plane: ControlPlane, namespace: str) -> list[str]:
    """An undisturbed run until nothing is left to do and all pods are there; its requests until then."""
    async with (
        FaultyTransport(plane.kubeconfig) as transport,
        serving(OpenClawReconciler(), transport=transport, namespace=namespace) as manager,
    ):
        await _settle(client, namespace, manager)
        requests = list(transport.requests)
        await _roll_out(client, namespace, manager)
        return requests


async def _prepare(client: Client, plane: ControlPlane, namespace: str, scene: str) -> None:
    before, then = SCENES[scene]
    for step in before:
        await step(client, namespace)
        await _run(client, plane, namespace)
    await then(client, namespace)


@pytest_asyncio.fixture
async def new_namespace(kube_client: Client) -> AsyncIterator[Callable[[], Awaitable[str]]]:
    async with AsyncExitStack() as stack:
        yield lambda: stack.enter_async_context(kube_client.namespace())


@pytest.mark.timeout(120)
@pytest.mark.parametrize("fault", list(Fault), ids=lambda fault: fault.name.lower())
@pytest.mark.parametrize("scene", list(SCENES))
async def test_a_run_cut_off_at_any_request_is_completed_by_the_next(
    api_server: ControlPlane,
    kube_client: Client,
    new_namespace: Callable[[], Awaitable[str]],
    scene: str,
    fault: Fault,
) -> None:
    undisturbed = await new_namespace()
    await _prepare(kube_client, api_server, undisturbed, scene)
    requests = await _run(kube_client, api_server, undisturbed)
    expected = await _state(kube_client, undisturbed)
    assert len(requests) < _MOST_REQUESTS
    written = [request for request in requests if request.startswith(("PATCH", "DELETE"))]
    assert len(written) >= 4, "the scene must make the operator write"

    async def disturbed(at: int) -> None:
        namespace = await new_namespace()
        await _prepare(kube_client, api_server, namespace, scene)
        async with FaultyTransport(api_server.kubeconfig, at=at, fault=fault) as transport:
            async with serving(
                OpenClawReconciler(), transport=transport, namespace=namespace, synced=False
            ) as manager:
                if fault.crash:
                    await asyncio.wait_for(transport.crashed.wait(), 30)
                else:
                    await eventually(lambda: len(transport.requests) >= at, f"request {at}")
                    await _settle(kube_client, namespace, manager)
                    await _roll_out(kube_client, namespace, manager)
                    differences = _differences(await _state(kube_client, namespace), expected)
                    assert not differences, "\n".join(differences)
            failed = transport.requests[at - 1]
        again = await _run(kube_client, api_server, namespace)
        differences = _differences(await _state(kube_client, namespace), expected)
        assert not differences, "\n".join([f"after a fault at {failed}", *differences])
        if not fault.crash:
            assert [it for it in again if it.startswith(("PATCH", "POST", "DELETE"))] == []

    async with asyncio.TaskGroup() as group:
        for at in range(1, len(requests) + 1):
            group.create_task(disturbed(at))
