"""The replicas that a custom resource's scale subresource shows must be a number that a Scale can hold."""

from __future__ import annotations

from typing import Any, Final

from openclaw.testing.cluster.schema.values import shown
from openclaw.testing.cluster.statuses import Cause

_MAXIMUM: Final = 2**31 - 1
_GO: Final = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    bool: "bool",
    float: "float64",
    type(None): "<nil>",
    int: "int64",
}


def check_scale_path(obj: dict[str, Any], path: str, causes: list[Cause]) -> None:
    """Append what is wrong with the number at a path such as `.spec.replicas`."""
    value: Any = obj
    names = path.removeprefix(".").split(".")
    for name in names:
        if value is None:
            return
        if not isinstance(value, dict):
            _accessor(value, "map[string]interface{}", path, causes)
            return
        if name not in value:
            return
        value = value[name]
    if value is None or isinstance(value, bool) or not isinstance(value, int):
        if value is not None:
            _accessor(value, "int64", path, causes)
        return
    if value < 0:
        causes.append(Cause.of("FieldValueInvalid", path, "should be a non-negative integer", shown(value)))
    elif value > _MAXIMUM:
        detail = f"should be less than or equal to {_MAXIMUM}"
        causes.append(Cause.of("FieldValueInvalid", path, detail, shown(value)))


def _accessor(value: Any, wanted: str, path: str, causes: list[Cause]) -> None:
    text = value if isinstance(value, str) else shown(value)
    detail = f"{path} accessor error: {text} is of the type {_GO[type(value)]}, expected {wanted}"
    causes.append(Cause.of("FieldValueInvalid", path, detail, "0"))
