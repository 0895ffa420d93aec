"""`${name}` in paths and bodies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from openclaw.providers.errors import ExternalInvalid

__all__ = ["expand_body", "expand_path"]

_PLACE: Final = re.compile(r"\$\{([^}]*)\}")


def expand_path(template: str, values: Mapping[str, str]) -> str:
    """A path and query in which each `${name}` is the value of that name, escaped: it stays one segment.

    Raises:
        ExternalInvalid: a name is unknown, or its value is empty or leads to another path.
    """

    def escaped(match: re.Match[str]) -> str:
        value = _value(match, template, values)
        if value in {"", ".", ".."}:
            raise ExternalInvalid(f"{template!r}: {match[0]} is {value!r}, which is no part of a path")
        return quote(value, safe="")

    return _PLACE.sub(escaped, template)


def expand_body(value: Any, values: Mapping[str, str]) -> Any:
    """A copy of `value` in whose texts each `${name}` is the value of that name. Keys stay as they are.

    Raises:
        ExternalInvalid: a name is unknown.
    """
    if isinstance(value, str):
        return _PLACE.sub(lambda match: _value(match, value, values), value)
    if isinstance(value, Mapping):
        return {key: expand_body(it, values) for key, it in value.items()}
    if isinstance(value, list):
        return [expand_body(it, values) for it in value]
    return value


def _value(match: re.Match[str], template: str, values: Mapping[str, str]) -> str:
    if (value := values.get(match[1])) is None:
        there = ", ".join(f"${{{name}}}" for name in values)
        raise ExternalInvalid(f"{template!r}: {match[0]} is unknown; there are {there}")
    return value
