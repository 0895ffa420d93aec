"""What goes wrong in a run: faults drawn from a seed, which can be printed, read again and cut short."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["KINDS", "SHARD_KINDS", "Plan", "PlannedFault", "draw_plan"]

KINDS: Final = {
    "crash": "a shard is killed, and comes back under its name",
    "crash-at-step": "the same, before a step that is counted, such as between a write and its answer",
    "pause": "a shard stands still, and goes on as if nothing had been",
    "partition": "a shard reaches the API server no more, and gets no answers",
    "restart": "a shard leaves in order, and comes back",
    "scale": "a shard leaves in order for good, or one more comes",
    "roll-out": "all shards are restarted in turn as the other version of the operator",
    "drift": "the clock of a shard runs up to 1 % fast or slow",
    "late-requests": "requests take up to 3 s to reach the API server, and answers up to 3 s back",
    "lost-requests": "connections break before requests reach the API server",
    "lost-answers": "requests have their effect, and their answers are lost",
    "hanging": "requests get no answer; some have their effect",
    "conflicts": "writes meet a conflict that is none",
    "throttling": "429 with Retry-After",
    "failures": "500, 503 and 504",
    "late-events": "watches lag behind, each by itself",
    "repeated-events": "watches tell the same twice",
    "broken-watches": "watches break in the middle; what was under way is lost",
    "forgotten-events": "watches break right before an event, and the past is forgotten before they are back",
    "ended-watches": "the API server ends watches in order",
    "compaction": "the past is forgotten, and watches have to list again",
    "lost-lease-writes": "writes of Leases do not arrive, or their answers do not",
    "late-controllers": "the cluster's own controllers stand still",
    "crash-at-request": "the shard that sends the request of this number is killed right after its effect",
    "stale-from-event": "watches are held back from the event of this number on",
    "missed-event": "the watch breaks right before the event of this number, and resumes",
    "forgotten-event": "the same, and the past is forgotten before it is back: it has to list",
}
"""Kinds of faults, and what they are. A system outside has its own: `external:NAME`."""

SHARD_KINDS: Final = frozenset(
    {"crash", "crash-at-step", "pause", "partition", "restart", "drift", "lost-lease-writes"}
)
"""Those that happen to one shard."""

_SYSTEMATIC: Final = frozenset({"crash-at-request", "stale-from-event", "missed-event", "forgotten-event"})
"""Not drawn: the seed of such a fault is the number of its request or event."""

_ONLY_SHARDED: Final = frozenset({"scale", "lost-lease-writes", "drift"})
_OUTSIDE: Final = "a fault of the system outside"
_HORIZON: Final = 150.0
_MOST: Final = 6


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """One fault.

    Attributes:
        kind: one of `KINDS`, or `external:NAME`.
        at: seconds of simulated time at which it begins.
        seconds: for how long.
        shard: the number of the shard that it happens to; -1 for those that happen to all.
        strength: how much of it: the share of requests that are hit, or what the kind makes of it; 0 to 1.
        seed: of what it draws while it goes on.
    """

    kind: str
    at: float
    seconds: float
    shard: int
    strength: float
    seed: int

    def __str__(self) -> str:
        whose = f"{self.shard}" if self.shard >= 0 else "-"
        return f"{self.kind},{self.at:g},{self.seconds:g},{whose},{self.strength:g},{self.seed}"


@dataclass(frozen=True, slots=True)
class Plan:
    """The faults of a run."""

    faults: Sequence[PlannedFault] = ()

    def __str__(self) -> str:
        return ";".join(map(str, self.faults)) or "none"

    @classmethod
    def parse(cls, text: str) -> Plan:
        """The plan that `str` wrote.

        Raises:
            ValueError: names the part that is none.
        """
        if text in {"", "none"}:
            return cls()
        faults = []
        for part in text.split(";"):
            try:
                kind, at, seconds, shard, strength, seed = part.split(",")
                number = -1 if shard == "-" else int(shard)
                fault = PlannedFault(kind, float(at), float(seconds), number, float(strength), int(seed))
            except ValueError:
                raise ValueError(f"{part!r} is no fault: KIND,AT,SECONDS,SHARD,STRENGTH,SEED") from None
            if kind not in KINDS and not kind.startswith("external:"):
                raise ValueError(f"{kind!r} is no kind of fault")
            faults.append(fault)
        return cls(faults)

    def without(self, dropped: Iterable[PlannedFault]) -> Plan:
        """The plan with these faults left out."""
        gone = set(dropped)
        return Plan([fault for fault in self.faults if fault not in gone])

    def describe(self) -> list[str]:
        """A line for each fault, for people."""
        return [
            f"{it.at:8.3f} s  {it.kind}{f' of shard {it.shard}' if it.shard >= 0 else ''} "
            f"for {it.seconds:.3g} s, strength {it.strength:.2g}: {KINDS.get(it.kind, _OUTSIDE)}"
            for it in self.faults
        ]


def draw_plan(
    chance: random.Random,
    shards: int,
    *,
    external: Sequence[str] = (),
    only: frozenset[str] | None = None,
) -> Plan:
    """A plan by lot; every eighth is one of a quiet day.

    Args:
        chance: the source.
        shards: how many there are; 0 for one operator that is not sharded.
        external: names of the faults of the system outside.
        only: kinds that may be drawn; None for all.
    """
    if chance.random() < 1 / 8:
        return Plan()
    kinds = [kind for kind in KINDS if kind not in _SYSTEMATIC and (shards or kind not in _ONLY_SHARDED)]
    # A system outside has its share, however many faults of its own it names.
    kinds += [f"external:{name}" for name in external]
    if only is not None:
        kinds = [kind for kind in kinds if kind in only]
    if not kinds:
        return Plan()
    faults = [_draw(chance, chance.choice(kinds), max(1, shards)) for _ in range(chance.randint(1, _MOST))]
    return Plan(sorted(faults, key=lambda fault: fault.at))


def _draw(chance: random.Random, kind: str, shards: int) -> PlannedFault:
    at = round(chance.choice((chance.uniform(0, 3), chance.uniform(0, 40), chance.uniform(0, _HORIZON))), 3)
    seconds = round(chance.choice((chance.uniform(0, 2), chance.uniform(0, 20), chance.uniform(10, 90))), 3)
    shard = chance.randrange(shards) if kind in SHARD_KINDS else -1
    strength = round(chance.choice((0.1, 0.3, chance.random(), 1.0)), 3)
    return PlannedFault(kind, at, seconds, shard, strength, chance.getrandbits(32))
