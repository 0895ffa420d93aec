"""Deltas that come while a write of ours is on its way.

The event of a write often overtakes its answer. It would run the root once more, to find nothing to do:
the run that made the write gets the same state in the answer. So deltas for that root are held until the
answer is there; the event of the write itself is dropped then, the rest is handed on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["InFlight", "Write"]

K = TypeVar("K")
D = TypeVar("D")


@dataclass(slots=True, eq=False)
class Write:
    """A write under way.

    Attributes:
        version: the resourceVersion at which the object is known now, or None.
        answer: uid and resourceVersion of the answer, once it is there.
    """

    version: Callable[[], str | None]
    answer: tuple[str, str] | None = None


@dataclass(slots=True)
class _Held(Generic[D]):
    """A delta, the object that caused it, and at which version each written object was known by then."""

    uid: str
    delta: D
    versions: dict[Write, str | None]


@dataclass(slots=True)
class _Root(Generic[D]):
    writes: list[Write] = field(default_factory=list)
    held: list[_Held[D]] = field(default_factory=list)


class InFlight(Generic[K, D]):
    """Holds deltas by key.

    Args:
        hand_on: called with each delta that was held and is not the event of the write itself.
    """

    def __init__(self, hand_on: Callable[[K, D], None]) -> None:
        self._hand_on = hand_on
        self._roots: dict[K, _Root[D]] = {}

    @contextmanager
    def writing(self, key: K, version: Callable[[], str | None]) -> Iterator[Write]:
        """Hold the deltas of `key` within the block; several writes for one key may overlap.

        Args:
            key: the root.
            version: see `Write`.
        """
        root = self._roots.setdefault(key, _Root())
        write = Write(version)
        root.writes.append(write)
        try:
            yield write
        finally:
            root.writes.remove(write)
            if write.answer is not None:
                root.held = [it for it in root.held if (it.uid, it.versions.get(write)) != write.answer]
            if not root.writes:
                del self._roots[key]
                for item in root.held:
                    self._hand_on(key, item.delta)

    def hold(self, key: K, uid: str, delta: D) -> bool:
        """Keep the delta, caused by the object `uid`, for the end of the write; False when there is none."""
        root = self._roots.get(key)
        if root is None:
            return False
        root.held.append(_Held(uid, delta, {write: write.version() for write in root.writes}))
        return True
