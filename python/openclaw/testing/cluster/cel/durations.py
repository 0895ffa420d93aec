"""Durations as Go writes them: `1h30m`, `1.5s`."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

_UNITS: Final = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "μs": Fraction(1, 10**6),
    "ms": Fraction(1, 10**3),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
    "w": Fraction(604800),
}
_PART: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h|d|w)")


def seconds_of(text: str) -> Fraction:
    """The seconds of a duration. Raises ValueError."""
    body = text.lstrip("+-")
    if body == "0":
        return Fraction(0)
    parts = _PART.findall(body)
    if not parts or "".join(number + unit for number, unit in parts) != body:
        message = f"invalid duration {text!r}"
        raise ValueError(message)
    total = sum((Fraction(number) * _UNITS[unit] for number, unit in parts), Fraction(0))
    return -total if text.startswith("-") else total
