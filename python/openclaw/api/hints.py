"""What to write instead of a type that no CRD can express."""

from __future__ import annotations

import datetime as dt
import decimal
import types
import uuid
from typing import Any, Union, get_origin

_UNION = "The only union a CRD knows is `int | str`; write one optional field for each alternative"
_HINTS: dict[Any, str] = {
    dict: "Write dict[str, X], or dict[str, Any] with preserve_unknown=True",
    list: "Write list[X]",
    set: "Write list[X] with list_type='set'",
    frozenset: "Write list[X] with list_type='set'",
    tuple: "Write list[X]",
    bytes: "Write str with format='byte' (base64)",
    uuid.UUID: "Write str with format='uuid'",
    dt.datetime: "Write str with format='date-time'",
    dt.date: "Write str with format='date'",
    dt.timedelta: "Write str with format='duration'",
    decimal.Decimal: "Write Quantity",
    complex: "Write Quantity",
    Any: "Set preserve_unknown=True to accept any value",
    object: "Set preserve_unknown=True to accept any value",
    Union: _UNION,
    types.UnionType: _UNION,
}


def hint(annotation: Any) -> str:
    """One sentence on what to write instead."""
    origin = get_origin(annotation) or annotation
    try:
        return _HINTS[origin]
    except (KeyError, TypeError):
        return (
            "Use str, int, float, bool, Literal, Enum, list[X], dict[str, X], Quantity, a Model, `int | str`"
        )


def spelled(annotation: Any) -> str:
    """The annotation as a user would write it."""
    return (
        annotation.__name__
        if isinstance(annotation, type) and not get_origin(annotation)
        else str(annotation)
    )
