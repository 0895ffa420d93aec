from __future__ import annotations

from typing import Any

import orjson
import pytest

from openclaw.kube.errors import NotFound
from openclaw.testing.cluster.request import Request
from tests.unit.kube.virtual_time import virtual_time
from tests.unit.testing.cluster.asking import Asking, asked
from tests.unit.testing.cluster.test_definitions import DEFINITIONS, definition

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


async def aggregated(ask: Asking, path: str) -> dict[str, Any]:
    answer = await ask.cluster.server.handle(Request("GET", path, accept=AGGREGATED))
    found: dict[str, Any] = orjson.loads(answer.body)
    return found


@virtual_time
async def test_groups_and_their_resources() -> None:
    async with asked(crds=[definition()]) as ask:
        groups = {group["name"]: group for group in (await ask.get("/apis"))["groups"]}
        assert groups["apps"]["preferredVersion"] == {"groupVersion": "apps/v1", "version": "v1"}
        assert groups["autoscaling"]["preferredVersion"]["version"] == "v2"
        assert groups["x.io"] == {
            "name": "x.io",
            "versions": [{"groupVersion": "x.io/v1", "version": "v1"}],
            "preferredVersion": {"groupVersion": "x.io/v1", "version": "v1"},
        }
        assert (await ask.get("/apis/x.io"))["kind"] == "APIGroup"
        assert (await ask.get("/api"))["versions"] == ["v1"]
        resources = {one["name"]: one for one in (await ask.get("/apis/x.io/v1"))["resources"]}
        assert resources["foos"]["shortNames"] == ["fo"]
        assert resources["foos/status"]["verbs"] == ["get", "patch", "update"]
        assert resources["foos/scale"]["kind"] == "Scale"
        core = {one["name"]: one for one in (await ask.get("/api/v1"))["resources"]}
        assert core["pods"]["namespaced"] is True
        assert core["namespaces"]["namespaced"] is False
        with pytest.raises(NotFound):
            await ask.get("/apis/none/v1")


@virtual_time
async def test_the_same_in_one_answer() -> None:
    async with asked(crds=[definition()]) as ask:
        [core] = (await aggregated(ask, "/api"))["items"]
        assert core["versions"][0]["version"] == "v1"
        groups = {item["metadata"]["name"]: item for item in (await aggregated(ask, "/apis"))["items"]}
        [foos] = groups["x.io"]["versions"][0]["resources"]
        assert foos["responseKind"]["kind"] == "Foo"
        assert {one["subresource"] for one in foos["subresources"]} == {"status", "scale"}
        assert [version["version"] for version in groups["autoscaling"]["versions"]] == ["v2", "v1"]


@virtual_time
async def test_a_resource_that_goes_is_no_longer_told() -> None:
    async with asked(crds=[definition()]) as ask:
        await ask.delete(f"{DEFINITIONS}/foos.x.io")
        await ask.cluster.settled()
        assert "x.io" not in {group["name"] for group in (await ask.get("/apis"))["groups"]}
        with pytest.raises(NotFound):
            await ask.get("/apis/x.io/v1")


@virtual_time
async def test_schemas_for_kubectl_explain() -> None:
    async with asked(crds=[definition()]) as ask:
        paths = (await ask.get("/openapi/v3"))["paths"]
        assert {"api/v1", "apis/apps/v1", "apis/x.io/v1"} <= paths.keys()
        document = await ask.get("/openapi/v3/apis/x.io/v1")
        schema = document["components"]["schemas"]["io.x.v1.Foo"]
        assert schema["properties"]["spec"]["properties"]["n"] == {"type": "integer"}
        assert schema["x-kubernetes-group-version-kind"] == [
            {"group": "x.io", "version": "v1", "kind": "Foo"}
        ]
        assert "/apis/x.io/v1/namespaces/{namespace}/foos/{name}" in document["paths"]
        before = paths["apis/x.io/v1"]["serverRelativeURL"]
        made = await ask.get(f"{DEFINITIONS}/foos.x.io")
        properties = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
        properties["spec"]["properties"]["more"] = {"type": "string"}
        await ask.put(f"{DEFINITIONS}/foos.x.io", made)
        await ask.cluster.settled()
        after = (await ask.get("/openapi/v3"))["paths"]["apis/x.io/v1"]["serverRelativeURL"]
        # Clients keep documents by this.
        assert before != after


@virtual_time
async def test_version_and_health() -> None:
    async with asked() as ask:
        assert (await ask.get("/version"))["gitVersion"] == "v1.37.2"
        for path in ("/healthz", "/livez", "/readyz"):
            assert (await ask.transport.request("GET", path)).body == b"ok"
