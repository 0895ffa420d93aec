"""What happened in a run, in order, for people."""

from __future__ import annotations

from collections import deque
from typing import Final

__all__ = ["History"]

_KEPT: Final = 4000


class History:
    """The last few thousand things that happened; written out only when somebody reads it."""

    def __init__(self) -> None:
        self._lines: deque[tuple[float, str, str, tuple[object, ...]]] = deque(maxlen=_KEPT)
        self.count = 0

    def add(self, at: float, who: str, what: str, *parts: object) -> None:
        """At a moment somebody did something; `parts` are put into the text's `%s`."""
        self.count += 1
        self._lines.append((at, who, what, parts))

    def lines(self, last: int | None = None) -> list[str]:
        """Readable lines, oldest first; the last so many."""
        kept = list(self._lines) if last is None else list(self._lines)[-last:]
        return [f"{at:10.3f}  {who:<12}  {what % parts if parts else what}" for at, who, what, parts in kept]
