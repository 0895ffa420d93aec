"""The thin client of the cases: sends requests, and keeps what both servers are compared by."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from tests.conformance.doors import Answer, Asked, Door
from tests.conformance.normalising import Normaliser

Object = dict[str, Any]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

_WAIT = 20.0  # seconds
_CLUSTER = frozenset(
    {"namespaces", "nodes", "persistentvolumes", "clusterroles", "clusterrolebindings", "ingressclasses"}
    | {"priorityclasses", "storageclasses", "customresourcedefinitions", "mutatingwebhookconfigurations"}
    | {"validatingwebhookconfigurations"}
)
_GROUPS = {
    "admissionregistration.k8s.io/v1": ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
    "apiextensions.k8s.io/v1": ("customresourcedefinitions",),
    "apps/v1": ("deployments", "replicasets", "statefulsets", "daemonsets", "controllerrevisions"),
    "autoscaling/v2": ("horizontalpodautoscalers",),
    "batch/v1": ("jobs", "cronjobs"),
    "coordination.k8s.io/v1": ("leases",),
    "discovery.k8s.io/v1": ("endpointslices",),
    "networking.k8s.io/v1": ("ingresses", "ingressclasses", "networkpolicies"),
    "policy/v1": ("poddisruptionbudgets",),
    "rbac.authorization.k8s.io/v1": ("roles", "rolebindings", "clusterroles", "clusterrolebindings"),
    "scheduling.k8s.io/v1": ("priorityclasses",),
    "storage.k8s.io/v1": ("storageclasses",),
    "conformance.example.com/v1": ("widgets", "plains", "doubles"),
}
_GROUP_OF = {plural: group for group, plurals in _GROUPS.items() for plural in plurals}


@dataclass(frozen=True)
class Seen:
    """One line of a transcript."""

    request: str
    code: int
    body: Any
    warnings: tuple[str, ...]


class Client:
    """What a case speaks through.

    Attributes:
        ns: the case's own namespace; its name is also good for cluster-scoped objects.
        transcript: what was asked and answered, normalised.
    """

    def __init__(self, door: Door, namespace: str) -> None:
        self.ns = namespace
        self.transcript: list[Seen] = []
        self._door = door
        self._normalise = Normaliser(namespace)

    def path(self, resource: str, name: str = "", subresource: str = "") -> str:
        """The path of a resource: `pods`, `deployments`, or with group and version `x.io/v1/foos`."""
        group, _, plural = resource.rpartition("/")
        group = group or _GROUP_OF.get(plural, "v1")
        base = f"/apis/{group}" if "/" in group else f"/api/{group}"
        scope = "" if plural in _CLUSTER else f"/namespaces/{self.ns}"
        return "/".join([f"{base}{scope}/{plural}", *filter(None, (name, subresource))])

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        type: str = "application/json",
        accept: str = "application/json",
        record: bool = True,
        **query: Any,
    ) -> Answer:
        """Send a request; a `body` that is neither bytes nor text is sent as JSON."""
        asked = Asked(method, path, _query(query), _bytes(body), type, accept)
        answer = await self._door.send(asked)
        if record:
            self._record(asked, answer)
        return answer

    async def create(self, resource: str, body: Any, **rest: Any) -> Answer:
        return await self.send("POST", self.path(resource), body, **rest)

    async def get(self, resource: str, name: str, subresource: str = "", **rest: Any) -> Answer:
        return await self.send("GET", self.path(resource, name, subresource), **rest)

    async def list(self, resource: str, **rest: Any) -> Answer:
        return await self.send("GET", self.path(resource), **rest)

    async def put(self, resource: str, name: str, body: Any, subresource: str = "", **rest: Any) -> Answer:
        return await self.send("PUT", self.path(resource, name, subresource), body, **rest)

    async def merge(self, resource: str, name: str, body: Any, subresource: str = "", **rest: Any) -> Answer:
        return await self.send(
            "PATCH", self.path(resource, name, subresource), body, type=MERGE_PATCH, **rest
        )

    async def json(self, resource: str, name: str, body: Any, **rest: Any) -> Answer:
        return await self.send("PATCH", self.path(resource, name), body, type=JSON_PATCH, **rest)

    async def strategic(self, resource: str, name: str, body: Any, **rest: Any) -> Answer:
        return await self.send("PATCH", self.path(resource, name), body, type=STRATEGIC, **rest)

    async def apply(
        self,
        resource: str,
        name: str,
        body: Any,
        manager: str = "m",
        *,
        subresource: str = "",
        force: bool = False,
        **rest: Any,
    ) -> Answer:
        query = {"fieldManager": manager, **({"force": "true"} if force else {}), **rest}
        return await self.send("PATCH", self.path(resource, name, subresource), body, type=APPLY, **query)

    async def delete(self, resource: str, name: str = "", body: Any = None, **rest: Any) -> Answer:
        return await self.send("DELETE", self.path(resource, name), body, **rest)

    async def watch(self, resource: str, **query: Any) -> Answer:
        """The events of a watch of a second."""
        asked = Asked("GET", self.path(resource), {"timeoutSeconds": "1", **_query(query), "watch": "true"})
        answer = await self._door.watch(asked)
        self._record(asked, answer)
        return answer

    async def until(self, resource: str, name: str, holds: Callable[[Answer], bool], **query: Any) -> Answer:
        """Read an object (or with "" the list) until something holds; only the last answer is compared."""
        deadline = time.monotonic() + _WAIT
        while True:
            answer = await self.send("GET", self.path(resource, name), record=False, **query)
            if holds(answer) or time.monotonic() > deadline:
                self._record(Asked("GET", self.path(resource, name)), answer)
                return answer
            await self._door.pause()

    async def until_gone(self, resource: str, name: str) -> Answer:
        """Read an object until there is none."""
        return await self.until(resource, name, lambda answer: answer.code == 404)

    async def pause(self) -> None:
        """Let the server's controllers work for a moment."""
        await self._door.pause()

    def note(self, what: str, value: Any) -> None:
        """Compare a value that the case worked out."""
        self.transcript.append(Seen(what, 0, self._normalise(value), ()))

    def _record(self, asked: Asked, answer: Answer) -> None:
        normalise = self._normalise
        body = normalise(answer.body)
        warnings = tuple(sorted(normalise.text(text) for text in answer.warnings))
        request = f"{asked.method} {normalise.text(asked.path)}"
        self.transcript.append(Seen(request, answer.code, body, warnings))


def _query(query: dict[str, Any]) -> dict[str, str]:
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in query.items()
    }


def _bytes(body: Any) -> bytes:
    if body is None:
        return b""
    if isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else orjson.dumps(body)
