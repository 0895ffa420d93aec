"""OpenAPI v3 documents of a group and version, as far as kubectl asks for them: schemas and their paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openclaw.testing.cluster.contracts import Resource

__all__ = ["document"]

Object = dict[str, Any]

_VERBS = {"get": "get", "put": "put", "patch": "patch", "delete": "delete"}


def document(group: str, version: str, resources: Sequence[Resource]) -> Object:
    """The document of one group and version."""
    schemas: Object = {}
    paths: Object = {}
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    for resource in resources:
        served = resource.versions.get(version)
        if served is None:
            continue
        gvk = {"group": group, "version": version, "kind": resource.kind}
        name = ".".join([*reversed(group.split(".")), version, resource.kind]).lstrip(".")
        schemas[name] = {**served.schema.openapi(), "x-kubernetes-group-version-kind": [gvk]}
        scope = "/namespaces/{namespace}" if resource.namespaced else ""
        reference = {"$ref": f"#/components/schemas/{name}"}
        content = {"application/json": {"schema": reference}}
        paths[f"{root}{scope}/{resource.plural}/{{name}}"] = {
            verb: _operation(verb, gvk, content) for verb in _VERBS
        }
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.37.2"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _operation(verb: str, gvk: Object, content: Object) -> Object:
    operation: Object = {
        "responses": {"200": {"description": "OK", "content": content}},
        "x-kubernetes-action": verb,
        "x-kubernetes-group-version-kind": gvk,
    }
    if verb in {"put", "patch"}:
        operation["parameters"] = [
            {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
            for name in ("dryRun", "fieldManager", "fieldValidation")
        ]
    return operation
