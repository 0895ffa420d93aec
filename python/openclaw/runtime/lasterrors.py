"""What the keys that fail failed for last, for people who look; bounded."""

from __future__ import annotations

from collections import OrderedDict
from datetime import UTC, datetime
from typing import Final, NamedTuple

from openclaw.runtime.queue import Key
from openclaw.telemetry.redact import redact_text

__all__ = ["LastError", "LastErrors"]

_KEPT: Final = 256
_TEXT_LIMIT: Final = 1024


class LastError(NamedTuple):
    """The last failure of a key."""

    at: datetime
    error: str
    error_class: str
    attempt: int


class LastErrors:
    """The last failure of each key that has not succeeded since; the latest 256 of them."""

    def __init__(self) -> None:
        self._errors: OrderedDict[Key, LastError] = OrderedDict()

    def note(self, key: Key, error: Exception, error_class: str, attempt: int) -> None:
        """A run of the key failed."""
        text = redact_text(f"{type(error).__name__}: {error}")[:_TEXT_LIMIT]
        self._errors[key] = LastError(datetime.now(UTC), text, error_class, attempt)
        self._errors.move_to_end(key)
        while len(self._errors) > _KEPT:
            self._errors.popitem(last=False)

    def forget(self, key: Key) -> None:
        """The key succeeded."""
        if self._errors:
            self._errors.pop(key, None)

    def latest_first(self) -> list[tuple[Key, LastError]]:
        """All of them."""
        return list(reversed(self._errors.items()))
