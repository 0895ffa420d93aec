r"""The little of JSONPath that printer columns, selectable fields and scale subresources are written in.

Follows `k8s.io/client-go/util/jsonpath` for `.a.b`, `.a[0]`, `.a[*]`, `.a['b.c']`, `.a\.b` and
`.a[?(@.b=="c")].d`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final

__all__ = ["find", "first", "put"]

Step = Callable[[Any], Iterable[Any]]

_STEP: Final = re.compile(
    r"""\.?\[\?\(\s*@(?P<where>[^=!<>\s]*)\s*(?P<is>==|!=)\s*(?P<what>"[^"]*"|'[^']*'|[^)\s]+)\s*\)\]
      | \.?\[\s*(?P<index>-?\d+|\*)\s*\]
      | \.?\[\s*['"](?P<quoted>[^'"]+)['"]\s*\]
      | \.(?P<name>(?:\\.|[^.\[\\])+)
      | (?P<dot>\.)$""",
    re.VERBOSE,
)


def find(path: str, obj: Any) -> list[Any]:
    """All values at a path; none where there is nothing, or where the path cannot be read."""
    found = [obj]
    for step in _compiled(path):
        found = [below for value in found for below in step(value)]
    return found


def first(path: str, obj: Any) -> Any:
    """The first value at a path; None where there is none."""
    found = find(path, obj)
    return found[0] if found else None


def put(path: str, obj: dict[str, Any], value: Any) -> dict[str, Any]:
    """A copy of an object with another value at a path of plain names, such as `.spec.replicas`."""
    name, *rest = path.strip(".").split(".")
    if not rest:
        return {**obj, name: value}
    below = obj.get(name)
    return {**obj, name: put(".".join(rest), below if isinstance(below, dict) else {}, value)}


@lru_cache(maxsize=1024)
def _compiled(path: str) -> tuple[Step, ...]:
    text = path.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    text = text.removeprefix("$")
    if text and text[0] not in ".[":
        text = f".{text}"
    steps: list[Step] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            return (lambda _: (),)
        at = match.end()
        step = _step(match)
        if step is not None:
            steps.append(step)
    return tuple(steps)


def _step(match: re.Match[str]) -> Step | None:
    if match["where"] is not None or match["is"]:
        wanted = match["what"].strip("\"'")
        where, equal = match["where"] or "", match["is"] == "=="
        return lambda value: (
            [item for item in value if (_text(first(where, item)) == wanted) is equal]
            if isinstance(value, list)
            else ()
        )
    if match["index"] == "*":
        return _all_below
    if match["index"] is not None:
        index = int(match["index"])
        return lambda value: (
            value[index : index + 1 or None] if isinstance(value, list) and -len(value) <= index else ()
        )
    name = match["quoted"] or match["name"]
    if name is None:
        return None
    key = re.sub(r"\\(.)", r"\1", name)
    if key == "*":
        return _all_below
    return lambda value: (value[key],) if isinstance(value, dict) and key in value else ()


def _all_below(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
