"""Conversion between the versions of a resource.

Custom resources: strategy `None` changes the apiVersion, `Webhook` asks. Built-in ones: those of autoscaling.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Final, cast

from openclaw.testing.cluster.autoscalers import convert_autoscaler
from openclaw.testing.cluster.contracts import Object, Resource, StatusError
from openclaw.testing.cluster.schema.custom_schema import CustomSchema
from openclaw.testing.cluster.webhooks.calling import Caller, CallError

_TIMEOUT: Final = 30.0  # seconds
_FREE_METADATA: Final = frozenset({"labels", "annotations"})


class VersionConversion:
    """The `Conversion` of a cluster."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def convert(self, resource: Resource, objects: Sequence[Object], version: str) -> list[Object]:
        """The objects in another version."""
        wanted = resource.api_version(version)
        others = [obj for obj in objects if obj.get("apiVersion") != wanted]
        if not others:
            return list(objects)
        if resource.definition is None:
            return [self._builtin(resource, obj, wanted) for obj in objects]
        conversion = resource.definition["spec"].get("conversion") or {}
        if conversion.get("strategy") != "Webhook":
            return [self._renamed(resource, obj, wanted, version) for obj in objects]
        converted = iter(await self._asked(conversion["webhook"], resource, others, wanted))
        return [obj if obj.get("apiVersion") == wanted else next(converted) for obj in objects]

    @staticmethod
    def _renamed(resource: Resource, obj: Object, wanted: str, version: str) -> Object:
        """The object with another apiVersion, and of its fields those that the version knows."""
        if obj.get("apiVersion") == wanted:
            return obj
        schema = cast("CustomSchema", resource.versions[version].schema)
        return schema.known({**obj, "apiVersion": wanted})

    def _builtin(self, resource: Resource, obj: Object, wanted: str) -> Object:
        if resource.kind == "HorizontalPodAutoscaler":
            return convert_autoscaler(obj, wanted)
        return {**obj, "apiVersion": wanted}

    async def _asked(
        self, webhook: Object, resource: Resource, objects: list[Object], wanted: str
    ) -> list[Object]:
        versions = webhook.get("conversionReviewVersions") or ["v1"]
        # The same question has the same uid: runs can be repeated.
        uid = str(uuid.uuid5(uuid.NAMESPACE_OID, repr(objects)))
        review = {
            "kind": "ConversionReview",
            "apiVersion": f"apiextensions.k8s.io/{'v1' if 'v1' in versions else versions[0]}",
            "request": {"uid": uid, "desiredAPIVersion": wanted, "objects": objects},
        }
        told = f"conversion webhook for {objects[0].get('apiVersion')}, Kind={resource.kind} failed"
        try:
            answer = await self._caller.call(webhook["clientConfig"], "", review, _TIMEOUT)
        except CallError as error:
            raise StatusError(500, "", f"{told}: {error}") from None
        response = answer.get("response") or {}
        if response.get("uid") != uid:
            raise StatusError(500, "", f"{told}: expected response.uid={uid}, got {response.get('uid', '')}")
        result = response.get("result") or {}
        if result.get("status") != "Success":
            said = result.get("message") or "invalid response with no message"
            raise StatusError(500, "", f"{told}: {said}")
        converted = response.get("convertedObjects") or []
        if len(converted) != len(objects):
            count = f"webhook returned {len(converted)} objects, expected {len(objects)}"
            raise StatusError(500, "", f"{told}: {count}")
        return [_checked(old, new, wanted, told) for old, new in zip(objects, converted, strict=True)]


def _checked(old: Object, new: Any, wanted: str, told: str) -> Object:
    if not isinstance(new, dict) or new.get("apiVersion") != wanted:
        given = new.get("apiVersion") if isinstance(new, dict) else None
        message = f"invalid converted object: invalid groupVersion (expected: {wanted}, received: {given})"
        raise StatusError(500, "", f"{told}: {message}")
    # Of the metadata a webhook may only change labels and annotations.
    metadata = {key: value for key, value in (old.get("metadata") or {}).items() if key not in _FREE_METADATA}
    free = {key: value for key, value in (new.get("metadata") or {}).items() if key in _FREE_METADATA}
    return {**new, "metadata": {**metadata, **free}}
