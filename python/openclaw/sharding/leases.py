"""The Leases of a group of shards: one each, written only on the state that was read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from openclaw.api.builtin import Lease
from openclaw.kube.errors import NotFound
from openclaw.kube.paths import collection_path, object_path
from openclaw.kube.transport import Transport

__all__ = ["GROUP_LABEL", "SHARD_ANNOTATION", "STATUS_ANNOTATION", "LeaseRecord", "Leases", "lease_name"]

GROUP_LABEL: Final = "openclaw.dev/shard-group"
"""On each Lease of a shard: the name of the operator whose objects are shared out."""

SHARD_ANNOTATION: Final = "openclaw.dev/shard"
"""On each Lease of a shard: what it holds and follows, as JSON."""

STATUS_ANNOTATION: Final = "openclaw.dev/shard-status"
"""On each Lease of a shard: what it says of itself to people, as JSON; nothing is decided by it."""

_SHARD_LABEL: Final = "openclaw.dev/shard-name"


def lease_name(group: str, shard: str) -> str:
    """The name of a shard's Lease: the shard's own where that begins with the group's."""
    return shard if shard.startswith(f"{group}-") else f"{group}-{shard}"


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """What a Lease says.

    Attributes:
        shard: the name of the shard.
        version: resourceVersion; changes with each renewal.
        holder: the process that wrote it: the shard's name, and what tells its incarnations apart.
        seconds: how long it is good for after a renewal.
        content: the annotation that decides, or "" where there is none.
        status: the annotation for people, or "".
        renewed: when its holder says that it was renewed, by its own clock; for people.
        acquired: when this holder first wrote it, by its own clock; for people.
    """

    shard: str
    version: str
    holder: str
    seconds: float
    content: str
    status: str = ""
    renewed: datetime | None = None
    acquired: datetime | None = None


class Leases:
    """Reads and writes the Leases of one group.

    Args:
        transport: how the API server is reached.
        namespace: where the Leases are.
        group: the operator's name.
        timeout: seconds a request may take.
    """

    def __init__(self, transport: Transport, namespace: str, group: str, *, timeout: float = 3.0) -> None:
        self._transport = transport
        self._namespace = namespace
        self._group = group
        self._timeout = timeout
        self._acquired: datetime | None = None

    async def list(self) -> list[LeaseRecord]:
        """All of them as they are now, which no cache of the API server answers.

        Raises:
            KubeError: the read failed.
        """
        response = await self._transport.request(
            "GET",
            collection_path(Lease.resource, self._namespace),
            query={"labelSelector": f"{GROUP_LABEL}={self._group}"},
            timeout=self._timeout,
        )
        return [self.record(item) for item in orjson.loads(response.body).get("items") or ()]

    def watching(self, seconds: float, idle: float) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A watch of them, beginning with those that are there; see `Transport.stream`."""
        return self._transport.stream(
            collection_path(Lease.resource, self._namespace),
            query={
                "labelSelector": f"{GROUP_LABEL}={self._group}",
                "watch": "true",
                "timeoutSeconds": str(int(seconds)),
            },
            idle_timeout=idle,
        )

    @staticmethod
    def record(lease: dict[str, Any]) -> LeaseRecord:
        """What a Lease as the API server tells it says."""
        metadata, spec = lease["metadata"], lease.get("spec") or {}
        annotations = metadata.get("annotations") or {}
        return LeaseRecord(
            shard=(metadata.get("labels") or {}).get(_SHARD_LABEL) or metadata["name"],
            version=metadata["resourceVersion"],
            holder=str(spec.get("holderIdentity") or ""),
            seconds=float(spec.get("leaseDurationSeconds") or 0),
            content=str(annotations.get(SHARD_ANNOTATION, "")),
            status=str(annotations.get(STATUS_ANNOTATION, "")),
            renewed=_time(spec.get("renewTime")),
            acquired=_time(spec.get("acquireTime")),
        )

    async def write(
        self, shard: str, *, holder: str, content: str, status: str, seconds: float, version: str | None
    ) -> LeaseRecord:
        """Create a shard's Lease, or replace it as it was at `version`.

        Raises:
            AlreadyExists: it is not there, said the caller, and it is.
            Conflict: somebody else has written it since.
            NotFound: somebody has deleted it.
            KubeError: the write failed; whether it had an effect is known only of an `ApiError`.
        """
        now = datetime.now(UTC)
        if version is None or self._acquired is None:
            self._acquired = now
        name = lease_name(self._group, shard)
        metadata: dict[str, Any] = {
            "name": name,
            "namespace": self._namespace,
            "labels": {GROUP_LABEL: self._group, _SHARD_LABEL: shard},
            "annotations": {SHARD_ANNOTATION: content, STATUS_ANNOTATION: status},
        }
        if version is not None:
            metadata["resourceVersion"] = version
        lease = {
            "apiVersion": Lease.resource.api_version,
            "kind": Lease.resource.kind,
            "metadata": metadata,
            "spec": {
                "holderIdentity": holder,
                "leaseDurationSeconds": round(seconds),
                "acquireTime": _text(self._acquired),
                "renewTime": _text(now),
            },
        }
        response = await self._transport.request(
            "POST" if version is None else "PUT",
            collection_path(Lease.resource, self._namespace)
            if version is None
            else object_path(Lease.resource, self._namespace, name),
            body=orjson.dumps(lease),
            content_type="application/json",
            timeout=self._timeout,
        )
        return self.record(orjson.loads(response.body))

    async def delete(self, shard: str, version: str) -> None:
        """Remove the Lease of a shard that is no more, if it still is as it was at `version`.

        Raises:
            Conflict: it was written since.
            KubeError: the write failed.
        """
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"resourceVersion": version},
        }
        try:
            await self._transport.request(
                "DELETE",
                object_path(Lease.resource, self._namespace, lease_name(self._group, shard)),
                body=orjson.dumps(options),
                content_type="application/json",
                timeout=self._timeout,
            )
        except NotFound:
            return


def _text(moment: datetime) -> str:
    """MicroTime, as Kubernetes writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _time(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text)) if text else None
    except ValueError:
        return None
