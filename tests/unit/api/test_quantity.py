"""Amounts with units."""

from decimal import Decimal

import pytest
from pydantic import ValidationError

from openclaw.api import Model, Quantity


class Holder(Model):
    size: Quantity


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1", "1"),
        ("0.5", "0.5"),
        (".5", "0.5"),
        ("500m", "0.5"),
        ("-3n", "-3e-9"),
        ("7u", "7e-6"),
        ("2k", "2000"),
        ("2Ki", "2048"),
        ("1.5Gi", "1610612736"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("1E", "1e18"),
        ("12Ei", str(12 * 2**60)),
    ],
)
def test_amount(text: str, amount: str) -> None:
    size = Holder.model_validate({"size": text}).size
    assert size.amount == Decimal(amount)
    assert Holder(size=size).to_dict() == {"size": text}


def test_a_number_is_taken_as_text() -> None:
    assert Holder.model_validate({"size": 3}).to_dict() == {"size": "3"}
    assert isinstance(Holder.model_validate_json('{"size": 3}').size, Quantity)


@pytest.mark.parametrize("text", ["", "Gi", "1 Gi", "1GiB", "1K", "one", "1\n"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        Holder.model_validate({"size": text})
    with pytest.raises(ValueError, match=r"write for example 500m"):
        _ = Quantity(text).amount
