"""Built-in kinds as Go reads and writes them.

Reading refuses values of a wrong type; writing adds what a struct always has and drops what is zero. Times,
quantities and bytes have forms of their own.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from datetime import datetime
from typing import Any, Final

from openclaw.testing.cluster.quantity import canonical
from openclaw.testing.cluster.schema.node import Node, path_of
from openclaw.testing.cluster.schema.values import type_of

QUANTITY: Final = "resource.Quantity"
INT_OR_STRING: Final = "intstr.IntOrString"
TIMES: Final = frozenset({"v1.Time", "v1.MicroTime"})

_GO_KINDS: Final = {"boolean": "bool", "integer": "number", "number": "number"}
_INDEX: Final = re.compile(r"\[\d+\]")
_RFC3339: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})")
_MICRO: Final = re.compile(r"\.\d{6}(Z|[+-])")
_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"
_SECONDS: Final = len("2006-01-02T15:04:05")
_BITS: Final = {"int32": 31, "int64": 63}


class GoValueError(Exception):
    """A value that Go cannot read into its field; the text is Go's."""


def go_read(node: Node, value: Any, path: str = "", owner: str = "") -> Any:
    """The value as Go holds it: canonical quantities, whole numbers, no nulls in lists of structs.

    `owner` is the struct around it. Parts in which nothing changes are shared. Raises GoValueError.
    """
    if value is None:
        return None
    if isinstance(value, dict):
        if node.type not in {"object", ""} or node.struct == QUANTITY:
            raise _unreadable(node, value, path, owner)
        return _read_object(node, value, path, owner)
    if isinstance(value, list):
        if node.type not in {"array", ""}:
            raise _unreadable(node, value, path, owner)
        items = node.items
        if items is None:
            return value
        read = [go_read(items, item, path, owner) for item in value]
        return read if any(a is not b for a, b in zip(read, value, strict=True)) else value
    return _read_scalar(node, value, path, owner)


def _read_object(node: Node, value: dict[str, Any], path: str, owner: str) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    inner = node.struct.rpartition(".")[2] if node.properties else owner
    for key, below in value.items():
        child = node.properties.get(key)
        if child is not None:
            read = go_read(child, below, path_of(path, key), inner)
        elif node.additional is not None:
            read = go_read(node.additional, below, path, owner)
        else:
            continue
        if read is not below:
            changed[key] = read
    return {**value, **changed} if changed else value


def _read_scalar(node: Node, value: Any, path: str, owner: str) -> Any:
    if node.struct == QUANTITY:
        return _quantity(value)
    if node.int_or_string:
        if type_of(value) not in {"integer", "string"}:
            raise _unreadable(node, value, path, owner)
        return value
    if isinstance(value, str):
        if node.struct in TIMES:
            return _time(node.struct, value)
        if node.raw.get("format") == "byte":
            return _bytes(value)
    actual = type_of(value)
    if actual == "number" and node.type == "integer" and value.is_integer():
        return int(value)
    if node.type and actual != node.type and not (actual == "integer" and node.type == "number"):
        raise _unreadable(node, value, path, owner)
    if actual == "integer" and node.type == "integer":
        bits = _BITS.get(node.raw.get("format", ""), 63)
        if not -(2**bits) <= value < 2**bits:
            raise _unreadable(node, value, path, owner)
    return value


def _quantity(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    try:
        return canonical(text)
    except ValueError as error:
        raise GoValueError(str(error)) from None


def _time(struct: str, value: str) -> str:
    if not value:
        return value
    micro = struct == "v1.MicroTime"
    if micro and _RFC3339.fullmatch(value) and not _MICRO.search(value):
        rest = value[_SECONDS:]
        message = f'parsing time "{value}" as "{_LAYOUT}": cannot parse "{rest}" as ".000000"'
        raise GoValueError(message)
    if not _RFC3339.fullmatch(value):
        layout = (
            "2006-01-02T15:04:05.000000Z07:00" if struct == "v1.MicroTime" else "2006-01-02T15:04:05Z07:00"
        )
        message = f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "2006"'
        raise GoValueError(message)
    time = datetime.fromisoformat(value)
    offset = time.utcoffset()
    time = (time - offset if offset else time).replace(tzinfo=None)
    if struct == "v1.MicroTime":
        return f"{time.isoformat(timespec='microseconds')}Z"
    return f"{time.replace(microsecond=0).isoformat()}Z"


def _bytes(value: str) -> str:
    try:
        base64.b64decode(value, validate=True)
    except binascii.Error:
        good = re.match(r"[A-Za-z0-9+/]*", value)
        at = good.end() if good else 0
        message = f"illegal base64 data at input byte {at // 4 * 4 if at == len(value) else at}"
        raise GoValueError(message) from None
    return value


def _unreadable(node: Node, value: Any, path: str, owner: str) -> GoValueError:
    actual = type_of(value)
    kind = _GO_KINDS.get(actual, actual)
    if kind == "number" and node.type == "integer":
        kind = f"number {json.dumps(value)}"
    place = f"{owner}.{_INDEX.sub('', path)}" if owner else path
    return GoValueError(
        f"json: cannot unmarshal {kind} into Go struct field {place} of type {_go_type(node)}"
    )


def _go_type(node: Node) -> str:
    if node.struct and node.struct not in {QUANTITY, INT_OR_STRING} and node.type == "object":
        return node.struct
    match node.type:
        case "integer":
            return str(node.raw.get("format", "int64"))
        case "boolean":
            return "bool"
        case "number":
            return "float64"
        case "array":
            return f"[]{_go_type(node.items)}" if node.items else "[]string"
        case "object":
            return f"map[string]{_go_type(node.additional)}" if node.additional else "map[string]string"
        case _:
            return "string"


def go_write(node: Node, value: Any) -> Any:
    """The value as Go writes it. Parts in which nothing changes are shared."""
    if isinstance(value, dict):
        if node.properties:
            return _write_struct(node, value)
        if node.additional is not None:
            child = node.additional
            written = {key: go_write(child, _no_null(child, below)) for key, below in value.items()}
            return value if all(written[key] is value[key] for key in value) else written
    elif isinstance(value, list) and node.items is not None:
        items = node.items
        done = [go_write(items, _no_null(items, item)) for item in value]
        return value if all(a is b for a, b in zip(done, value, strict=True)) else done
    return value


def _write_struct(node: Node, value: dict[str, Any]) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    dropped: list[str] = []
    for key, below in value.items():
        child = node.properties.get(key)
        if child is None:
            continue
        written = go_write(child, below)
        if written == [] and child.mark == "null":
            written = None  # What is stored, as protobuf, does not tell an empty list from none.
        if written is None or (child.mark == "omit" and _empty(written)):
            if child.mark in {"", "omit"}:
                dropped.append(key)
                continue
            written = _zero(child)
        if written is not below:
            changed[key] = written
    for key, child in node.properties.items():
        if key not in value and child.mark in {"struct", "zero", "null"}:
            changed[key] = _zero(child)
    if not changed and not dropped:
        return value
    result = {**value, **changed}
    for key in dropped:
        del result[key]
    return result


def zero_object(node: Node) -> dict[str, Any]:
    """What Go writes of a struct in which nothing was set."""
    return _write_struct(node, {})


def _zero(node: Node) -> Any:
    if node.mark == "struct":
        return _write_struct(node, {})
    if node.mark == "null":
        return None
    return {"integer": 0, "number": 0, "boolean": False}.get(
        node.type, "0" if node.struct == QUANTITY else ""
    )


def _no_null(node: Node, value: Any) -> Any:
    if value is not None:
        return value
    if node.properties:
        return {}
    return {"integer": 0, "boolean": False, "string": ""}.get(node.type)


def _empty(value: Any) -> bool:
    return (
        value is None or value is False or value in ("", 0) or (isinstance(value, dict | list) and not value)
    )
