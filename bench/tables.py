"""Markdown: tables, cells that show the spread, and the verdict on what must hold."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """Least, middle and most of some rounds."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """The spread of values; raises ValueError when there is none."""
        found = sorted(values)
        if not found:
            raise ValueError("a spread of nothing")
        return cls(found[0], statistics.median(found), found[-1])

    def scaled(self, factor: float) -> Spread:
        """The same in another unit."""
        return Spread(self.low * factor, self.median * factor, self.high * factor)

    def text(self, digits: int = 1) -> str:
        """`min / **median** / max`, or the one value."""
        if self.low == self.high:
            return f"{self.median:,.{digits}f}"
        return f"{self.low:,.{digits}f} / **{self.median:,.{digits}f}** / {self.high:,.{digits}f}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are numbers."""
    lines = [_row(head), _row([":--", *["--:"] * (len(head) - 1)])]
    return "\n".join([*lines, *(_row(row) for row in rows)]) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A target: what was measured, and what must hold.

    Attributes:
        what: the target, in words.
        value: what was measured.
        limit: what it is held against.
        at_least: whether the value must reach the limit, rather than stay below it.
        must: False for an aim that goes beyond the target.
    """

    what: str
    value: float
    limit: float
    unit: str = ""
    at_least: bool = False
    must: bool = True

    @property
    def met(self) -> bool:
        """Whether it holds."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def cells(self) -> list[str]:
        """The target as a row of a table."""
        sign = "≥" if self.at_least else "≤"
        digits = 0 if self.limit >= 1000 else 3 if self.limit < 1 else 2
        verdict = "met" if self.met else f"**missed**, {self._factor():.2f} times"
        measured = f"{self.value:,.{digits}f}{self.unit}"
        limit = f"{'' if self.must else 'aim '}{sign} {self.limit:,.{digits}f}{self.unit}"
        return [self.what, measured, limit, verdict]

    def _factor(self) -> float:
        small, large = sorted((self.value, self.limit))
        return large / small if small else float("inf")


def verdicts(found: Iterable[Verdict]) -> str:
    """A table of targets."""
    return table(["target", "measured", "must hold", "verdict"], [verdict.cells() for verdict in found])
