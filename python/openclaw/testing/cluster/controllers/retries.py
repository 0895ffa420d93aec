"""When a controller of the cluster tries again what was refused."""

from __future__ import annotations

from collections.abc import Hashable

__all__ = ["Retries"]

_FIRST_SECONDS = 0.1
_MOST_SECONDS = 30.0


class Retries:
    """Waits that double with each failure of a key."""

    def __init__(self) -> None:
        self._waits: dict[Hashable, float] = {}

    def next(self, key: Hashable) -> float:
        """Seconds until the next attempt."""
        wait = self._waits.get(key, _FIRST_SECONDS)
        self._waits[key] = min(2 * wait, _MOST_SECONDS)
        return wait

    def forget(self, key: Hashable) -> None:
        """It went well."""
        self._waits.pop(key, None)
