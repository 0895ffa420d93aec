"""The schema of a custom resource."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from openclaw.testing.cluster.contracts import Cause, Decoded, FieldValidation, Object
from openclaw.testing.cluster.json_body import duplicate_fields, read_object, shown_body
from openclaw.testing.cluster.schema.decoding import cannot_be_handled, reported
from openclaw.testing.cluster.schema.defaulting import set_defaults
from openclaw.testing.cluster.schema.embedded import has_embedded, read_embedded
from openclaw.testing.cluster.schema.go_values import GoValueError, go_read, go_write
from openclaw.testing.cluster.schema.metadata_node import object_meta
from openclaw.testing.cluster.schema.node import Compiler, Node, path_of
from openclaw.testing.cluster.schema.object_meta import check_metadata, finalizer_warnings
from openclaw.testing.cluster.schema.pruning import prune
from openclaw.testing.cluster.schema.scaling import check_scale_path
from openclaw.testing.cluster.schema.structural import MISSING, blocking, validate_structure
from openclaw.testing.cluster.schema.values import NO_FIELD
from openclaw.testing.cluster.statuses import bad_request, invalid

_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to "
    "complete validation"
)
_OBJECT_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
_META_FIELDS = ("name", "generateName")


class CustomSchema:
    """Decodes, completes and checks objects of a custom resource in one version."""

    typed = False

    def __init__(self, definition: Object, version: str) -> None:
        spec = definition["spec"]
        self.group: str = spec["group"]
        self.kind: str = spec["names"]["kind"]
        self.version = version
        self.api_version = f"{self.group}/{version}"
        served = next(one for one in spec["versions"] if one["name"] == version)
        self._raw: Object = (served.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"}
        self.node = root_node(self._raw)
        metadata = self._raw.get("properties", {}).get("metadata")
        self._metadata = Compiler().node(metadata) if metadata else None
        # What every object has is checked elsewhere.
        self._fields = replace(
            self.node,
            properties={key: it for key, it in self.node.properties.items() if key not in _OBJECT_FIELDS},
            required=tuple(key for key in self.node.required if key not in _OBJECT_FIELDS),
        )
        self._has_embedded = has_embedded(self._fields)
        scale = (served.get("subresources") or {}).get("scale") or {}
        self._replicas: str = scale.get("specReplicasPath", "")
        self.zero: Object = {"apiVersion": self.api_version, "kind": self.kind, "metadata": {}}

    def decode(self, body: bytes, validation: FieldValidation) -> Decoded:
        """The object in a body."""
        obj = read_object(body, self.kind)
        if not obj.get("kind"):
            text = json.dumps(obj, separators=(",", ":"))
            message = (
                f"the object provided is unrecognized (must be of type {self.kind}): "
                f"Object 'Kind' is missing in '{text}' ({shown_body(text.encode())})"
            )
            raise bad_request(message)
        duplicates = [] if validation is FieldValidation.IGNORE else duplicate_fields(body, obj)
        return self.complete(obj, validation, duplicates)

    def complete(
        self, obj: Object, validation: FieldValidation, duplicates: list[str] | None = None
    ) -> Decoded:
        """The object pruned and with defaults. Raises StatusError."""
        self._check_kind(obj, validation)
        metadata = self._metadata_of(obj.get("metadata"))
        unknown: list[str] = []
        pruned = prune(self.node, {**obj, "metadata": metadata}, unknown)
        if self._has_embedded:
            pruned = self._with_embedded(pruned)
        defaulted = set_defaults(self.node, pruned)
        unknown.sort()
        decoded = reported(
            defaulted, unknown, duplicates or [], validation, version=self.version, kind=self.kind
        )
        told = finalizer_warnings(metadata)
        return replace(decoded, warnings=(*decoded.warnings, *told)) if told else decoded

    def default(self, obj: Object) -> Object:
        """The object completed once more."""
        return self.complete(obj, FieldValidation.IGNORE).object

    def known(self, obj: Object) -> Object:
        """The object without the fields that this version does not have; defaults are not set."""
        done: Object = prune(self.node, obj, [])
        return done

    def after_apply(self, obj: Object) -> Object:
        """A merged object with defaults; nulls that were applied stay, and are an error."""
        metadata = self._metadata_of(obj.get("metadata"))
        done: Object = set_defaults(self.node, {**obj, "metadata": metadata}, drop_nulls=False)
        return done

    def validate(self, obj: Object, old: Object | None, subresource: str = "") -> list[Cause]:
        """What is wrong with the object."""
        before: Any = MISSING if old is None else old
        causes = check_metadata(obj["metadata"], old and old.get("metadata"), custom=True)
        if self._metadata is not None:
            names = {key: obj["metadata"][key] for key in _META_FIELDS if obj["metadata"].get(key)}
            validate_structure(self._metadata, names, MISSING, causes, "metadata")
        if subresource == "status":
            self._check_status(obj, old, causes)
        else:
            validate_structure(self._fields, _own(obj), MISSING if old is None else _own(old), causes)
        if self._replicas:
            check_scale_path(obj, self._replicas, causes)
        if self.node.ruled:
            if blocking(causes):
                causes.append(Cause.of("FieldValueInvalid", NO_FIELD, _UNCHECKED, "null"))
            else:
                # Loaded here: only those who have rules need the library.
                from openclaw.testing.cluster.cel.rules import check_rules

                check_rules(self.node, obj, before, causes, root=True)
        return causes

    def _check_status(self, obj: Object, old: Object | None, causes: list[Cause]) -> None:
        """Only the status is looked at; messages then speak of paths in it."""
        node = self._fields.properties.get("status")
        if node is None or "status" not in obj:
            return
        found: list[Cause] = []
        validate_structure(node, obj["status"], (old or {}).get("status", MISSING), found)
        for cause in found:
            field = path_of("status", cause.field)
            if cause.field == NO_FIELD:
                # Of the status itself, or of a place that has no path.
                field = "status" if cause.reason == "FieldValueTypeInvalid" else NO_FIELD
            causes.append(Cause(cause.reason, cause.message, field))

    def openapi(self) -> Object:
        """The schema, with the fields that every object has."""
        text = {"type": "string"}
        fields = {"apiVersion": text, "kind": text, "metadata": {"type": "object"}}
        return {**self._raw, "properties": {**self._raw.get("properties", {}), **fields}}

    def _check_kind(self, obj: Object, validation: FieldValidation) -> None:
        api_version, kind = obj.get("apiVersion") or "", obj.get("kind")
        if api_version != self.api_version:
            message = (
                f"the API version in the data ({api_version}) does not match the expected API version "
                f"({self.api_version})"
            )
            error = bad_request(message)
            same_group = api_version.rpartition("/")[0] == self.group
            if validation is FieldValidation.WARN and same_group:
                # No schema says what is known.
                unknown = sorted(obj.keys() - _OBJECT_FIELDS)
                error.warnings = tuple(f'unknown field "{key}"' for key in unknown)
            raise error
        if kind != self.kind:
            cause = Cause.of("FieldValueInvalid", "kind", f"must be {self.kind}", f'"{kind}"')
            raise invalid(self.group, str(kind), str((obj.get("metadata") or {}).get("name") or ""), [cause])

    def _with_embedded(self, obj: Object) -> Object:
        try:
            done: Object = read_embedded(self._fields, obj)
        except GoValueError as error:
            raise cannot_be_handled(self.version, self.kind, self.kind, str(error)) from None
        return done

    def _metadata_of(self, metadata: Any) -> Object:
        try:
            if not isinstance(metadata, dict | None):
                message = "json: cannot unmarshal metadata into Go value of type v1.ObjectMeta"
                raise GoValueError(message)
            read = go_read(object_meta(), metadata or {}, owner="ObjectMeta")
        except GoValueError as error:
            raise cannot_be_handled(self.version, self.kind, self.kind, str(error)) from None
        done: Object = go_write(object_meta(), read)
        return done


def root_node(raw: Object) -> Node:
    """The node of a whole custom object: its schema, and the fields that every object has."""
    node = Compiler().node(raw)
    node.type = "object"
    text = Node(type="string")
    node.properties = {**node.properties, "apiVersion": text, "kind": text, "metadata": object_meta()}
    return node


def _own(obj: Object) -> Object:
    return {key: value for key, value in obj.items() if key not in _OBJECT_FIELDS}
