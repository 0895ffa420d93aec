"""`Quantity`: an amount with a unit, such as `500m` or `2Gi`."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Self

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_SPLIT = re.compile(r"([+-]?[0-9.]+)(.*)")
_SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}


class Quantity(str):
    """An amount as Kubernetes writes it, kept as it was written.

    The API takes it as a number or as text; two spellings of one amount are different text of equal `amount`.
    """

    __slots__ = ()

    @property
    def amount(self) -> Decimal:
        """The amount in its base unit: cores, bytes.

        Raises:
            ValueError: the text is no quantity.
        """
        if not re.fullmatch(_PATTERN, self):
            raise ValueError(f"{str(self)!r} is no quantity; write for example 500m, 1.5 or 2Gi")
        match = _SPLIT.fullmatch(self)
        assert match is not None  # noqa: S101 - the pattern above is stricter
        number, suffix = match.groups()
        if suffix in _SUFFIXES:
            return Decimal(number) * _SUFFIXES[suffix]
        return Decimal(f"{number}{suffix}")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        text = core_schema.str_schema(pattern=_PATTERN, coerce_numbers_to_str=True)
        return core_schema.no_info_after_validator_function(
            cls._of, text, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def _of(cls, text: str) -> Self:
        return cls(text)

    @classmethod
    def __structural_schema__(cls) -> dict[str, Any]:
        """The schema of `resource.Quantity`."""
        return {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": True,
            "pattern": _PATTERN,
        }
