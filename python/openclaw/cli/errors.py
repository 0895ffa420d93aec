"""Failures that a command reports in one line instead of a traceback."""

from __future__ import annotations

__all__ = ["CommandError"]


class CommandError(Exception):
    """What went wrong and what to do.

    Attributes:
        status: the exit status: 1, or 2 for wrong usage.
    """

    def __init__(self, message: str, *, status: int = 1) -> None:
        super().__init__(message)
        self.status = status
