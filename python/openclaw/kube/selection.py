"""How the API server is asked for the objects of some slots only.

For roots there is the query parameter `shardSelector` (KEP-5866, feature gate `ShardedListAndWatch`); a
server without it ignores the parameter and sends everything. For children there is their slot label, which
every server knows.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote_plus

from openclaw._core import SlotSet

__all__ = ["SLOTS", "Select", "Selected", "by_label", "by_uid"]

SLOTS: Final = 256
"""How many slots there are."""

_LONGEST: Final = 7000
"""Characters of an encoded selector, so that the whole URL stays under the 8 KB of common proxies."""


@dataclass(frozen=True, slots=True)
class Selected:
    """What is added to a request.

    Attributes:
        query: query parameters.
        exact: whether they name the slots that were meant and no others; what else comes tells then that the
            server does not heed them.
    """

    query: dict[str, str] = field(default_factory=dict)
    exact: bool = False


Select = Callable[[frozenset[int]], Selected]
"""From slots to what a request for their objects says."""


def by_uid(slots: frozenset[int]) -> Selected:
    """Select objects by their own uid: for roots.

    Where the ranges of the slots are too many for a URL, those closest to each other are joined with what
    is between them: the objects there are dropped on arrival.
    """
    if len(slots) == SLOTS:
        return Selected()
    wanted = SlotSet(slots)
    while len(quote_plus(text := wanted.shard_selector(longest=sys.maxsize) or "")) > _LONGEST:
        wanted |= _narrowest_gap(wanted.runs())
    return Selected({"shardSelector": text}, exact=len(wanted) == len(slots))


def by_label(label: str) -> Select:
    """Select objects by the label that names their slot: for children."""

    def select(slots: frozenset[int]) -> Selected:
        if len(slots) == SLOTS:
            return Selected({"labelSelector": label})
        text = SlotSet(slots).label_selector(label) or f"{label} in ()"
        return Selected({"labelSelector": text}, exact=True)

    return select


def _narrowest_gap(runs: Sequence[tuple[int, int]]) -> SlotSet:
    """The slots between the two runs that are closest to each other."""
    last, first = min(
        ((one[1], other[0]) for one, other in itertools.pairwise(runs)), key=lambda gap: gap[1] - gap[0]
    )
    return SlotSet(range(last + 1, first))
