"""What the demo shows: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import deque
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

__all__ = ["Cell", "Row", "Screen", "View"]

_EVENTS_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a row; `good` colours it, None does not."""

    text: str
    good: bool | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One object as the table shows it.

    Attributes:
        name: namespace and name.
        cells: under the view's headings.
        line: the same for a plain output.
    """

    name: str
    cells: tuple[Cell, ...]
    line: str


class View(Protocol):
    """What the table shows of objects of one kind."""

    title: str
    headings: tuple[str, ...]

    def row(self, item: dict[str, Any]) -> Row:
        """The row of an object as the API server has it."""


class Screen(AbstractContextManager["Screen"]):
    """Steps, the table of objects, and the latest events.

    Args:
        view: makes the rows of the table.
        console: where it is shown; standard output by default.
    """

    def __init__(self, view: View, console: Console | None = None) -> None:
        self._view = view
        self._console = console or Console(highlight=False)
        self._live: Live | None = None
        self._rows: dict[str, Row] = {}
        self._events: deque[str] = deque(maxlen=_EVENTS_SHOWN)
        self._below = ""
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = Live(console=self._console, refresh_per_second=8, transient=False)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def step(self, text: str) -> None:
        """Say what is being done."""
        self._say(Text(f"[{time.monotonic() - self._began:6.1f}s] {text}", style="bold"))

    def note(self, text: str) -> None:
        """Say a detail of the step."""
        self._say(Text(f"          {text}"))

    def _say(self, text: Text) -> None:
        # A line stays a line where nobody sees it on a terminal.
        self._console.print(text, soft_wrap=not self._console.is_terminal)

    def show(self, items: list[dict[str, Any]]) -> None:
        """Show the objects; on a plain output each row that changed."""
        rows = {row.name: row for row in sorted(map(self._view.row, items), key=lambda row: row.name)}
        if self._live is None:
            for name, row in rows.items():
                if self._rows.get(name) != row:
                    self.note(f"{name}: {row.line}")
            for name in self._rows.keys() - rows.keys():
                self.note(f"{name}: gone")
        self._rows = rows
        self._refresh()

    def event(self, text: str) -> None:
        """Show an Event."""
        self._events.append(text)
        if self._live is None:
            self.note(f"event: {text}")
        self._refresh()

    def below(self, text: str) -> None:
        """Keep lines below the table up to date; a plain output does not show them."""
        self._below = text
        self._refresh()

    def _refresh(self) -> None:
        if self._live is not None:
            events = (Text(f"  {line}", style="dim") for line in self._events)
            below = [Text(f"\n{self._below}\n")] if self._below else []
            self._live.update(Group(self._table(), *below, *events))

    def _table(self) -> Table:
        table = Table(title=self._view.title, title_justify="left", expand=False)
        for heading in ("NAME", *self._view.headings):
            table.add_column(heading)
        for row in self._rows.values():
            table.add_row(row.name, *map(_text, row.cells))
        return table


def _text(cell: Cell) -> Text:
    if cell.good is None:
        return Text(cell.text)
    return Text(cell.text, style="green" if cell.good else "yellow" if cell.text == "-" else "red")
