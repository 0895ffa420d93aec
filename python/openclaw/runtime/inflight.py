"""Deltas that come while a write of ours is on its way.

The event of a write often overtakes its answer. It would run the root once more, to find nothing to do:
the run that made the write gets the same state in the answer. So deltas for that root are held until the
answer is there; what the answer covers is dropped, the rest is handed on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["InFlight", "Write"]

K = TypeVar("K")
D = TypeVar("D")


@dataclass(slots=True)
class Write:
    """A write under way.

    Attributes:
        settled: uids of the objects whose state the writer has seen as it is in the cache.
    """

    settled: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Held(Generic[D]):
    writers: int = 0
    deltas: list[tuple[str, D]] = field(default_factory=list)
    settled: set[str] = field(default_factory=set)


class InFlight(Generic[K, D]):
    """Holds deltas by key.

    Args:
        hand_on: called with each delta that was held and not covered by an answer.
    """

    def __init__(self, hand_on: Callable[[K, D], None]) -> None:
        self._hand_on = hand_on
        self._held: dict[K, _Held[D]] = {}

    @contextmanager
    def writing(self, key: K) -> Iterator[Write]:
        """Hold the deltas of `key` within the block; several writes for one key may overlap."""
        held = self._held.setdefault(key, _Held())
        held.writers += 1
        write = Write()
        try:
            yield write
        finally:
            held.settled |= write.settled
            held.writers -= 1
            if held.writers == 0:
                del self._held[key]
                for uid, delta in held.deltas:
                    if uid not in held.settled:
                        self._hand_on(key, delta)

    def hold(self, key: K, uid: str, delta: D) -> bool:
        """Keep the delta, caused by the object `uid`, for the end of the write; False when there is none."""
        held = self._held.get(key)
        if held is None:
            return False
        held.deltas.append((uid, delta))
        return True
