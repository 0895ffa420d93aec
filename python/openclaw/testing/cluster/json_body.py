"""Request bodies: JSON or YAML, and the fields that are in them twice."""

from __future__ import annotations

import json
from typing import Any

import orjson
import yaml

from openclaw.testing.cluster.statuses import bad_request


def read_body(body: bytes, *, is_yaml: bool | None = None) -> Any:
    """The parsed body. A body that is not plainly JSON is read as YAML, unless `is_yaml` is False.

    Raises ValueError.
    """
    if not is_yaml:
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError:
            if is_yaml is False or body.lstrip()[:1] in (b"{", b"["):
                raise
    try:
        return yaml.load(body, _Loader)  # noqa: S506  A safe loader.
    except yaml.YAMLError as error:
        message = f"error converting YAML to JSON: yaml: {error}"
        raise ValueError(message) from error


def duplicate_fields(body: bytes, parsed: Any) -> list[str]:
    """Paths of the fields that are in a JSON body more than once."""
    # The last of two is taken, so what was read is shorter than what was sent.
    if len(orjson.dumps(parsed)) == len(body):
        return []
    if b'"' not in body:
        return []
    try:
        tree = json.loads(body, object_pairs_hook=_Pairs)
    except ValueError:
        return []  # YAML; its loader refuses duplicates.
    found: list[str] = []
    _collect(tree, "", found)
    return found


_QUOTED = 30


class _Pairs(list[tuple[str, Any]]):
    """An object with all its fields."""


def _collect(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, below in value:
            here = f"{path}.{key}" if path else key
            if key in seen:
                found.append(here)
            seen.add(key)
            _collect(below, here, found)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            _collect(item, f"{path}[{at}]", found)


class _Loader(yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader):  # type: ignore[misc]
    """YAML as JSON has it: times stay text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}


def _no_duplicates(loader: Any, node: Any, deep: bool = False) -> dict[str, Any]:  # noqa: ARG001, FBT001, FBT002  PyYAML calls it so.
    loader.flatten_mapping(node)
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        key = json.dumps(key) if isinstance(key, bool | int | float) else str(key)
        if key in result:
            line = key_node.start_mark.line + 1
            message = f'line {line}: key "{key}" already set in map'
            raise yaml.YAMLError(message)
        result[key] = loader.construct_object(value_node, deep=True)
    return result


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _no_duplicates)


def merged_duplicates(body: bytes) -> dict[str, Any]:
    """The object in a JSON body whose fields are there twice, as Go reads it into a struct: objects merge."""
    merged: dict[str, Any] = _merged(json.loads(body, object_pairs_hook=_Pairs))
    return merged


def _merged(value: Any) -> Any:
    if isinstance(value, _Pairs):
        result: dict[str, Any] = {}
        for key, below in value:
            done = _merged(below)
            known = result.get(key)
            result[key] = {**known, **done} if isinstance(known, dict) and isinstance(done, dict) else done
        return result
    return [_merged(item) for item in value] if isinstance(value, list) else value


def shown_body(body: bytes) -> str:
    """The beginning of a body, as the server's messages quote it."""
    if not body:
        return "<empty>"
    if not body.startswith(b"{"):
        return body[:_QUOTED].hex() if len(body) <= _QUOTED else f"{body[:_QUOTED].hex()} ..."
    text = body.decode(errors="replace")
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]} ..."


def read_object(body: bytes, kind: str) -> dict[str, Any]:
    """The object in a body, which must be of this kind.

    Raises StatusError: 400.
    """
    try:
        obj = read_body(body)
    except ValueError as error:
        message = (
            f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; "
            f"json parse error: {error} ({shown_body(body)})"
        )
        raise bad_request(message) from None
    if not isinstance(obj, dict):
        message = (
            f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; "
            f"json parse error: json: cannot unmarshal into Go value ({shown_body(body)})"
        )
        raise bad_request(message)
    return obj
