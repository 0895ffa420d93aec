"""Quantities such as `500m`, `1.5Gi`: read, and written in the canonical form.

Rules: `k8s.io/apimachinery/pkg/api/resource`.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

PATTERN: Final = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
"""As the server's message has it."""

_QUANTITY: Final = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?\d+)?")
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL: Final = {"n": -3, "u": -2, "m": -1, "": 0, "k": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_SMALLEST: Final = 10**9
_KIBI: Final = 1024


def parse_quantity(text: str) -> Fraction:
    """The number. Raises ValueError, with the server's text."""
    value, _ = _parsed(text)
    return value


def canonical(text: str) -> str:
    """The quantity in the form that the server stores: `0.5` is `500m`, `1024Mi` is `1Gi`.

    Raises ValueError, with the server's text.
    """
    value, suffix = _parsed(text)
    if suffix in _BINARY and abs(value) >= _KIBI and value.denominator == 1:
        power = 0
        number = value.numerator
        while number % _KIBI == 0 and power < len(_BINARY) and number:
            number, power = number // _KIBI, power + 1
        return f"{number}{(['', *_BINARY])[power]}"
    if suffix[:1] in {"e", "E"} and len(suffix) > 1:
        return _exponential(value)
    return format_quantity(value)


def format_quantity(value: Fraction) -> str:
    """In decimal units."""
    if not value:
        return "0"
    sign = "-" if value < 0 else ""
    # Below a billionth it is rounded up, away from zero.
    scaled = -(-abs(value) * _SMALLEST // 1)
    number, power = int(scaled), -3
    while number % 1000 == 0 and power < 6:  # noqa: PLR2004  Thousands, up to E.
        number, power = number // 1000, power + 1
    suffix = next(it for it, known in _DECIMAL.items() if known == power)
    return f"{sign}{number}{suffix}"


def _parsed(text: str) -> tuple[Fraction, str]:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        message = f"quantities must match the regular expression '{PATTERN}'"
        raise ValueError(message)
    sign, digits, suffix = match[1], match[2], match[3] or ""
    value = Fraction(digits)
    if suffix in _BINARY:
        value *= _KIBI ** _BINARY[suffix]
    elif suffix in _DECIMAL:
        value *= Fraction(1000) ** _DECIMAL[suffix]
    else:
        value *= Fraction(10) ** int(suffix[1:])
    return (-value if sign == "-" else value), suffix


def _exponential(value: Fraction) -> str:
    number, power = value, 0
    while number and number % 1000 == 0:
        number, power = number / 1000, power + 3
    while number.denominator != 1:
        number, power = number * 1000, power - 3
    return f"{number.numerator}e{power}" if power else str(number.numerator)
