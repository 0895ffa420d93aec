"""Our own entry in `metadata.finalizers`; the entries of others are left as they are."""

from __future__ import annotations

from http import HTTPStatus

import orjson

from openclaw.api.resource import CustomResource
from openclaw.kube.client import Client
from openclaw.kube.errors import Conflict, NotFound

__all__ = ["set_finalizer"]

_ATTEMPTS = 4


async def set_finalizer(
    client: Client, obj: CustomResource, finalizer: str, *, present: bool
) -> bytes | None:
    """Put `finalizer` on the object or take it off; the new object, or None when there was nothing to do.

    The list is replaced whole by a merge patch, so the write names the resourceVersion that it was read at,
    and reads again on a conflict. An object that is gone has no finalizer to be taken off.

    Raises:
        Conflict: after several attempts; or the finalizer shall go on, but the object is gone, is being
            deleted, or is another one under the same name. Nothing may be done for it then.
        KubeError: the write failed.
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
        except NotFound as error:
            if present:
                raise _gone(obj) from error
            return None
        except Conflict:
            if attempt == _ATTEMPTS - 1:
                raise
        try:
            fresh = orjson.loads(await client.get(kind, metadata.namespace, metadata.name))["metadata"]
        except NotFound as error:
            if present:
                raise _gone(obj) from error
            return None
        if present and (fresh["uid"] != metadata.uid or fresh.get("deletionTimestamp")):
            raise _gone(obj)
        if fresh["uid"] != metadata.uid:
            return None
        finalizers, version = fresh.get("finalizers") or [], fresh["resourceVersion"]
    return None


def _gone(obj: CustomResource) -> Conflict:
    where = f"{obj.namespace}/{obj.name}" if obj.namespace else obj.name
    message = f"{obj.kind} {where} was deleted or replaced before its finalizer could be set"
    return Conflict(HTTPStatus.CONFLICT, "Conflict", message)
