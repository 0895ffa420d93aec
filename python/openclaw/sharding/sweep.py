"""Leases that crashed shards have left behind, whose names nobody uses again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from openclaw.sharding.leases import LeaseRecord

__all__ = ["Sweep"]

_SILENT_SECONDS: Final = 3600.0


class Sweep:
    """Says which Leases have not changed for so long that they are only in the way.

    One that turns out to be in use after all is made anew by its shard, which lost its fence long ago.

    Args:
        seconds: how long one must not have changed, by the clock of whoever looks.
    """

    def __init__(self, seconds: float = _SILENT_SECONDS) -> None:
        self._seconds = seconds
        self._first: dict[str, tuple[str, float]] = {}

    def silent(self, leases: Iterable[LeaseRecord], now: float) -> list[LeaseRecord]:
        """Those to be removed, of all that there are."""
        seen = {}
        found = []
        for lease in leases:
            version, first = self._first.get(lease.shard, ("", now))
            seen[lease.shard] = (lease.version, first if version == lease.version else now)
            if now - seen[lease.shard][1] > self._seconds:
                found.append(lease)
        self._first = seen
        return found
