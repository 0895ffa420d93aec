"""An object that was stored before its CRD became stricter: it is reported, and holds up nobody else."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from openclaw.kube.errors import Invalid, TooManyRequests
from openclaw.testing import Client
from openclaw.testing.client import Object
from tests.integration.openclaw.claws import SECONDS, change, claw, condition, create_settled, wait_settled
from tests.integration.openclaw.operator_process import OperatorProcess

pytestmark = pytest.mark.usefixtures("operator")

CRD = "openclaws.apps.openclaw.dev"
FILE = Path(__file__).parents[3] / "crds" / "apps.openclaw.dev_openclaws.yaml"


def loosened(crd: Object) -> Object:
    """The CRD as an older release might have had it: more replicas, any service type."""
    loose = copy.deepcopy(crd)
    spec = loose["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["worker"]["properties"]["replicas"]["maximum"] = 1_000_000
    del spec["properties"]["frontend"]["properties"]["serviceType"]["enum"]
    return loose


@asynccontextmanager
async def looser_crd(client: Client) -> AsyncIterator[None]:
    strict = yaml.safe_load(FILE.read_text())
    await _install(client, loosened(strict))
    try:
        yield
    finally:
        await _install(client, strict)


async def _install(client: Client, crd: Object) -> None:
    schema = {"spec": {"versions": crd["spec"]["versions"]}}
    await client.patch("CustomResourceDefinition", None, CRD, schema)


async def _create_once_accepted(client: Client, namespace: str, body: Object) -> Object:
    """The server takes up a changed schema some moments after it has accepted it."""
    while True:
        try:
            return await client.create(body, namespace=namespace)
        except (Invalid, TooManyRequests):
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("change_of", "words"),
    [
        ({"worker": {"replicas": 5000}}, ("spec.worker.replicas", "1000")),
        ({"frontend": {"serviceType": "ExternalName"}}, ("spec.frontend.serviceType", "NodePort")),
    ],
    ids=["replicas", "serviceType"],
)
async def test_an_invalid_stored_object_is_reported(
    kube_client: Client,
    namespace: str,
    operator: OperatorProcess,
    change_of: Object,
    words: tuple[str, ...],
) -> None:
    body = claw("odd", frontend=change_of.get("frontend"), worker=change_of.get("worker"))
    async with looser_crd(kube_client):
        created = await _create_once_accepted(kube_client, namespace, body)
        found = await kube_client.wait_for(
            "OpenClaw", namespace, "odd", lambda it: condition(it, "Stalled")["status"] == "True", SECONDS
        )
    stalled = condition(found, "Stalled")
    assert stalled["reason"] == "InvalidObject"
    assert stalled["observedGeneration"] == 1
    assert all(word in stalled["message"] for word in words), stalled

    def told(events: list[Object]) -> bool:
        (event,) = (it for it in events if it["regarding"].get("uid") == created["metadata"]["uid"])
        return (event["type"], event["reason"]) == ("Warning", "InvalidObject")

    await kube_client.wait_list("Event.events.k8s.io", namespace, told, SECONDS)
    # Others are not held up, and the object is taken up as soon as it is right.
    await create_settled(kube_client, namespace, claw("even"))
    assert (
        await kube_client.list("Deployment", namespace, label_selector="app.kubernetes.io/instance=odd") == []
    )
    right = {"frontend": {"serviceType": "NodePort"}, "worker": {"replicas": 1}}
    await change(kube_client, namespace, right, "odd")
    await wait_settled(kube_client, namespace, "odd")
    assert len([it for it in operator.of(namespace, "odd") if it["level"] == "error"]) < 10
