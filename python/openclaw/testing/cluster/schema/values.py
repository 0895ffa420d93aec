"""Rules about one value: types, bounds, patterns, formats. The texts are kube-openapi's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from openclaw.testing.cluster.schema.formats import FORMATS
from openclaw.testing.cluster.statuses import Cause

NO_FIELD: Final = "<nil>"
"""How the server names the field of an error that it has no path for."""

_INT32: Final = range(-(2**31), 2**31)
_INT64: Final = range(-(2**63), 2**63)


def shown(value: Any) -> str:
    """A value as error messages show it: JSON, with Go's types for what is no scalar."""
    if isinstance(value, dict | list):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False)


def type_of(value: Any) -> str:
    """The name of a value's JSON type."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def of_type(value: Any, wanted: str) -> bool:
    """Whether a value has that type; a whole number is a number, too."""
    actual = type_of(value)
    return actual == wanted or (wanted == "number" and actual == "integer")


def wrong_type(field: str, wanted: str, value: Any) -> Cause:
    """A value of another type than the schema's."""
    actual = type_of(value)
    detail = f'{field} in body must be of type {wanted}: "{actual}"'
    return Cause.of("FieldValueTypeInvalid", field or NO_FIELD, detail, f'"{actual}"')


def check_scalar(raw: Mapping[str, Any], value: Any, field: str, causes: list[Cause]) -> None:
    """Hold a string or a number against the keywords of its schema."""
    if isinstance(value, str):
        _string(raw, value, field, causes)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _number(raw, value, field, causes)
    check_enum(raw, value, field, causes)


def check_enum(raw: Mapping[str, Any], value: Any, field: str, causes: list[Cause]) -> None:
    """Hold a value against `enum`."""
    allowed = raw.get("enum")
    if allowed is not None and value not in allowed:
        listed = ", ".join(shown(one) for one in allowed)
        causes.append(Cause.of("FieldValueNotSupported", field, f"supported values: {listed}", shown(value)))


def check_count(
    raw: Mapping[str, Any], value: Any, field: str, causes: list[Cause], *, noun: str, least: str, most: str
) -> None:
    """Hold the number of items (or properties) against its bounds."""
    count = len(value)
    if (maximum := raw.get(most)) is not None and count > maximum:
        causes.append(Cause.of("FieldValueTooMany", field, f"must have at most {maximum} items", str(count)))
    if (minimum := raw.get(least)) is not None and count < minimum:
        detail = f"{field} in body should have at least {minimum} {noun}"
        causes.append(Cause.of("FieldValueInvalid", field, detail, str(count)))


def _string(raw: Mapping[str, Any], value: str, field: str, causes: list[Cause]) -> None:
    if (maximum := raw.get("maxLength")) is not None and len(value) > maximum:
        causes.append(Cause.of("FieldValueTooLong", field, f"may not be more than {maximum} bytes"))
    elif (minimum := raw.get("minLength")) is not None and len(value) < minimum:
        detail = f"{field} in body should be at least {minimum} chars long"
        causes.append(Cause.of("FieldValueInvalid", field, detail, shown(value)))
    elif (pattern := raw.get("pattern")) and not go_pattern(pattern).search(value):
        detail = f"{field} in body should match '{pattern}'"
        causes.append(Cause.of("FieldValueInvalid", field, detail, shown(value)))
    check: Callable[[str], bool] | None = FORMATS.get(raw.get("format", ""))
    if check is not None and not check(value):
        detail = f"{field} in body must be of type {raw['format']}: {shown(value)}"
        causes.append(Cause.of("FieldValueTypeInvalid", field, detail, shown(value)))


def _number(raw: Mapping[str, Any], value: float, field: str, causes: list[Cause]) -> None:
    def fail(rule: str) -> None:
        detail = f"{field} in body should be {rule}"
        causes.append(Cause.of("FieldValueInvalid", field, detail, shown(value)))

    bounds = {"int32": _INT32, "int64": _INT64}.get(raw.get("format", ""))
    if bounds is not None and isinstance(value, int) and value not in bounds:
        detail = f"Checked value must be of type integer with format {raw['format']} in {field}"
        causes.append(Cause.of("FieldValueInvalid", NO_FIELD, detail, '""'))
    multiple = raw.get("multipleOf")
    if multiple and value % multiple:
        fail(f"a multiple of {number(multiple)}")
    if (maximum := raw.get("maximum")) is not None:
        if raw.get("exclusiveMaximum") and value >= maximum:
            fail(f"less than {number(maximum)}")
        elif value > maximum:
            fail(f"less than or equal to {number(maximum)}")
    if (minimum := raw.get("minimum")) is not None:
        if raw.get("exclusiveMinimum") and value <= minimum:
            fail(f"greater than {number(minimum)}")
        elif value < minimum:
            fail(f"greater than or equal to {number(minimum)}")


def number(value: float) -> str:
    """A bound as Go shows it."""
    return str(int(value)) if float(value).is_integer() else str(value)


@lru_cache(maxsize=4096)
def go_pattern(pattern: str) -> re.Pattern[str]:
    r"""A regular expression of Go (RE2) as one of Python.

    Both have what schemas use; `\z` and the classes by name (`[[:alpha:]]`) are rewritten.
    """
    rewritten = pattern.replace(r"\z", r"\Z")
    for name, members in _CLASSES.items():
        rewritten = rewritten.replace(f"[:{name}:]", members)
    # In Go `$` is the end of the text; in Python also the place before a final newline.
    rewritten = _END.sub(r"\1\\Z", rewritten) if "$" in rewritten else rewritten
    return re.compile(rewritten)


_END: Final = re.compile(r"((?:^|[^\\\[])(?:\\\\)*)\$(?![^\[\]]*\])")
_CLASSES: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "space": r"\s",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}
