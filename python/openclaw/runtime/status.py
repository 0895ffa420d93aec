"""Writing status: only what changed, only through the subresource, never over somebody else's conditions."""

from __future__ import annotations

from typing import Any, Final

import orjson

from openclaw.api.kinds import ResourceKind
from openclaw.api.resource import CustomResource
from openclaw.kube.client import Client
from openclaw.kube.errors import Conflict, NotFound
from openclaw.runtime.mergepatch import merge_patch

__all__ = ["StatusWriter", "status_as_read"]

_ATTEMPTS: Final = 4


class StatusWriter:
    """Writes the status of roots as merge patches.

    A patch names the uid, so that an object recreated under the same name is not touched, and, where it
    replaces the list of conditions, the resourceVersion on which that list is based. On a conflict the
    object is read again and only our own conditions are put into what is there.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    async def write(
        self,
        kind: ResourceKind,
        identity: dict[str, Any],
        before: dict[str, Any],
        after: dict[str, Any],
    ) -> bytes | None:
        """Bring the live status from `before` to `after`; returns the new object, None if unsent.

        Args:
            kind: the root's kind, which has the status subresource.
            identity: the metadata of the object as it was read: namespace, name, uid, resourceVersion.
            before: the status as it was read.
            after: the status as it shall be.

        Raises:
            KubeError: the write failed, `Conflict` after several attempts. A missing object is no error.
        """
        changed = _changed_conditions(before, after)
        version = identity.get("resourceVersion")
        namespace, name, uid = identity.get("namespace"), identity["name"], identity["uid"]
        for attempt in range(_ATTEMPTS):
            patch = merge_patch(before, after)
            if not patch:
                return None
            metadata: dict[str, Any] = {"uid": uid}
            if "conditions" in patch:
                metadata["resourceVersion"] = version
            try:
                return await self._client.merge_patch(
                    kind, namespace, name, {"metadata": metadata, "status": patch}, subresource="status"
                )
            except NotFound:
                return None
            except Conflict:
                if attempt == _ATTEMPTS - 1:
                    raise
            try:
                fresh = orjson.loads(await self._client.get(kind, namespace, name))
            except NotFound:
                return None
            if fresh["metadata"]["uid"] != uid:
                return None
            version = fresh["metadata"]["resourceVersion"]
            before = fresh.get("status") or {}
            after = {**after, "conditions": _with_conditions(before.get("conditions"), changed)}
            if not after["conditions"]:
                del after["conditions"]
        return None


def status_as_read(obj: CustomResource) -> dict[str, Any]:
    """The status of an object that was just read, without what only the type's defaults have put there."""
    if obj.status is None:
        return {}
    read: dict[str, Any] = obj.status.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude_unset=True
    )
    return read


def _changed_conditions(before: dict[str, Any], after: dict[str, Any]) -> dict[str, dict[str, Any] | None]:
    """Our doing: condition type to its new form, or None where we removed it."""
    old = {item["type"]: item for item in before.get("conditions") or ()}
    new = {item["type"]: item for item in after.get("conditions") or ()}
    changed: dict[str, dict[str, Any] | None] = {
        kind: item for kind, item in new.items() if item != old.get(kind)
    }
    changed.update(dict.fromkeys(old.keys() - new.keys()))
    return changed


def _with_conditions(
    live: list[dict[str, Any]] | None, changed: dict[str, dict[str, Any] | None]
) -> list[dict[str, Any]]:
    """The live conditions with ours put in, in their places."""
    result = []
    rest = dict(changed)
    for item in live or ():
        if item["type"] in rest:
            ours = rest.pop(item["type"])
            if ours is not None:
                result.append(ours)
        else:
            result.append(item)
    result.extend(item for item in rest.values() if item is not None)
    return result
