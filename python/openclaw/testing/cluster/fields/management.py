"""Server-side apply and the tracking of every other write, as the server's write path asks for it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

import orjson

from openclaw.testing.cluster.contracts import (
    Cause,
    Decoded,
    FieldValidation,
    FieldWrite,
    Object,
    StatusError,
    Version,
)
from openclaw.testing.cluster.fields.configuration import check_configuration, field_set
from openclaw.testing.cluster.fields.elements import shown_paths
from openclaw.testing.cluster.fields.managers import (
    APPLY,
    UPDATE,
    Managed,
    ManagerKey,
    Managers,
    capped,
    is_reset,
    manager_key,
    read_managers,
    write_managers,
)
from openclaw.testing.cluster.fields.scope import Scope, scope_of
from openclaw.testing.cluster.fields.sets import difference, union
from openclaw.testing.cluster.fields.updating import (
    NOT_TRACKED,
    ConflictsError,
    apply_configuration,
    update_managers,
)
from openclaw.testing.cluster.json_body import duplicate_fields, read_body
from openclaw.testing.cluster.schema.builtin_schema import BuiltinSchema
from openclaw.testing.cluster.schema.custom_schema import CustomSchema
from openclaw.testing.cluster.schema.values import type_of
from openclaw.testing.cluster.statuses import bad_request

KnownSchema = BuiltinSchema | CustomSchema

_BEFORE = "before-first-apply"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class FieldManager:
    """The `FieldManagement` of a cluster."""

    def track(self, write: FieldWrite, old: Object | None, new: Object) -> list[Object]:
        """The managedFields that `new` shall have."""
        version, schema = _version(write)
        given = (new.get("metadata") or {}).get("managedFields")
        known = (old or {}).get("metadata", {}).get("managedFields")
        if write.subresource:
            managers = read_managers(known)
        elif is_reset(given):
            managers = {}
        else:
            managers = read_managers(given) or read_managers(known)
        if write.subresource == "scale" and not _scaled_by_anyone(version, managers):
            # Of a scale that nobody owns, the owner is not told either.
            return write_managers(managers)
        if old is not None and not managers:
            # Forgotten managers stay forgotten until the next apply.
            return []
        scope = _scope(write, version, schema)
        before = schema.zero if old is None else old
        return write_managers(_tracked(write, scope, before, new, managers))

    def apply(
        self, write: FieldWrite, live: Object | None, body: bytes, *, force: bool, validation: FieldValidation
    ) -> Decoded:
        """`live` with the configuration in `body` merged in."""
        version, schema = _version(write)
        configuration = _configuration(write, version, schema, body)
        duplicates = duplicate_fields(body, configuration) if validation is not FieldValidation.IGNORE else []
        if duplicates and validation is FieldValidation.STRICT:
            texts = ", ".join(map(_twice, duplicates))
            raise bad_request(f"error strict decoding patch: {texts}")
        scope = _scope(write, version, schema)
        base = schema.zero if live is None else live
        managers = read_managers(base.get("metadata", {}).get("managedFields"))
        bare = _without_managers(base)
        if live is not None and not managers:
            first = replace(write, manager=_BEFORE)
            managers = _tracked(first, scope, schema.zero, bare, {})
        key = _apply_key(write, schema)
        merged, owned = _applied(write, scope, bare, configuration, managers=managers, force=force)
        if merged == bare and live is not None:
            done = live
        else:
            done = _confined(write, version, live, schema.after_apply(merged))
            if key in owned:
                owned[key] = replace(owned[key], time=_time(write, managers.get(key)))
        entries = write_managers(owned)
        if done is live and entries == (live or {}).get("metadata", {}).get("managedFields", []):
            return Decoded(done)
        metadata = {**done.get("metadata", {}), "managedFields": entries}
        if not entries:
            del metadata["managedFields"]
        warnings = tuple(map(_twice, duplicates))
        return Decoded({**done, "metadata": metadata}, warnings)


def _applied(
    write: FieldWrite, scope: Scope, live: Object, configuration: Object, *, managers: Managers, force: bool
) -> tuple[Object, Managers]:
    _, schema = _version(write)
    key = _apply_key(write, schema)

    def apply(*, force: bool) -> tuple[Object, Managers]:
        return apply_configuration(
            schema.node,
            scope,
            live,
            configuration,
            managers=managers,
            key=key,
            api_version=schema.api_version,
            force=force,
        )

    try:
        return apply(force=force)
    except ConflictsError as error:
        allowed = _client_side_applied(write, schema, live)
        conflicts = {
            one: replace(managed, fields=left)
            for one, managed in error.conflicts.items()
            if (left := difference(managed.fields, allowed))
        }
        if conflicts:
            raise _conflict(write, conflicts) from None
    # What kubectl applied from the client's side, it may take over.
    return apply(force=True)


def _apply_key(write: FieldWrite, schema: KnownSchema) -> ManagerKey:
    return manager_key(write.manager or "unknown", APPLY, schema.api_version, write.subresource)


def _scaled_by_anyone(version: Version, managers: Managers) -> bool:
    """Whether a manager owns the replicas that a scale shows."""
    path = version.scale.spec_replicas if version.scale else ".spec.replicas"
    for managed in managers.values():
        node: Any = managed.fields
        for name in path.removeprefix(".").split("."):
            node = node.get(f"f:{name}") if node is not None else None
        if node is not None:
            return True
    return False


def _time(write: FieldWrite, known: Managed | None) -> str:
    """The time of an entry that changes; who scales for the first time has none, as in the server."""
    if write.subresource == "scale":
        return known.time if known else ""
    return write.time


def _is_yaml(body: bytes) -> bool:
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError:
        return True
    return False


def _twice(path: str) -> str:
    """A field that is there twice, as the YAML reader has it."""
    return f'line 1: key "{path.rpartition(".")[2]}" already set in map'


def _version(write: FieldWrite) -> tuple[Version, KnownSchema]:
    version = write.resource.versions[write.version]
    return version, cast("KnownSchema", version.schema)


def _scope(write: FieldWrite, version: Version, schema: KnownSchema) -> Scope:
    has_status = version.status or (schema.typed and "status" in schema.node.properties)
    return scope_of(write.subresource, has_status=has_status, custom=not schema.typed)


def _tracked(write: FieldWrite, scope: Scope, old: Object, new: Object, managers: Managers) -> Managers:
    _, schema = _version(write)
    key = manager_key(write.manager or "unknown", UPDATE, schema.api_version, write.subresource)
    others, taken = update_managers(
        schema.node, scope, _without_managers(old), _without_managers(new), managers
    )
    if taken:
        # The times of those who lost fields stay; the one who took some has a new one.
        known = others.get(key)
        fields = union(known.fields, taken) if known else taken
        others[key] = Managed(fields, schema.api_version, _time(write, known))
    return capped(others)


def _without_managers(obj: Object) -> Object:
    metadata = obj.get("metadata")
    if not metadata or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def _configuration(write: FieldWrite, version: Version, schema: KnownSchema, body: bytes) -> Object:
    try:
        parsed = read_body(body, is_yaml=_is_yaml(body))
    except ValueError as error:
        raise bad_request(f"error decoding patch: {error}") from None
    if not isinstance(parsed, dict):
        kind = {"integer": "number", "boolean": "bool"}.get(type_of(parsed), type_of(parsed))
        message = (
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
            f"{kind} into Go value of type map[string]interface {{}}"
        )
        raise bad_request(f"error decoding patch: {message}")
    if write.subresource == "scale":
        return _scaled(version, schema, parsed)
    group, _, number = str(parsed.get("apiVersion") or "").rpartition("/")
    if parsed.get("kind") != schema.kind or parsed.get("apiVersion") != schema.api_version:
        raise bad_request(f"invalid object type: {group}/{number}, Kind={parsed.get('kind') or ''}")
    metadata = parsed.get("metadata") or {}
    if "managedFields" in metadata:
        raise bad_request("metadata.managedFields must be nil")
    faults: list[str] = []
    check_configuration(schema.node, parsed, faults)
    if faults:
        listed = faults[0] if len(faults) == 1 else "errors:\n" + "\n".join(f"  {fault}" for fault in faults)
        place = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        message = (
            f"failed to create typed patch object ({place}; {group}/{number}, Kind={schema.kind}): {listed}"
        )
        raise StatusError(500, "", message)
    return parsed


def _scaled(version: Version, schema: KnownSchema, scale: Object) -> Object:
    """The configuration of the scaled object that a Scale stands for."""
    replicas = (scale.get("spec") or {}).get("replicas")
    path = version.scale.spec_replicas if version.scale else ".spec.replicas"
    value: Any = replicas
    for name in reversed(path.removeprefix(".").split(".")):
        value = {name: value}
    metadata = {"name": (scale.get("metadata") or {}).get("name")}
    configuration: Object = {"apiVersion": schema.api_version, "kind": schema.kind, "metadata": metadata}
    return {**configuration, **value} if replicas is not None else configuration


def _confined(write: FieldWrite, version: Version, live: Object | None, merged: Object) -> Object:
    """Only what the subresource shows may change."""
    if live is None:
        return merged
    if write.subresource == "status":
        kept = {key: value for key, value in live.items() if key != "status"}
        return {**kept, "status": merged["status"]} if "status" in merged else kept
    if not write.subresource and version.status:
        kept = {key: value for key, value in merged.items() if key != "status"}
        return {**kept, "status": live["status"]} if "status" in live else kept
    return merged


def _client_side_applied(write: FieldWrite, schema: KnownSchema, live: Object) -> Any:
    if write.manager != "kubectl":
        return {}
    text = (live.get("metadata", {}).get("annotations") or {}).get(_LAST_APPLIED)
    if not text:
        return {}
    try:
        configuration = json.loads(text)
    except ValueError:
        return {}
    fields = field_set(schema.node, configuration) if isinstance(configuration, dict) else {}
    return difference(fields, NOT_TRACKED)


def _conflict(write: FieldWrite, conflicts: dict[ManagerKey, Managed]) -> StatusError:
    causes: list[Cause] = []
    by_manager: dict[str, list[str]] = {}
    for key, managed in sorted(conflicts.items()):
        # Who scales sees all managers as those of a Scale.
        name = _named(key, "autoscaling/v1" if write.subresource == "scale" else managed.api_version)
        for path in shown_paths(managed.fields):
            causes.append(Cause("FieldManagerConflict", f"conflict with {name}", path))
            by_manager.setdefault(name, []).append(path)
    if len(causes) == 1:
        message = f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        listed = "\n".join(
            "\n".join([f"conflicts with {name}:", *(f"- {path}" for path in paths)])
            for name, paths in sorted(by_manager.items())
        )
        message = f"Apply failed with {len(causes)} conflicts: {listed}"
    return StatusError(409, "Conflict", message, details={"causes": [cause.to_dict() for cause in causes]})


def _named(key: ManagerKey, api_version: str) -> str:
    text = json.dumps(key.manager)
    if key.subresource:
        text += f' with subresource "{key.subresource}"'
    return f"{text} using {api_version}" if key.operation == UPDATE else text
