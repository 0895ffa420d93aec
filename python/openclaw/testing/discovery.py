"""From a kind's name to the path that the server serves it under."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Protocol

import orjson

from openclaw.api import builtin
from openclaw.api.kinds import ResourceKind
from openclaw.api.unstructured import Unstructured
from openclaw.kube.errors import NotFound
from openclaw.kube.paths import collection_path
from openclaw.kube.transport import Transport
from openclaw.testing.errors import ControlPlaneError


class HasResource(Protocol):
    """A class of objects, such as a CustomResource or a built-in kind of `openclaw.api`."""

    @property
    def resource(self) -> ResourceKind:
        """The kind of its objects."""


Kind = str | ResourceKind | HasResource
"""A kind: a class of `openclaw.api`, or a name (`Deployment`, `deployments`, `Greeting.demo.example.com`)."""

_BUILTIN: list[ResourceKind] = [
    it.resource
    for it in vars(builtin).values()
    if isinstance(it, type) and issubclass(it, Unstructured) and it is not Unstructured
]


class Discovery:
    """Knows the built-in kinds of `openclaw.api`, and asks the server for others."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._served: list[ResourceKind] = []

    async def find(self, kind: Kind) -> ResourceKind:
        """The kind that is meant.

        Raises ControlPlaneError when the server serves no such kind.
        """
        if isinstance(kind, ResourceKind):
            return kind
        if not isinstance(kind, str):
            return kind.resource
        name, _, group = kind.partition(".")
        found = _match(_BUILTIN, name, group) or _match(self._served, name, group)
        if found is None:
            self._served = await self._all_served()
            found = _match(self._served, name, group)
        if found is None:
            raise ControlPlaneError(
                f"the server serves no kind {kind!r}: is its CustomResourceDefinition installed?"
            )
        return found

    async def find_of(self, body: dict[str, Any]) -> ResourceKind:
        """The kind of this object, from its `apiVersion` and `kind`."""
        version, kind = body.get("apiVersion", ""), body.get("kind", "")
        for known in (*_BUILTIN, *self._served):
            if (known.api_version, known.kind) == (version, kind):
                return known
        served = await self._served_in(version)
        self._served += served
        for known in served:
            if known.kind == kind:
                return known
        raise ControlPlaneError(f"the server serves no {kind!r} in {version!r}: is its definition installed?")

    async def serves(self, kind: ResourceKind) -> bool:
        """Whether the server serves this kind by now: in its list of kinds, and in fact."""
        if kind not in await self._served_in(kind.api_version):
            return False
        try:
            await self._transport.request("GET", collection_path(kind), query={"limit": "1"})
        except NotFound:
            return False
        return True

    async def _all_served(self) -> list[ResourceKind]:
        groups = (await self._get("/apis"))["groups"]
        versions = ["v1", *(group["preferredVersion"]["groupVersion"] for group in groups)]
        return [kind for part in await asyncio.gather(*map(self._served_in, versions)) for kind in part]

    async def _served_in(self, api_version: str) -> list[ResourceKind]:
        group, _, version = api_version.rpartition("/")
        try:
            listed = await self._get(f"/apis/{api_version}" if group else f"/api/{version}")
        except NotFound:
            return []
        return [
            ResourceKind(group, version, one["kind"], one["name"], one["namespaced"])
            for one in listed["resources"]
            if "/" not in one["name"]  # A subresource.
        ]

    async def _get(self, path: str) -> dict[str, Any]:
        answer: dict[str, Any] = orjson.loads((await self._transport.request("GET", path)).body)
        return answer


def kinds_of(crd: dict[str, Any]) -> list[ResourceKind]:
    """The kinds, one a version, that a CustomResourceDefinition makes the server serve."""
    spec = crd["spec"]
    names = spec["names"]["kind"], spec["names"]["plural"], spec["scope"] == "Namespaced"
    return [ResourceKind(spec["group"], it["name"], *names) for it in spec["versions"] if it["served"]]


def kind_name(kind: Kind) -> str:
    """How a kind is called in messages."""
    if isinstance(kind, str):
        return kind
    return kind.kind if isinstance(kind, ResourceKind) else kind.resource.kind


def _match(kinds: Iterable[ResourceKind], name: str, group: str) -> ResourceKind | None:
    wanted = name.lower()
    for kind in kinds:
        if wanted in {kind.singular, kind.plural} and (not group or kind.group == group):
            return kind
    return None
