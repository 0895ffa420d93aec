"""Since when a shard acts on its slots, from whom it has them, and for how long nobody acted meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from openclaw._core import SlotSet

__all__ = ["Tenure", "Tenures"]


@dataclass(frozen=True, slots=True)
class Tenure:
    """How a shard came by a slot.

    Attributes:
        since: when it began to act on it, by its own clock.
        gap_seconds: how long it waited for that, once nobody else held the slot.
        former: the shard that acted on it before, where this one has seen it; else "".
    """

    since: datetime
    gap_seconds: float
    former: str = ""


class Tenures:
    """The tenures of a shard's slots."""

    def __init__(self) -> None:
        self._of: dict[int, Tenure] = {}
        self._last: dict[int, str] = {}
        self._seen: dict[str, SlotSet] = {}

    def saw(self, shard: str, acts: SlotSet) -> None:
        """Another shard publishes that it acts on these slots."""
        if self._seen.get(shard) != acts:
            self._seen[shard] = acts
            self._last.update(dict.fromkeys(acts, shard))

    def forget(self, shard: str) -> None:
        """Another shard is no more."""
        self._seen.pop(shard, None)

    def began(self, slots: Iterable[int], gap_seconds: float) -> None:
        """This shard acts on these slots from now on."""
        now = datetime.now(UTC)
        for slot in slots:
            self._of[slot] = Tenure(now, gap_seconds, self._last.get(slot, ""))

    def ceased(self, slots: Iterable[int]) -> None:
        """This shard acts on these slots no more."""
        for slot in slots:
            self._of.pop(slot, None)

    def encode(self) -> list[dict[str, Any]]:
        """As JSON values: slots that were begun together, together."""
        together: dict[Tenure, list[int]] = {}
        for slot, tenure in self._of.items():
            together.setdefault(tenure, []).append(slot)
        return [
            {
                "slots": str(SlotSet(slots)),
                "since": tenure.since.isoformat(timespec="milliseconds"),
                "gap": round(tenure.gap_seconds, 3),
                **({"from": tenure.former} if tenure.former else {}),
            }
            for tenure, slots in together.items()
        ]

    @staticmethod
    def decode(told: Iterable[Mapping[str, Any]]) -> dict[int, Tenure]:
        """From what `encode` gave.

        Raises:
            ValueError: it is none; KeyError and TypeError as well.
        """
        tenures = {}
        for item in told:
            since = datetime.fromisoformat(str(item["since"]))
            tenure = Tenure(since, float(item["gap"]), str(item.get("from", "")))
            tenures.update(dict.fromkeys(SlotSet.parse(str(item["slots"])), tenure))
        return tenures
