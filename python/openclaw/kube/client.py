"""The few verbs that the runtime needs, on one object each; answers stay bytes for the Rust cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import orjson

from openclaw.api.kinds import ResourceKind
from openclaw.kube.calls import traced_request
from openclaw.kube.paths import collection_path, object_path
from openclaw.kube.transport import Response, Transport
from openclaw.telemetry.logs import Log

__all__ = ["Client", "WriteFence"]

log = Log(__name__)

_WARNINGS_KEPT = 256


class WriteFence(Protocol):
    """Whether this process may write at all: see `openclaw.sharding.Fence`."""

    def check(self) -> float:
        """The seconds that a write may take from now; raises where there is to be none."""


class Client:
    """Reads and writes single objects.

    Args:
        transport: how the API server is reached.
        field_manager: the name under which writes own fields.
        timeout: seconds a request may take.
        fence: asked before each write; raises what it raises.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        field_manager: str = "openclaw",
        timeout: float = 30.0,
        fence: WriteFence | None = None,
    ) -> None:
        self.transport = transport
        self.field_manager = field_manager
        self.timeout = timeout
        self._fence = fence
        self._warned: set[str] = set()

    async def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str | None = None,
    ) -> bytes:
        timeout = self.timeout
        if self._fence is not None and method != "GET":
            timeout = min(timeout, self._fence.check())
        response = await traced_request(
            self.transport,
            method,
            path,
            query=query,
            body=body,
            content_type=content_type,
            timeout=timeout,
        )
        if response.warnings:
            self._warn(method, path, response)
        return response.body

    def _warn(self, method: str, path: str, response: Response) -> None:
        """Say each warning of the server once; deprecations come with every request."""
        for warning in response.warnings:
            if warning not in self._warned and len(self._warned) < _WARNINGS_KEPT:
                self._warned.add(warning)
                log.warning("the API server warns", request=f"{method} {path}", warning=warning)

    async def get(self, kind: ResourceKind, namespace: str | None, name: str) -> bytes:
        """One object, as it is stored now.

        Raises:
            KubeError: `NotFound` among them.
        """
        return await self._send("GET", object_path(kind, namespace, name))

    async def apply(
        self, kind: ResourceKind, namespace: str | None, name: str, body: bytes, *, force: bool = True
    ) -> bytes:
        """Server-side apply: create the object, or make it hold what `body` states.

        Unknown fields are an error rather than dropped in silence, which would look like drift for ever.

        Raises:
            KubeError: `Invalid`, `Forbidden` and `Conflict` (with `force` false) among them.
        """
        return await self._send(
            "PATCH",
            object_path(kind, namespace, name),
            query={
                "fieldManager": self.field_manager,
                "force": "true" if force else "false",
                "fieldValidation": "Strict",
            },
            body=body,
            content_type="application/apply-patch+yaml",
        )

    async def create(self, kind: ResourceKind, namespace: str | None, body: bytes) -> bytes:
        """Create one object.

        Raises:
            KubeError: `AlreadyExists` and `Invalid` among them.
        """
        return await self._send(
            "POST",
            collection_path(kind, namespace),
            query={"fieldManager": self.field_manager},
            body=body,
            content_type="application/json",
        )

    async def merge_patch(
        self,
        kind: ResourceKind,
        namespace: str | None,
        name: str,
        patch: Mapping[str, Any],
        *,
        subresource: str | None = None,
    ) -> bytes:
        """JSON merge patch (RFC 7386) of an object or of a subresource.

        Name a `metadata.uid` or `metadata.resourceVersion` in the patch to make it conditional.

        Raises:
            KubeError: `NotFound` and `Conflict` among them.
        """
        return await self._send(
            "PATCH",
            object_path(kind, namespace, name, subresource),
            query={"fieldManager": self.field_manager},
            body=orjson.dumps(patch),
            content_type="application/merge-patch+json",
        )

    async def delete(
        self,
        kind: ResourceKind,
        namespace: str | None,
        name: str,
        *,
        uid: str | None = None,
        propagation: str = "Background",
    ) -> bytes:
        """Delete one object; with `uid`, only if it is still that one.

        Raises:
            KubeError: `NotFound`, and `Conflict` where the uid differs, among them.
        """
        options: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation,
        }
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        return await self._send(
            "DELETE",
            object_path(kind, namespace, name),
            body=orjson.dumps(options),
            content_type="application/json",
        )
