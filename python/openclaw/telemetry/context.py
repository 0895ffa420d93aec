"""The fields that every log record of a piece of work carries: which object, which run.

They live in a context variable, so they follow the work through awaits and into the tasks that it starts,
and reach records that other libraries write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

__all__ = ["bind", "current_fields", "log_context"]

_NONE: Mapping[str, Any] = MappingProxyType({})
_fields: ContextVar[Mapping[str, Any]] = ContextVar("openclaw_log_fields", default=_NONE)


def current_fields() -> Mapping[str, Any]:
    """The fields bound here, outermost first."""
    return _fields.get()


def bind(**fields: Any) -> None:
    """Add fields to every record of the current task from here on, and of the tasks that it starts."""
    _fields.set({**_fields.get(), **fields})


@contextmanager
def log_context(**fields: Any) -> Iterator[None]:
    """Add fields to every record within the `with` block; what was bound before is back after it."""
    token = _fields.set({**_fields.get(), **fields})
    try:
        yield
    finally:
        _fields.reset(token)
