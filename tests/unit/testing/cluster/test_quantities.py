"""Quantities: read, and in the form that the server stores."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.testing.cluster.quantity import canonical, format_quantity, parse_quantity


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("0.5", "500m"),
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("1000Ki", "1000Ki"),
        ("1000k", "1M"),
        ("1e3", "1e3"),
        ("12e5", "1200e3"),
        ("0", "0"),
        ("-0.5", "-500m"),
        ("0.0000000001", "1n"),
        ("+1", "1"),
    ],
)
def test_the_stored_form(given: str, stored: str) -> None:
    assert canonical(given) == stored


@pytest.mark.parametrize("text", ["", "a", "1.2.3", "1Kb", "1 Gi", "Mi"])
def test_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="quantities must match the regular expression"):
        parse_quantity(text)


@given(st.integers(-(10**18), 10**18), st.integers(0, 9))
def test_formatting_keeps_the_number(number: int, digits: int) -> None:
    value = Fraction(number, 10**digits)
    assert parse_quantity(format_quantity(value)) == value
