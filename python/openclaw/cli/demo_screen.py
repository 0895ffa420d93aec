"""What the demo shows: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import deque
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

__all__ = ["Row", "Screen"]

_EVENTS_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Row:
    """One OpenClaw object as the table shows it."""

    name: str
    generation: str
    frontend: str
    worker: str
    endpoint: str
    available: str
    progressing: str
    degraded: str

    @classmethod
    def of(cls, claw: dict[str, Any]) -> Row:
        """The row of an object as the API server has it."""
        spec, status = claw["spec"], claw.get("status") or {}
        conditions = {item["type"]: item["status"] for item in status.get("conditions") or ()}
        metadata = claw["metadata"]
        name = f"{metadata['namespace']}/{metadata['name']}"
        seen, now = status.get("observedGeneration", 0), metadata["generation"]
        return cls(
            name=name,
            generation=f"{seen} of {now}",
            frontend=f"{status.get('frontendReadyReplicas', 0)}/{spec['frontend']['replicas']}",
            worker=f"{status.get('workerReadyReplicas', 0)}/{spec['worker']['replicas']}",
            endpoint=status.get("externalEndpoint", "-"),
            available=conditions.get("Available", "-"),
            progressing=conditions.get("Progressing", "-"),
            degraded=conditions.get("Degraded", "-"),
        )


_GOOD = {"available": "True", "progressing": "False", "degraded": "False"}


class Screen(AbstractContextManager["Screen"]):
    """Steps, the table of objects, and the latest events."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        self._live: Live | None = None
        self._rows: dict[str, Row] = {}
        self._events: deque[str] = deque(maxlen=_EVENTS_SHOWN)
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

    def show(self, claws: list[dict[str, Any]]) -> None:
        """Show the objects; on a plain output each row that changed."""
        rows = {row.name: row for row in sorted(map(Row.of, claws), key=lambda row: row.name)}
        if self._live is None:
            for name, row in rows.items():
                if self._rows.get(name) != row:
                    self.note(
                        f"{name}: frontend {row.frontend} worker {row.worker} endpoint {row.endpoint} "
                        f"available {row.available} progressing {row.progressing} degraded {row.degraded} "
                        f"(generation {row.generation})"
                    )
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

    def _refresh(self) -> None:
        if self._live is not None:
            self._live.update(
                Group(self._table(), *(Text(f"  {line}", style="dim") for line in self._events))
            )

    def _table(self) -> Table:
        table = Table(title="kubectl get openclaws -A", title_justify="left", expand=False)
        for heading in ("NAME", "SPEC SEEN", "FRONTEND", "WORKER", "ENDPOINT"):
            table.add_column(heading)
        for heading in _GOOD:
            table.add_column(heading.upper())
        for row in self._rows.values():
            states = [
                Text(value, style="green" if value == good else "yellow" if value == "-" else "red")
                for value, good in ((getattr(row, name), good) for name, good in _GOOD.items())
            ]
            table.add_row(row.name, row.generation, row.frontend, row.worker, row.endpoint, *states)
        return table
