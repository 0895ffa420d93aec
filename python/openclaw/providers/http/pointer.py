"""JSON pointers (RFC 6901): where in an answer something is, and in a body something goes."""

from __future__ import annotations

from typing import Any

from openclaw.providers.errors import ExternalInvalid

__all__ = ["look_up", "put", "without"]


def look_up(document: Any, pointer: str) -> Any:
    """What is at `pointer`; None where nothing is."""
    found = document
    for step in _steps(pointer):
        if isinstance(found, dict):
            found = found.get(step)
        elif isinstance(found, list) and step.isascii() and step.isdigit() and int(step) < len(found):
            found = found[int(step)]
        else:
            return None
    return found


def put(document: dict[str, Any], pointer: str, value: Any) -> dict[str, Any]:
    """A copy of `document` with `value` at `pointer`; objects on the way are made.

    Raises:
        ExternalInvalid: something else than an object is on the way, or the pointer is of the whole.
    """
    steps = _steps(pointer)
    if not steps:
        raise ExternalInvalid("a pointer to the whole document is no place to put something")
    copy = here = dict(document)
    for step in steps[:-1]:
        inner = here.get(step, {})
        if not isinstance(inner, dict):
            raise ExternalInvalid(f"the body has no object at {pointer!r}: {step!r} is something else")
        here[step] = here = dict(inner)
    here[steps[-1]] = value
    return copy


def without(document: Any, pointer: str) -> Any:
    """A copy of `document` without what is at `pointer`."""
    steps = _steps(pointer)
    if not steps or not isinstance(document, dict) or steps[0] not in document:
        return document
    copy = dict(document)
    if len(steps) == 1:
        del copy[steps[0]]
    else:
        rest = "".join("/" + it.replace("~", "~0").replace("/", "~1") for it in steps[1:])
        copy[steps[0]] = without(copy[steps[0]], rest)
    return copy


def _steps(pointer: str) -> list[str]:
    if not pointer:
        return []
    if not pointer.startswith("/"):
        raise ExternalInvalid(f"{pointer!r} is no JSON pointer: it begins with '/', as /data/id")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]
