"""The committed data about built-in kinds, read when it is first needed."""

from __future__ import annotations

import gzip
from functools import cache
from typing import Any, Final

import orjson

from openclaw.testing.cluster.openapi_dump import DATA_FILE
from openclaw.testing.cluster.schema.node import Compiler, Node

_JSON_SCHEMA: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"


@cache
def builtin_data() -> dict[str, Any]:
    """What `openapi_dump` wrote; not to be changed."""
    data: dict[str, Any] = orjson.loads(gzip.decompress(DATA_FILE.read_bytes()))
    return data


@cache
def _compiler() -> Compiler:
    schemas: dict[str, Any] = dict(builtin_data()["schemas"])
    props = schemas[f"{_JSON_SCHEMA}"]
    # Go reads these from a boolean or a list, too; the JSON of either is taken as it is.
    for name in ("JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray"):
        schemas[f"{_JSON_SCHEMA}{name.removeprefix('JSONSchemaProps')}"] = {**props, "type": ""}
    return Compiler(schemas)


def definition_node(name: str) -> Node:
    """The node of a definition by its name in OpenAPI, such as `io.k8s.api.apps.v1.Deployment`."""
    return _compiler().named(name)


def kind_node(group: str, version: str, kind: str) -> Node | None:
    """The node of a built-in kind."""
    key = f"{group}/{version}/{kind}" if group else f"{version}/{kind}"
    name = builtin_data()["kinds"].get(key)
    return None if name is None else definition_node(name)
