"""What the shards' logs say of hand-overs: which slots one ceased to act on, and another began to, and when.

All run on one machine, so their clocks are one; the logs have milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from openclaw._core import SlotSet

_GAINED: Final = "slots gained"
_RELEASED: Final = "slots released"


class Move(NamedTuple):
    """Slots that a shard began or ceased to act on.

    `at` is in seconds since 1970: when the first run could begin, or when the last one could.
    `drain` is how long runs in flight took to end after that, `claim` is what the shard itself took for the
    time in which nobody acted.
    """

    shard: str
    at: float
    gained: bool
    slots: frozenset[int]
    drain: float = 0.0
    claim: float = 0.0


def moves(shard: str, lines: Iterable[bytes]) -> Iterator[Move]:
    """The moves in a shard's log, which is JSON lines."""
    for line in lines:
        if not line.startswith(b"{"):
            continue
        entry: dict[str, Any] = orjson.loads(line)
        message = entry.get("message")
        if message not in {_GAINED, _RELEASED}:
            continue
        at = datetime.fromisoformat(entry["time"]).timestamp()
        slots = frozenset(SlotSet.parse(entry["slots"]))
        if message == _GAINED:
            yield Move(shard, at, True, slots, claim=entry["claim_seconds"])
        else:
            drain = entry["drain_seconds"]
            yield Move(shard, at - drain, False, slots, drain=drain)


class Journal:
    """Reads what a shard appends to its log."""

    def __init__(self, shard: str, log: Path) -> None:
        self._shard = shard
        self._log = log
        self._offset = 0

    def take(self) -> list[Move]:
        """The moves since the last look."""
        if not self._log.exists():
            return []
        with self._log.open("rb") as file:
            file.seek(self._offset)
            text = file.read()
        complete = text[: text.rfind(b"\n") + 1]
        self._offset += len(complete)
        return list(moves(self._shard, complete.splitlines()))


def acting(told: Iterable[Move]) -> dict[str, frozenset[int]]:
    """The slots that each shard acts on after these moves."""
    held: dict[str, frozenset[int]] = {}
    for move in sorted(told, key=lambda it: it.at):
        before = held.get(move.shard, frozenset())
        held[move.shard] = before | move.slots if move.gained else before - move.slots
    return held


def gaps(told: Iterable[Move]) -> list[float]:
    """For how many seconds nobody began a run of a slot, for each slot that went from one shard to another.

    Runs that were in flight when the slots were asked for end within that time.
    """
    ceased: dict[int, float] = {}
    found = []
    for move in sorted(told, key=lambda it: it.at):
        for slot in move.slots:
            if not move.gained:
                ceased[slot] = move.at
            elif slot in ceased:
                found.append(move.at - ceased.pop(slot))
    return found
