"""An API server that holds one OpenClaw object, as far as writing to it goes."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, NamedTuple

import orjson

from openclaw.api.openclaw import OpenClaw
from openclaw.kube.client import Client
from openclaw.kube.errors import ApiError, Conflict, NotFound
from openclaw.kube.transport import Response, Transport
from openclaw.runtime.mergepatch import apply_merge_patch

PATH = "/apis/apps.openclaw.dev/v1alpha1/namespaces/shop/openclaws/web"


class Request(NamedTuple):
    method: str
    path: str
    body: dict[str, Any]


class OneObject(Transport):
    """Merge patches, conflicts by resourceVersion, and, like the real one, blind to a status patch's uid.

    Attributes:
        obj: the object; None when it is gone.
        sent: every request.
        before_each: called before each request, with its number: others write then.
    """

    def __init__(self, **parts: Any) -> None:
        super().__init__()
        self.obj: dict[str, Any] | None = make(**parts)
        self.sent: list[Request] = []
        self.before_each: Callable[[int], None] = lambda _: None
        self.client = Client(self)

    def read(self) -> OpenClaw:
        """The object as a cache would have it."""
        return OpenClaw.from_dict(deepcopy(self.live))

    @property
    def live(self) -> dict[str, Any]:
        assert self.obj is not None
        return self.obj

    @property
    def methods(self) -> list[str]:
        return [request.method for request in self.sent]

    def change(self, patch: dict[str, Any]) -> None:
        """Somebody else writes."""
        self.obj = apply_merge_patch(self.live, patch)
        self._touch()

    def _touch(self) -> None:
        metadata = self.live["metadata"]
        self.live["metadata"] = {**metadata, "resourceVersion": str(int(metadata["resourceVersion"]) + 1)}

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
        parsed = orjson.loads(body) if body else {}
        self.sent.append(Request(method, path, parsed))
        self.before_each(len(self.sent))
        if self.obj is None:
            raise NotFound(404, "NotFound", 'openclaws.apps.openclaw.dev "web" not found')
        if method == "PATCH":
            assert content_type == "application/merge-patch+json"
            self._patch(path, parsed)
        else:
            assert (method, path) == ("GET", PATH)
        return Response(200, orjson.dumps(self.obj))

    def _patch(self, path: str, patch: dict[str, Any]) -> None:
        metadata = patch.get("metadata", {})
        if metadata.get("resourceVersion") not in (None, self.live["metadata"]["resourceVersion"]):
            raise Conflict(409, "Conflict", "the object has been modified")
        if path == f"{PATH}/status":
            patched = apply_merge_patch(self.live, {"status": patch.get("status", {})})
        else:
            assert path == PATH
            if metadata.get("uid") not in (None, self.live["metadata"]["uid"]):
                raise ApiError(422, "Invalid", "metadata.uid: field is immutable")
            patched = apply_merge_patch(self.live, patch)
        if patched != self.live:
            self.obj = patched
            self._touch()


def make(
    uid: str = "u-1", status: dict[str, Any] | None = None, version: int = 10, **metadata: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "apps.openclaw.dev/v1alpha1",
        "kind": "OpenClaw",
        "metadata": {
            "namespace": "shop",
            "name": "web",
            "uid": uid,
            "resourceVersion": str(version),
            **metadata,
        },
        "spec": {"frontend": {"image": "web:1"}, "worker": {"image": "worker:1", "queue": "redis:6379"}},
        **({"status": status} if status is not None else {}),
    }
