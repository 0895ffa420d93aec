"""Where a list-watch puts the bytes that it reads: the part of `openclaw._core.Cache` that it needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

__all__ = ["Batch", "ListPage", "Sink"]


class Batch(Protocol):
    """What a sink says of a chunk: see `openclaw._core.Batch`."""

    @property
    def deltas(self) -> Sequence[tuple[int, str, str, str, str]]:
        """What matters to subscribers."""

    @property
    def resource_version(self) -> str | None:
        """The newest position that was seen; of a list, where the watch is to begin."""

    @property
    def error(self) -> bytes | None:
        """The `Status` of an ERROR event."""


class ListPage(Protocol):
    """What a sink says of a page of a list: see `openclaw._core.ListPage`."""

    @property
    def resource_version(self) -> str:
        """The position that the list stands for."""

    @property
    def continue_token(self) -> str:
        """How to ask for the next page; empty for the last one."""


class Sink(Protocol):
    """Where the bytes go: `openclaw._core.Cache`."""

    def feed(self, chunk: bytes) -> Batch:
        """Take bytes of a watch, cut anywhere."""

    def reset_stream(self) -> int:
        """A watch ended: forget a half line."""

    def begin_relist(self, slots: Iterable[int] | None = None) -> None:
        """Pages of a list follow: of these slots, or of everything."""

    def begin_gain(self, slots: Iterable[int]) -> None:
        """Pages of a list of slots that are not kept yet follow; the watch goes on."""

    def feed_list(self, page: bytes) -> ListPage:
        """Take one page of a list."""

    def commit_relist(self) -> Batch:
        """Swap the list in."""

    def abort_relist(self) -> None:
        """Forget the pages."""

    def drop(self, slots: Iterable[int]) -> None:
        """Forget slots and their objects."""

    @property
    def kept(self) -> frozenset[int]:
        """The slots whose objects are held."""

    def stats(self) -> Mapping[str, int]:
        """Counters by name."""
