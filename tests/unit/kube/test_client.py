from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson
import pytest

from openclaw.api.builtin import ClusterRole, ConfigMap, Deployment
from openclaw.kube.client import Client
from openclaw.kube.paths import collection_path, object_path
from openclaw.kube.transport import Response, Transport


class Request(NamedTuple):
    method: str
    path: str
    query: dict[str, str]
    body: Any
    content_type: str | None
    timeout: float


class Recording(Transport):
    def __init__(self, *warnings: str) -> None:
        super().__init__()
        self.sent: list[Request] = []
        self.warnings = warnings

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str | None = None,
        timeout: float = 30.0,
    ) -> Response:
        parsed = None if body is None else orjson.loads(body)
        self.sent.append(Request(method, path, dict(query or {}), parsed, content_type, timeout))
        return Response(200, b"{}", self.warnings)


ONE = "/apis/apps/v1/namespaces/shop/deployments/web"


@pytest.fixture
def transport() -> Recording:
    return Recording()


@pytest.fixture
def client(transport: Recording) -> Client:
    return Client(transport, field_manager="claws", timeout=7)


async def test_get(client: Client, transport: Recording) -> None:
    assert await client.get(Deployment.resource, "shop", "web") == b"{}"
    assert transport.sent == [Request("GET", ONE, {}, None, None, 7)]


@pytest.mark.parametrize("force", [True, False])
async def test_apply_owns_its_fields_and_refuses_unknown_ones(
    client: Client, transport: Recording, force: bool
) -> None:
    await client.apply(Deployment.resource, "shop", "web", b'{"spec":{}}', force=force)
    query = {"fieldManager": "claws", "force": str(force).lower(), "fieldValidation": "Strict"}
    assert transport.sent == [Request("PATCH", ONE, query, {"spec": {}}, "application/apply-patch+yaml", 7)]


async def test_create(client: Client, transport: Recording) -> None:
    await client.create(ConfigMap.resource, "shop", b'{"data":{}}')
    path, query = "/api/v1/namespaces/shop/configmaps", {"fieldManager": "claws"}
    assert transport.sent == [Request("POST", path, query, {"data": {}}, "application/json", 7)]


async def test_merge_patch_of_a_subresource(client: Client, transport: Recording) -> None:
    await client.merge_patch(Deployment.resource, "shop", "web", {"status": None}, subresource="status")
    query, content_type = {"fieldManager": "claws"}, "application/merge-patch+json"
    assert transport.sent == [Request("PATCH", f"{ONE}/status", query, {"status": None}, content_type, 7)]


@pytest.mark.parametrize("uid", [None, "u-1"])
async def test_delete_only_what_was_meant(client: Client, transport: Recording, uid: str | None) -> None:
    await client.delete(Deployment.resource, "shop", "web", uid=uid, propagation="Foreground")
    options: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Foreground",
    }
    if uid is not None:
        options["preconditions"] = {"uid": uid}
    assert transport.sent == [Request("DELETE", ONE, {}, options, "application/json", 7)]


async def test_each_warning_of_the_server_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    client = Client(Recording("v1beta1 is deprecated", "another"))
    for _ in range(3):
        await client.get(Deployment.resource, "shop", "web")
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2


async def test_warnings_are_not_remembered_without_end() -> None:
    transport = Recording()
    client = Client(transport)
    for number in range(1000):
        transport.warnings = (f"warning {number}",)
        await client.get(Deployment.resource, "shop", "web")
    assert len(client._warned) <= 256


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (collection_path(ConfigMap.resource), "/api/v1/configmaps"),
        (collection_path(ConfigMap.resource, "shop"), "/api/v1/namespaces/shop/configmaps"),
        (collection_path(Deployment.resource, ""), "/apis/apps/v1/deployments"),
        (collection_path(ClusterRole.resource, "shop"), "/apis/rbac.authorization.k8s.io/v1/clusterroles"),
        (object_path(Deployment.resource, "shop", "web", "scale"), f"{ONE}/scale"),
        (
            object_path(ClusterRole.resource, None, "system:node/a b"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode%2Fa%20b",
        ),
    ],
)
def test_paths(path: str, expected: str) -> None:
    assert path == expected


def test_a_path_without_a_name_would_be_the_whole_collection() -> None:
    with pytest.raises(ValueError, match="Deployment: the name is empty"):
        object_path(Deployment.resource, "shop", "")


@pytest.mark.parametrize("namespace", [None, ""])
def test_a_path_without_a_namespace_would_be_another_object(namespace: str | None) -> None:
    with pytest.raises(ValueError, match="Deployment 'web': the kind is namespaced"):
        object_path(Deployment.resource, namespace, "web")
