"""Whether the API server heeds the selector of slots: told by the foreign objects that come despite it.

No answer of the server says so: a custom resource's list has no acknowledgement, nor has any watch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

__all__ = ["ServerFilter"]


class ServerFilter:
    """Counts foreign objects in answers to requests that selected exactly the slots that are kept.

    Args:
        stats: the counters of the cache.
    """

    def __init__(self, stats: Callable[[], Mapping[str, int]]) -> None:
        self._stats = stats
        self._foreign: int | None = None
        self._watch_base: int | None = None
        self._changes = 0

    @property
    def foreign(self) -> int | None:
        """Foreign objects in such answers, since the last list of any object; None before there was one."""
        if self._watch_base is None or self._foreign is None:
            return self._foreign
        return self._foreign + self._stats()["events_foreign"] - self._watch_base

    def watch_begins(self, *, exact: bool) -> None:
        """A watch is opened; `exact` whether it selects exactly what is kept."""
        self._foreign = self.foreign
        self._watch_base = self._stats()["events_foreign"] if exact else None

    def slots_lost(self) -> None:
        """Slots are kept no longer: what comes of them now says nothing."""
        self._foreign = self.foreign
        self._watch_base = None
        self._changes += 1

    @contextmanager
    def listing(self, *, exact: bool) -> Iterator[None]:
        """A list is read; it says more than a watch: it has all objects, or all but the foreign ones."""
        before, changes = self._stats(), self._changes
        yield
        after = self._stats()
        if exact and changes == self._changes and after["objects_listed"] > before["objects_listed"]:
            self._foreign = after["objects_foreign"] - before["objects_foreign"]
            if self._watch_base is not None:
                self._watch_base = after["events_foreign"]
