"""Writing status: only what changed, only through the subresource, never over what others wrote."""

from __future__ import annotations

from typing import Any, Final

import orjson

from openclaw.api.kinds import ResourceKind
from openclaw.api.resource import CustomResource
from openclaw.kube.client import Client
from openclaw.kube.errors import Conflict, NotFound
from openclaw.runtime.mergepatch import apply_merge_patch, merge_patch
from openclaw.telemetry.spans import child_span

__all__ = ["StatusWriter", "status_as_read"]

_ATTEMPTS: Final = 4


class StatusWriter:
    """Writes the status of roots as merge patches.

    A patch names the resourceVersion on which it is based: it replaces the list of conditions whole, and the
    status of an object that was deleted and made anew under the same name is not ours to write. (A uid in
    the patch would not help: for a custom resource's status subresource the API server ignores it.) On a
    conflict the object is read again, and what we changed, field by field and condition by condition, is put
    into what is there.
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
        # Mostly there is no difference, which is seen quickest so; the same in another order is none either.
        if orjson.dumps(before) == orjson.dumps(after) or not merge_patch(before, after):
            return None
        with child_span("status write"):
            return await self._write(kind, identity, before, after)

    async def _write(
        self,
        kind: ResourceKind,
        identity: dict[str, Any],
        before: dict[str, Any],
        after: dict[str, Any],
    ) -> bytes | None:
        ours = merge_patch(before, after)
        conditions = _changed_conditions(before, after)
        version = identity.get("resourceVersion")
        namespace, name, uid = identity.get("namespace"), identity["name"], identity["uid"]
        for attempt in range(_ATTEMPTS):
            patch = merge_patch(before, after)
            if not patch:
                return None
            body = {"metadata": {"uid": uid, "resourceVersion": version}, "status": patch}
            try:
                return await self._client.merge_patch(kind, namespace, name, body, subresource="status")
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
            if _generation(before) > _generation(after):
                return None  # it speaks of a newer generation; this run was on an old state
            after = apply_merge_patch(before, ours)
            after["conditions"] = _with_conditions(before.get("conditions"), conditions)
        return None


def status_as_read(obj: CustomResource) -> dict[str, Any]:
    """The status of an object that was just read, without what only the type's defaults have put there."""
    if obj.status is None:
        return {}
    read: dict[str, Any] = obj.status.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude_unset=True
    )
    return read


def _generation(told: dict[str, Any]) -> int:
    """The generation that a status, or a condition, speaks of; 0 where it does not say."""
    return told.get("observedGeneration") or 0


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
    """The live conditions with ours put in, in their places.

    Where the live one has our status already (a write of ours may have got there although its answer did
    not), it has turned then, not now.
    """
    result = []
    rest = dict(changed)
    for item in live or ():
        if item["type"] in rest:
            ours = rest.pop(item["type"])
            if ours is not None and _generation(item) > _generation(ours):
                result.append(item)
            elif ours is not None:
                turned = item.get("status") != ours["status"] or not item.get("lastTransitionTime")
                result.append(ours if turned else {**ours, "lastTransitionTime": item["lastTransitionTime"]})
        else:
            result.append(item)
    result.extend(item for item in rest.values() if item is not None)
    return result
