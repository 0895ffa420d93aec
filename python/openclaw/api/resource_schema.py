"""The schema of a whole object, and the paths into it that a declaration names."""

from __future__ import annotations

import inspect
import re
from typing import Any

from pydantic import BaseModel

from openclaw.api.checks import check_transitions
from openclaw.api.errors import SchemaError
from openclaw.api.options import ResourceOptions
from openclaw.api.overlay import add_rules
from openclaw.api.schema import model_schema

Json = dict[str, Any]

_API_VERSION = (
    "APIVersion defines the versioned schema of this representation of an object. "
    "Servers convert recognized schemas to the latest internal value and may reject unrecognized values."
)
_KIND = (
    "Kind is the REST resource that this object represents, in CamelCase. "
    "Servers infer it from the endpoint that the client sends requests to; it can't be updated."
)
_PLAIN_PATH = re.compile(r"(\.[A-Za-z_][A-Za-z0-9_-]*)+")
_SELECTABLE = ("string", "integer", "boolean")


def resource_schema(
    owner: type[BaseModel],
    options: ResourceOptions,
    spec: type[BaseModel] | None,
    status: type[BaseModel] | None,
) -> Json:
    """The `openAPIV3Schema` of a declared kind.

    Raises:
        SchemaError: the declaration has no structural schema, or names a path that the schema lacks.
    """
    schema: Json = {}
    if owner.__doc__:
        schema["description"] = inspect.cleandoc(owner.__doc__)
    schema["type"] = "object"
    properties: Json = {
        "apiVersion": {"description": _API_VERSION, "type": "string"},
        "kind": {"description": _KIND, "type": "string"},
        "metadata": {"type": "object"},
    }
    if spec is not None:
        properties["spec"] = {"description": "The desired state.", **model_schema(spec)}
        if properties["spec"].get("required"):
            schema["required"] = ["spec"]
        elif _holds_default(properties["spec"]):
            # An absent spec gets its fields' defaults only when it has a default itself.
            properties["spec"]["default"] = {}
    if status is not None:
        described = {"description": "The observed state; written by the controller."}
        properties["status"] = {**described, **model_schema(status, defaults=False)}
    schema["properties"] = properties
    add_rules(schema, options.rules)
    where = owner.__qualname__
    check_transitions(schema, where)
    for column in options.columns:
        _check_path(schema, column.path, f"{where}: column {column.name!r}")
    for path in options.selectable_fields:
        leaf = _check_path(schema, path, f"{where}: selectable_fields")
        if leaf is not None and leaf.get("type") not in _SELECTABLE:
            raise SchemaError(f"{where}: the selectable field {path!r} must be a string, integer or boolean")
    if options.scale is not None:
        _check_path(schema, options.scale.spec_replicas, f"{where}: scale")
        _check_path(schema, options.scale.status_replicas, f"{where}: scale")
    return schema


def _holds_default(schema: Json) -> bool:
    return any("default" in child or _holds_default(child) for child in schema.get("properties", {}).values())


def _check_path(schema: Json, path: str, where: str) -> Json | None:
    """The schema at a plain path; None when the path has filters, or leads through an open part."""
    if not _PLAIN_PATH.fullmatch(path) or path.startswith(".metadata"):
        return None
    at = schema
    for name in path.split(".")[1:]:
        if "properties" not in at or at.get("x-kubernetes-preserve-unknown-fields"):
            return None
        if name not in at["properties"]:
            known = ", ".join(at["properties"])
            raise SchemaError(f"{where}: the path {path!r} leads nowhere: no field {name!r} among {known}")
        at = at["properties"][name]
    return at
