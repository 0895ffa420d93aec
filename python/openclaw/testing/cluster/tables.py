"""Objects as rows of a `Table`: what `kubectl get` shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from openclaw.testing.cluster.ages import age
from openclaw.testing.cluster.clock import seconds_of
from openclaw.testing.cluster.columns import AGE, BUILTIN, CREATED
from openclaw.testing.cluster.contracts import Column
from openclaw.testing.cluster.paths import find
from openclaw.testing.cluster.routing import Target

__all__ = ["table"]

Object = dict[str, Any]

_NAME: Final = {
    "name": "Name",
    "type": "string",
    "format": "name",
    "description": "Name must be unique within a namespace. Is required when creating resources, although "
    "some resources may allow a client to request the generation of an appropriate name automatically. "
    "Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. "
    "More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
    "priority": 0,
}


def table(
    target: Target, objects: Sequence[Object], metadata: Object, *, now: float, include: str = "Metadata"
) -> Object:
    """A table of objects.

    Args:
        metadata: of the list.
        now: seconds since 1970, for ages.
        include: `Metadata`, `Object` or `None`: what each row has besides its cells.
    """
    builtin = BUILTIN.get((target.resource.group, target.resource.plural))
    if target.resource.definition is None:
        columns = builtin if builtin is not None else (CREATED,)
    else:
        columns = target.version.columns or (AGE,)
    definitions = [_definition(column) for column in columns]
    if not any(definition["format"] == "name" for definition in definitions):
        definitions.insert(0, _NAME)
        named = True
    else:
        named = False
    rows = []
    for obj in objects:
        cells = [_cell(column, obj, now) for column in columns]
        if named:
            cells.insert(0, obj["metadata"]["name"])
        row: Object = {"cells": cells, "object": _included(obj, include)}
        conditions = _row_conditions(target, obj)
        if conditions:
            row["conditions"] = conditions
        rows.append(row)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    }


def _definition(column: Column) -> Object:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description or _description(column),
        "priority": column.priority,
    }


def _description(column: Column) -> str:
    if column.path:
        return f"Custom resource definition column (in JSONPath format): {column.path}"
    return f"{column.name} of the object."


def _included(obj: Object, include: str) -> Object | None:
    if include == "None":
        return None
    if include == "Object":
        return obj
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def _row_conditions(target: Target, obj: Object) -> list[Object]:
    phase = (obj.get("status") or {}).get("phase")
    if target.resource.plural == "pods" and phase in {"Succeeded", "Failed"}:
        message = "The pod has completed." if phase == "Succeeded" else "The pod failed."
        return [{"type": "Completed", "status": "True", "reason": phase, "message": message}]
    return []


def _cell(column: Column, obj: Object, now: float) -> Any:
    compute = getattr(column, "compute", None)
    if compute is not None:
        return compute(obj, now)
    values = find(column.path, obj)
    if not values:
        return None
    if len(values) > 1 or isinstance(values[0], list | dict):
        return _joined(values)
    value = values[0]
    if column.type == "date" and isinstance(value, str):
        try:
            return age(now - seconds_of(value))
        except ValueError:
            return "<invalid>"
    if column.type == "string" and not isinstance(value, str):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return value if _fits(column.type, value) else None


def _joined(values: Sequence[Any]) -> str:
    flat = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    if isinstance(flat, dict) or any(isinstance(one, dict | list) for one in flat):
        return json.dumps(flat if len(values) > 1 else values[0], separators=(",", ":"))
    return ",".join(str(one) for one in flat)


def _fits(kind: str, value: Any) -> bool:
    match kind:
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case _:
            return True
