"""Patches put on objects: by content type, with the errors of kube-apiserver."""

from __future__ import annotations

import json
from typing import Any, Final, cast

import orjson

from openclaw.testing.cluster.contracts import Cause, Decoded, FieldValidation, Object, Schema
from openclaw.testing.cluster.patch.json_patch import apply_json_patch
from openclaw.testing.cluster.patch.merge_patch import apply_merge_patch
from openclaw.testing.cluster.patch.strategic import StrategicPatchError, apply_strategic_patch
from openclaw.testing.cluster.schema.builtin_schema import BuiltinSchema
from openclaw.testing.cluster.schema.custom_schema import CustomSchema
from openclaw.testing.cluster.schema.values import type_of
from openclaw.testing.cluster.statuses import StatusError, bad_request, invalid, unsupported_media_type

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

_MAXIMUM_OPERATIONS: Final = 10_000
_HANDLED: Final = "cannot be handled as a "
_ENTRIES: Final = "contains duplicate entries;"
_LATE_ENTRIES: Final = "contains duplicate entries after mutating admission happens;"
_GO_TYPES: Final = {"integer": "number", "boolean": "bool"}


class PatchEngine:
    """The `Patches` of a cluster."""

    def patch(
        self, schema: Schema, live: Object, body: bytes, content_type: str, validation: FieldValidation
    ) -> Decoded:
        """`live` with the patch on it, completed."""
        known = cast("BuiltinSchema | CustomSchema", schema)
        patched = self._patched(known, live, body, content_type)
        if not known.typed:
            _check_custom_kind(known, patched, validation)
        try:
            decoded = known.complete(patched, validation)
        except StatusError as error:
            if error.code != 400 or _HANDLED not in error.message:  # noqa: PLR2004
                raise
            why = error.message.partition(_HANDLED)[2].partition(": ")[2]
            raise _unusable(json.dumps(patched, separators=(",", ":")), why) from None
        return Decoded(
            decoded.object, tuple(text.replace(_ENTRIES, _LATE_ENTRIES) for text in decoded.warnings)
        )

    def _patched(
        self, schema: BuiltinSchema | CustomSchema, live: Object, body: bytes, content_type: str
    ) -> Object:
        if content_type == JSON_PATCH:
            return _json_patched(live, body)
        if content_type == MERGE_PATCH:
            patch = _parsed(body)
            if not isinstance(patch, dict):
                raise bad_request(f"error decoding patch: {_not_an_object(patch)}")
            merged: Object = apply_merge_patch(live, patch)
            return merged
        if content_type == STRATEGIC_MERGE_PATCH and schema.typed:
            patch = _parsed(body)
            if not isinstance(patch, dict):
                raise bad_request(_not_an_object(patch))
            try:
                return apply_strategic_patch(schema.node, live, patch)
            except StrategicPatchError as error:
                raise StatusError(500, "", str(error)) from None
        accepted = [JSON_PATCH, MERGE_PATCH, *([STRATEGIC_MERGE_PATCH] if schema.typed else []), APPLY_PATCH]
        raise unsupported_media_type(accepted)


def _json_patched(live: Object, body: bytes) -> Object:
    operations = _parsed(body)
    if not isinstance(operations, list):
        kind = _GO_TYPES.get(type_of(operations), type_of(operations))
        message = f"json: cannot unmarshal {kind} into Go value of type []handlers.jsonPatchOp"
        raise bad_request(f"error decoding patch: {message}")
    if len(operations) > _MAXIMUM_OPERATIONS:
        message = (
            f"The allowed maximum operations in a JSON patch is {_MAXIMUM_OPERATIONS}, got {len(operations)}"
        )
        raise StatusError(413, "RequestEntityTooLarge", message)
    try:
        patched = apply_json_patch(live, operations)
    except ValueError:
        # The server logs what was wrong, and does not say it.
        message = "the server rejected our request due to an error in our request"
        raise StatusError(422, "Invalid", message, details={}) from None
    if not isinstance(patched, dict):
        raise _unusable(json.dumps(patched), "json: cannot unmarshal into Go value")
    return patched


def _parsed(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        message = "invalid JSON patch"
        raise bad_request(message) from None


def _not_an_object(patch: Any) -> str:
    kind = _GO_TYPES.get(type_of(patch), type_of(patch))
    return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"


def _unusable(document: str, why: str) -> StatusError:
    cause = Cause.of("FieldValueInvalid", "patch", why, json.dumps(document))
    return invalid("", "", "", [cause])


def _check_custom_kind(
    schema: BuiltinSchema | CustomSchema, patched: Object, validation: FieldValidation
) -> None:
    """The kind and version of a custom resource are part of what is validated."""
    for key, wanted in (("kind", schema.kind), ("apiVersion", schema.api_version)):
        given = patched.get(key)
        if given != wanted:
            cause = Cause.of("FieldValueInvalid", key, f"must be {wanted}", json.dumps(given or ""))
            group = schema.api_version.rpartition("/")[0]
            name = (patched.get("metadata") or {}).get("name", "")
            error = invalid(group, str(patched.get("kind") or ""), name, [cause])
            if key == "apiVersion" and validation is FieldValidation.WARN:
                unknown = sorted(patched.keys() - {"apiVersion", "kind", "metadata"})
                error.warnings = tuple(f'unknown field "{one}"' for one in unknown)
            raise error
