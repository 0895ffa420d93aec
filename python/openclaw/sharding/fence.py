"""The fence: the moment until which a shard may act, by its own clock, and the slots that it may act on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

__all__ = ["Fence", "LostFence", "boot_clock"]

_slot: ContextVar[int | None] = ContextVar("openclaw_slot", default=None)
_term: ContextVar[int | None] = ContextVar("openclaw_term", default=None)


def boot_clock() -> float:
    """Seconds of a clock that nobody sets and that goes on while the machine sleeps, where there is one.

    A fence by a clock that stands still in a suspended machine would still be up when it wakes.
    """
    clock: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


class LostFence(Exception):
    """The shard may not act (any more): its Lease was not renewed in time, or the slot is another's."""


class Fence:
    """Asked before every write, to Kubernetes or outside.

    Args:
        shard: the name of the shard.
        clock: seconds; that of `extend`.

    Attributes:
        ring: the id of the ring that the shard follows; for traces.
        acting: the slots that the shard acts on.
        term: counts how often it went down: a run of an earlier term writes nothing in a later one.
    """

    def __init__(self, shard: str, clock: Callable[[], float] = boot_clock) -> None:
        self.shard = shard
        self.ring = ""
        self._clock: Final = clock
        self._until = float("-inf")
        self._why = "this shard holds no Lease yet"
        self.acting: frozenset[int] = frozenset()
        self._draining: frozenset[int] = frozenset()
        self.term = 0

    @contextmanager
    def acting_on(self, slot: int) -> Iterator[None]:
        """Say for which slot this task, and those that it starts, are about to write."""
        tokens = _slot.set(slot), _term.set(self.term)
        try:
            yield
        finally:
            _slot.reset(tokens[0])
            _term.reset(tokens[1])

    @property
    def until(self) -> float:
        """Until when it is up, by its clock."""
        return self._until

    @property
    def remaining(self) -> float:
        """Seconds that the fence is still up; negative when it is down."""
        return self._until - self._clock()

    def extend(self, until: float) -> None:
        """The Lease was renewed: act until this moment of the clock."""
        self._until = until
        self._why = "the Lease of this shard was not renewed in time"

    def lose(self, why: str) -> None:
        """Act on nothing from now on."""
        self._until = float("-inf")
        self._why = why
        self.acting = self._draining = frozenset()
        self.term += 1

    def start(self, slots: frozenset[int]) -> None:
        """Act on these slots too."""
        self.acting |= slots

    def drain(self, slots: frozenset[int]) -> None:
        """Begin no more runs of these slots; those under way may still write, until `stop`."""
        self._draining |= slots

    def stop(self, slots: frozenset[int]) -> None:
        """Act on these slots no more."""
        self.acting -= slots
        self._draining -= slots

    def begins(self, slot: int) -> bool:
        """Whether a run for this slot may begin."""
        return slot in self.acting and slot not in self._draining

    def check(self) -> float:
        """Raise unless the shard may write now, for the slot that this task acts on, if it acts on one.

        Returns:
            The seconds that it may take: what is sent later may meet the writes of another shard.

        Raises:
            LostFence: says why.
        """
        remaining = self.remaining
        if remaining <= 0:
            raise LostFence(f"nothing is written: {self._why}")
        slot = _slot.get()
        if slot is not None and (slot not in self.acting or _term.get() != self.term):
            raise LostFence(f"nothing is written: slot {slot} is not this shard's (any more)")
        return remaining
