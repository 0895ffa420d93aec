"""A JSON API on loopback, and an operator of HTTPResources that may speak to it."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio

from openclaw.api import Secret
from openclaw.api.httpresource import HTTPResource
from openclaw.controllers.httpresource import HTTPResourceReconciler
from openclaw.kube import ConfigSource, Transport
from openclaw.providers.http import AllowedHosts
from openclaw.runtime import Manager
from openclaw.testing import Client, ControlPlane
from tests.integration.reliability.managers import serving as managing
from tests.unit.providers.json_api import JsonApi, serving

Live = dict[str, Any]


@dataclass
class World:
    """One namespace with its operator's parts, and the API outside."""

    api: JsonApi
    client: Client
    namespace: str
    transport: Transport
    events: list[str] = field(default_factory=list)

    def operator(
        self, transport: Transport | None = None, *, synced: bool = True, allowed: str | None = None
    ) -> AbstractAsyncContextManager[Manager]:
        hosts = self.api.url.removesuffix("/v1") if allowed is None else allowed
        reconciler = HTTPResourceReconciler(AllowedHosts.parse(hosts), soon=0.05, visible_after=0.2)
        return managing(
            reconciler, transport=transport or self.transport, namespace=self.namespace, synced=synced
        )

    def resource(self, name: str = "www", *, own: bool = False, **spec: Any) -> HTTPResource:
        item = "/records/${identity}"
        requests = {
            "get": {"method": "GET", "path": item},
            "create": {"method": "PUT", "path": item},
            "update": {"method": "PUT", "path": item},
            "delete": {"method": "DELETE", "path": item},
        }
        given: dict[str, Any] = {
            "url": self.api.url,
            "identity": f"{self.namespace}-{name}",
            "state": "/data",
            "owner": "/owner",
            "body": {"type": "A", "address": "10.0.0.1", "comment": "of ${namespace}/${name}"},
            "expose": {"address": "/address", "serial": "/serial"},
            "interval_seconds": 3600,
        }
        if own:
            del given["identity"]
            requests["create"] = {"method": "POST", "path": "/records"}
            requests["find"] = {"method": "GET", "path": "/records?owner=${uid}"}
            given |= {"identity_from": "/data/id", "items": "/items"}
        return HTTPResource.from_dict(
            {
                "metadata": {"name": name, "namespace": self.namespace},
                "spec": {**given, "requests": requests, **spec},
            }
        )

    async def create(self, resource: HTTPResource) -> Live:
        return await self.client.create(resource)

    async def secret(self, name: str = "access", **entries: str) -> None:
        data = {key: base64.b64encode(it.encode()).decode() for key, it in entries.items()}
        await self.client.apply(Secret(name=name, namespace=self.namespace, data=data))

    async def until(self, condition: Callable[[Live], Any], name: str = "www", timeout: float = 60) -> Live:
        return await self.client.wait_for(HTTPResource, self.namespace, name, condition, timeout)

    async def synced(self, name: str = "www") -> Live:
        return await self.until(lambda it: state(it, "Synced") == "True", name)

    async def patch(self, patch: Live, name: str = "www") -> None:
        await self.client.patch(HTTPResource, self.namespace, name, patch)

    async def delete(self, name: str = "www") -> None:
        await self.client.delete(HTTPResource, self.namespace, name)

    async def gone(self, name: str = "www") -> None:
        await self.client.wait_gone(HTTPResource, self.namespace, name)


def condition(live: Live, kind: str) -> Live:
    conditions = live.get("status", {}).get("conditions", ())
    return next((it for it in conditions if it["type"] == kind), {})


def state(live: Live, kind: str) -> str:
    text: str = condition(live, kind).get("status", "")
    return text


def reason(live: Live, kind: str) -> str:
    text: str = condition(live, kind).get("reason", "")
    return text


@pytest.fixture
def api() -> JsonApi:
    return JsonApi()


@pytest_asyncio.fixture
async def world(
    api: JsonApi, api_server: ControlPlane, kube_client: Client, namespace: str
) -> AsyncIterator[World]:
    async with serving(api), Transport(ConfigSource(api_server.kubeconfig)) as transport:
        yield World(api, kube_client, namespace, transport)
