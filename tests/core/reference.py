"""What predicates and indexes mean, written down plainly: the Rust core is held against it.

It works on parsed objects and takes its time. Only what the API server can send is covered: no key twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

_STEP = re.compile(r"""\.?([^.\[\]@"]+)|\[\*\]|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|(@keys)$""")

Object = dict[str, Any]


def matters(predicate: Object, old: Object | None, new: Object) -> bool:
    """Whether an update from `old` to `new` matters; `old` is None for an object that is new or gone."""
    ((name, argument),) = predicate.items()
    match name:
        case "always":
            return True
        case "any":
            return any(matters(one, old, new) for one in argument)
        case "all":
            return all(matters(one, old, new) for one in argument)
        case "not":
            return not matters(argument, old, new)
        case "equals":
            path, wanted = argument
            present = [value for value in walk(path, new) if value is not None]
            return not present if wanted is None else any(equal(value, wanted) for value in present)
    if old is None:
        return True
    if name == "deletion":
        return part("deletion", None, old) is None and part("deletion", None, new) is not None
    return bool(part(name, argument, old) != part(name, argument, new))


def part(name: str, argument: Any, obj: Object) -> Any:  # noqa: PLR0911 (a table)
    """The part of an object that a predicate looks at; None when it is not there."""
    metadata = obj["metadata"]
    match name:
        case "generation" | "resourceVersion":
            return metadata.get(name)
        case "deletion":
            return metadata.get("deletionTimestamp")
        case "labels":
            return metadata.get("labels") or None
        case "annotations":
            return kept_annotations(obj) or None
        case "label":
            return (metadata.get("labels") or {}).get(argument)
        case "annotation":
            return (metadata.get("annotations") or {}).get(argument)
        case "finalizers":
            return metadata.get("finalizers") or None
        case "owners":
            return written(metadata.get("ownerReferences") or None)
        case "spec" | "status":
            return written(obj.get(name))
        case "changed":
            return [written(value) for value in walk(argument, obj) if value is not None]
        case "content":
            return content(obj)
    raise ValueError(name)


def written(value: Any) -> str:
    """A value as the server writes it; the order of members counts."""
    return json.dumps(value, ensure_ascii=False)


def kept_annotations(obj: Object) -> Object:
    """The annotations that are stored."""
    return {k: v for k, v in (obj["metadata"].get("annotations") or {}).items() if k != LAST_APPLIED}


def content(obj: Object) -> Object:
    """The stored form without what changes with every write. `managedFields` are not covered."""
    sections = {k: written(v) for k, v in obj.items() if k not in ("apiVersion", "kind", "metadata")}
    bookkeeping = ("resourceVersion", "generation", "managedFields", "annotations")
    metadata = {k: written(v) for k, v in obj["metadata"].items() if k not in bookkeeping}
    return {"sections": sections, "metadata": metadata, "annotations": kept_annotations(obj)}


def equal(left: Any, right: Any) -> bool:
    """Equality of JSON values, where 1 is 1.0 but not true."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    return bool(left == right)


def walk(path: str, obj: Object) -> Iterator[Any]:
    """Everything that a field path leads to."""
    yield from _walk(list(_steps(path)), obj)


def _steps(path: str) -> Iterator[str | int | bool | None]:
    """Keys as texts, items as numbers, None for each, True for the keys."""
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        assert match, path
        key, item, quoted, keys = match.groups()
        yield key or (int(item) if item else json.loads(quoted) if quoted else True if keys else None)
        at = match.end()


def _walk(steps: list[str | int | bool | None], value: Any) -> Iterator[Any]:
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    if step is True:
        if isinstance(value, dict):
            yield from value
    elif step is None:
        below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for one in below:
            yield from _walk(rest, one)
    elif isinstance(step, str):
        if isinstance(value, dict) and step in value:
            yield from _walk(rest, value[step])
    elif isinstance(value, list) and step < len(value):
        yield from _walk(rest, value[step])


def scalars(path: str, obj: Object) -> list[str]:
    """The values that an index holds of an object."""
    found = [value for value in walk(path, obj) if isinstance(value, str | int | float)]
    return [value if isinstance(value, str) else json.dumps(value) for value in found]


def slot_of(scope: str, obj: Object) -> int | None:
    """The slot of an object in a cache of this scope; None: it has none."""
    metadata = obj["metadata"]
    if scope == "roots":
        return _slot(metadata["uid"])
    controllers = [one for one in metadata.get("ownerReferences") or [] if one.get("controller") is True]
    if controllers and "uid" in controllers[0]:
        return _slot(controllers[0]["uid"])
    label = (metadata.get("labels") or {}).get("openclaw.dev/slot", "")
    return int(label) if label.isdecimal() and int(label) < 256 else None


def _slot(uid: str) -> int:
    """The top 8 bits of FNV-1a-64."""
    hashed = 0xCBF29CE484222325
    for byte in uid.encode():
        hashed = (hashed ^ byte) * 0x100000001B3 % 2**64
    return hashed >> 56
