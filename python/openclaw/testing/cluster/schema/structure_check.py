"""Whether the schema of a definition is structural, and its extensions, defaults and rules are sound.

Rules: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from openclaw.testing.cluster.schema.node import Compiler
from openclaw.testing.cluster.schema.pruning import prune
from openclaw.testing.cluster.schema.structural import MISSING, validate_structure
from openclaw.testing.cluster.schema.values import go_pattern, shown
from openclaw.testing.cluster.statuses import Cause

Object = dict[str, Any]

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_LIST_TYPES: Final = ("atomic", "set", "map")
_MAP_TYPES: Final = ("granular", "atomic")
_STRUCTURE: Final = ("type", "description", "title", "default", "nullable", "additionalProperties")
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"


def check_structure(schema: Object, path: str, causes: list[Cause]) -> None:
    """Append what is wrong with the schema of a version."""
    kind = schema.get("type")
    if not kind:
        causes.append(Cause.of("FieldValueRequired", f"{path}.type", "must not be empty at the root"))
        return
    if kind != "object":
        _invalid(f"{path}.type", kind, "must be object at the root", causes)
        return
    metadata = (schema.get("properties") or {}).get("metadata") or {}
    if set(metadata.get("properties") or {}) - {"name", "generateName"}:
        detail = (
            "must not specify anything other than name and generateName, but metadata is implicitly specified"
        )
        causes.append(Cause.of("FieldValueForbidden", f"{path}.properties[metadata]", detail))
    _node(schema, path, causes, root=True)
    if not causes and _has_rules(schema):
        # Loaded here: only definitions with rules need the library.
        from openclaw.testing.cluster.cel.definition_rules import check_definition_rules

        check_definition_rules(schema, path, causes)


def _has_rules(value: Any) -> bool:
    if isinstance(value, dict):
        return "x-kubernetes-validations" in value or any(map(_has_rules, value.values()))
    return isinstance(value, list) and any(map(_has_rules, value))


def _node(schema: Object, path: str, causes: list[Cause], *, root: bool = False) -> None:
    kind = schema.get("type", "")
    if kind and kind not in _TYPES:
        _unsupported(f"{path}.type", kind, _TYPES, causes)
        return
    _shape(schema, kind, path, causes, root=root)
    _extensions(schema, kind, path, causes)
    if "default" in schema:
        _default(schema, path, causes)
    for place, below in _value_schemas(schema):
        _value_only(schema, below, f"{path}.{place}", causes)
    for name, below in (schema.get("properties") or {}).items():
        _node(below, f"{path}.properties[{name}]", causes)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            _node(schema[key], f"{path}.{key}", causes)


def _value_schemas(schema: Object) -> Iterator[tuple[str, Object]]:
    for key in ("allOf", "anyOf", "oneOf"):
        for at, below in enumerate(schema.get(key) or ()):
            yield f"{key}[{at}]", below
    if schema.get("not"):
        yield "not", schema["not"]


def _shape(schema: Object, kind: str, path: str, causes: list[Cause], *, root: bool) -> None:
    if not kind and not schema.get(_PRESERVE) and not schema.get(_INT_OR_STRING):
        word = "for specified array items" if path.endswith(".items") else "for specified object fields"
        detail = f"must not be empty {'at the root' if root else word}"
        causes.append(Cause.of("FieldValueRequired", f"{path}.type", detail))
    if kind == "array" and not isinstance(schema.get("items"), dict):
        causes.append(Cause.of("FieldValueRequired", f"{path}.items", "must be specified"))
    if schema.get("properties") and schema.get("additionalProperties"):
        detail = "additionalProperties and properties are mutual exclusive"
        causes.append(Cause.of("FieldValueForbidden", f"{path}.additionalProperties", detail))
    if pattern := schema.get("pattern"):
        try:
            go_pattern(pattern)
        except re.error as error:
            detail = f"must be a valid regular expression, but isn't: error parsing regexp: {error}"
            _invalid(f"{path}.pattern", pattern, detail, causes)


def _extensions(schema: Object, kind: str, path: str, causes: list[Cause]) -> None:
    list_type = schema.get("x-kubernetes-list-type")
    keys = schema.get("x-kubernetes-list-map-keys") or []
    if list_type is not None:
        field = f"{path}.x-kubernetes-list-type"
        if list_type not in _LIST_TYPES:
            _unsupported(field, list_type, _LIST_TYPES, causes)
        elif kind != "array":
            _invalid(f"{path}.type", kind, "must be array if x-kubernetes-list-type is specified", causes)
        elif list_type == "map":
            _list_map(schema, keys, path, causes)
        elif list_type == "set":
            _list_set(schema.get("items") or {}, f"{path}.items", causes)
    elif keys:
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        causes.append(Cause.of("FieldValueRequired", f"{path}.x-kubernetes-list-type", detail))
    map_type = schema.get("x-kubernetes-map-type")
    if map_type is not None:
        if map_type not in _MAP_TYPES:
            _unsupported(f"{path}.x-kubernetes-map-type", map_type, _MAP_TYPES, causes)
        elif kind != "object":
            _invalid(f"{path}.type", kind, "must be object if x-kubernetes-map-type is specified", causes)
    if schema.get("x-kubernetes-embedded-resource") and kind != "object":
        _invalid(f"{path}.type", kind, "must be object if x-kubernetes-embedded-resource is true", causes)
    if schema.get(_INT_OR_STRING) and kind:
        detail = "must be empty if x-kubernetes-int-or-string is true"
        causes.append(Cause.of("FieldValueForbidden", f"{path}.type", detail))


def _list_map(schema: Object, keys: list[str], path: str, causes: list[Cause]) -> None:
    field = f"{path}.x-kubernetes-list-map-keys"
    if not keys:
        detail = "must not be empty if x-kubernetes-list-type is map"
        causes.append(Cause.of("FieldValueRequired", field, detail))
        return
    items = schema.get("items") or {}
    properties, required = items.get("properties") or {}, items.get("required") or []
    if items.get("type") and items["type"] != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        _invalid(f"{path}.items.type", items["type"], detail, causes)
    elif any(key not in properties for key in keys):
        _invalid(field, keys, "entries must all be names of item properties", causes)
    else:
        for key in keys:
            if key not in required and "default" not in properties[key]:
                detail = (
                    "this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
                    "required property"
                )
                causes.append(
                    Cause.of("FieldValueRequired", f"{path}.items.properties[{key}].default", detail)
                )


def _list_set(items: Object, path: str, causes: list[Cause]) -> None:
    if items.get("nullable"):
        detail = "cannot be nullable when x-kubernetes-list-type is set"
        causes.append(Cause.of("FieldValueForbidden", f"{path}.nullable", detail))
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
        _invalid(f"{path}.x-kubernetes-map-type", items.get("x-kubernetes-map-type"), detail, causes)
    if items.get("type") == "array" and items.get("x-kubernetes-list-type", "atomic") != "atomic":
        detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
        _invalid(f"{path}.x-kubernetes-list-type", items.get("x-kubernetes-list-type"), detail, causes)


def _default(schema: Object, path: str, causes: list[Cause]) -> None:
    value, node = schema["default"], Compiler().node(schema)
    unknown: list[str] = []
    prune(node, value, unknown)
    if unknown:
        _invalid(f"{path}.default", value, "must not have unknown fields", causes)
        return
    found: list[Cause] = []
    validate_structure(node, value, MISSING, found)
    for cause in found:
        field = f"{path}.default.{cause.field}" if cause.field not in {"", "<nil>"} else f"{path}.default"
        causes.append(Cause(cause.reason, cause.message, field))


def _value_only(parent: Object, schema: Object, path: str, causes: list[Cause]) -> None:
    """Inside `allOf` and its like, only values may be spoken of, and only of known fields."""
    allowed = parent.get(_INT_OR_STRING) and schema.get("type") in {"integer", "string"}
    given = [key for key in _STRUCTURE if key in schema and not (key == "type" and allowed)]
    detail = "must be empty to be structural"
    causes += [Cause.of("FieldValueForbidden", f"{path}.{key}", detail) for key in given]
    for place, below in _value_schemas(schema):
        _value_only(parent, below, f"{path}.{place}", causes)
    known = parent.get("properties") or {}
    for name, below in (schema.get("properties") or {}).items():
        _value_only(known.get(name) or {}, below, f"{path}.properties[{name}]", causes)


def _invalid(field: str, value: Any, detail: str, causes: list[Cause]) -> None:
    causes.append(Cause.of("FieldValueInvalid", field, detail, shown(value)))


def _unsupported(field: str, value: Any, allowed: tuple[str, ...], causes: list[Cause]) -> None:
    listed = ", ".join(shown(one) for one in allowed)
    causes.append(Cause.of("FieldValueNotSupported", field, f"supported values: {listed}", shown(value)))
