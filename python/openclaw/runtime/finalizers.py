"""Our own entry in `metadata.finalizers`; the entries of others are left as they are."""

from __future__ import annotations

import orjson

from openclaw.api.resource import CustomResource
from openclaw.kube.client import Client
from openclaw.kube.errors import Conflict, NotFound

__all__ = ["set_finalizer"]

_ATTEMPTS = 4


async def set_finalizer(
    client: Client, obj: CustomResource, finalizer: str, *, present: bool
) -> bytes | None:
    """Put `finalizer` on the object or take it off; returns the new object.

    None when there was nothing to do, or when the object is gone or another one has its name. The list is
    replaced whole by a merge patch, so the write names the resourceVersion that it was read at, and reads
    again on a conflict.

    Raises:
        KubeError: the write failed, `Conflict` after several attempts.
    """
    kind, metadata = obj.resource, obj.metadata
    finalizers, version = list(metadata.finalizers), metadata.resource_version
    for attempt in range(_ATTEMPTS):
        if (finalizer in finalizers) == present:
            return None
        wanted = [*finalizers, finalizer] if present else [item for item in finalizers if item != finalizer]
        patch = {"metadata": {"uid": metadata.uid, "resourceVersion": version, "finalizers": wanted}}
        try:
            return await client.merge_patch(kind, metadata.namespace, metadata.name, patch)
        except NotFound:
            return None
        except Conflict:
            if attempt == _ATTEMPTS - 1:
                raise
        try:
            fresh = orjson.loads(await client.get(kind, metadata.namespace, metadata.name))["metadata"]
        except NotFound:
            return None
        if fresh["uid"] != metadata.uid:
            return None
        finalizers, version = fresh.get("finalizers") or [], fresh["resourceVersion"]
    return None
