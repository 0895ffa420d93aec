"""Request bodies as protobuf, which `kubectl create deployment` and other typed clients send, as JSON.

The envelope is `runtime.Unknown` of `k8s.io/apimachinery`, behind four bytes; the messages are described by
`builtin_protobuf.json.gz`, see `protobuf_dump`. Answers are always JSON, which every client takes.
"""

from __future__ import annotations

import base64
import gzip
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson

from openclaw.testing.cluster.statuses import bad_request, unsupported_media_type

__all__ = ["CONTENT_TYPE", "to_json"]

CONTENT_TYPE: Final = "application/vnd.kubernetes.protobuf"

_DATA: Final = Path(__file__).with_name("builtin_protobuf.json.gz")
_MAGIC: Final = b"k8s\0"
_META: Final = "k8s.io.apimachinery.pkg.apis.meta.v1"
_NO_GROUP: Final = frozenset({"DeleteOptions"})
_DEEPEST: Final = 64
_VARINT_BITS: Final = 70  # ten bytes

Field = tuple[str, str, str]
"""Name in JSON ("" for what is embedded there), type, `r` for repeated or `m` for a map."""


class _Malformed(Exception):
    """The bytes are no such message."""


@cache
def _described() -> tuple[dict[str, str], dict[str, dict[int, Field]]]:
    data = orjson.loads(gzip.decompress(_DATA.read_bytes()))
    messages = {
        name: {int(number): tuple(field) for number, field in fields.items()}
        for name, fields in data["messages"].items()
    }
    return data["kinds"], messages


def to_json(body: bytes) -> bytes:
    """The JSON of a protobuf body.

    Raises StatusError: 400 for one that cannot be read, 415 for a kind that is not built in.
    """
    if not body.startswith(_MAGIC):
        raise bad_request(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
    try:
        envelope = dict(_fields(body[len(_MAGIC) :]))
        meta = {number: _text(value) for number, value in _fields(envelope.get(1, b""))}
        api_version, kind = meta.get(1, ""), meta.get(2, "")
        obj = _message(_of_kind(api_version, kind), envelope.get(2, b""), 0)
    except (_Malformed, struct.error, UnicodeDecodeError, TypeError, ValueError, OverflowError) as error:
        raise bad_request(f"the protobuf message cannot be read: {error}") from None
    return orjson.dumps({"apiVersion": api_version, "kind": kind, **obj})


def _of_kind(api_version: str, kind: str) -> str:
    kinds, _ = _described()
    if kind in _NO_GROUP:
        return f"{_META}.{kind}"
    name = kinds.get(f"{api_version}/{kind}")
    if name is None:
        raise unsupported_media_type(["application/json", "application/yaml"])
    return name


def _message(name: str, data: Any, depth: int) -> dict[str, Any]:
    if depth > _DEEPEST:
        raise _Malformed("nested too deeply")
    fields = _described()[1][name]
    obj: dict[str, Any] = {}
    for number, raw in _fields(data):
        field = fields.get(number)
        if field is None:
            continue
        called, kind, how = field
        if how == "m":
            pair = dict(_fields(raw))
            obj.setdefault(called, {})[_text(pair.get(1, b""))] = _value(kind, pair.get(2, b""), depth)
            continue
        value = _value(kind, raw, depth)
        if how == "r":
            obj.setdefault(called, []).append(value)
        elif not called:
            obj |= value
        elif value is not None and value != "":
            # Go writes what is not set, too.
            obj[called] = value
    return obj


def _value(kind: str, raw: Any, depth: int) -> Any:
    read = _READ.get(kind)
    return _message(kind, raw, depth + 1) if read is None else read(raw)


def _fields(data: Any) -> Iterator[tuple[int, Any]]:
    """The fields of a message: number, and a number or bytes."""
    if not isinstance(data, bytes):
        raise _Malformed("a number where a message should be")
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value
        elif wire == 1:
            yield number, struct.unpack_from("<d", data, at)[0]
            at += 8
        elif wire == 2:  # noqa: PLR2004 - the wire types have no names in protobuf either
            length, at = _varint(data, at)
            if at + length > len(data):
                raise _Malformed("it is cut off")
            yield number, data[at : at + length]
            at += length
        elif wire == 5:  # noqa: PLR2004
            yield number, struct.unpack_from("<f", data, at)[0]
            at += 4
        else:
            raise _Malformed(f"unknown wire type {wire}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < _VARINT_BITS:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004
            return value & (2**64 - 1), at
        shift += 7
    raise _Malformed("a number without an end")


def _bytes(raw: Any) -> bytes:
    if not isinstance(raw, bytes):
        raise _Malformed("a number where bytes should be")
    return raw


def _text(raw: Any) -> str:
    return _bytes(raw).decode()


def _int(raw: Any) -> int:
    if not isinstance(raw, int):
        raise _Malformed("bytes where a number should be")
    value = raw
    return value - 2**64 if value >= 2**63 else value


def _time(raw: Any) -> str | None:
    parts = dict(_fields(raw))
    if not parts.get(1):
        return None
    return datetime.fromtimestamp(_int(parts[1]), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(raw: Any) -> str | None:
    parts = dict(_fields(raw))
    if not parts.get(1):
        return None
    date = datetime.fromtimestamp(_int(parts[1]), UTC).replace(microsecond=_int(parts.get(2, 0)) // 1000)
    return date.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _int_or_string(raw: Any) -> int | str:
    parts = dict(_fields(raw))
    return _text(parts.get(3, b"")) if parts.get(1) else _int(parts.get(2, 0))


def _json(raw: Any) -> Any:
    text = dict(_fields(raw)).get(1)
    return orjson.loads(text) if text else None


_READ: Final[dict[str, Callable[[Any], Any]]] = {
    "string": _text,
    "bytes": lambda raw: base64.b64encode(_bytes(raw)).decode(),
    "bool": lambda raw: bool(_int(raw)),
    "int32": _int,
    "int64": _int,
    "double": float,
    "float": float,
    "k8s.io.apimachinery.pkg.api.resource.Quantity": lambda raw: _text(dict(_fields(raw)).get(1, b"0")),
    f"{_META}.Duration": lambda raw: f"{_int(dict(_fields(raw)).get(1, 0)) / 1e9:g}s",
    f"{_META}.FieldsV1": _json,
    f"{_META}.MicroTime": _micro_time,
    f"{_META}.Time": _time,
    "k8s.io.apimachinery.pkg.runtime.RawExtension": _json,
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
}
