"""What runs have exercised."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

__all__ = ["Summary"]


@dataclass(slots=True)
class Summary:
    """Counts, which add up over runs.

    Attributes:
        faults: that took place, by kind.
        requests: of shards, by verb and resource.
        codes: answers to them, by code; 0 for none.
        reached: states and transitions that scenarios and invariants name.
        counts: of other things: runs, reconciles, simulated seconds, steps.
    """

    faults: Counter[str] = field(default_factory=Counter)
    requests: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    reached: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, other: Summary) -> None:
        """Add those of another."""
        for mine, theirs in zip(self._all(), other._all(), strict=True):
            mine.update(theirs)

    def _all(self) -> tuple[Counter[str], ...]:
        return self.faults, self.requests, self.codes, self.reached, self.counts

    def lines(self) -> list[str]:
        """For people."""
        counts = self.counts
        text = [
            (
                f"{counts['runs']:,} runs, {counts['simulated seconds'] / 3600:,.0f} simulated hours, "
                f"{counts['reconciles']:,} reconciles, {counts['requests']:,} requests, "
                f"{counts['steps']:,} steps"
            )
        ]
        for title, counter in (
            ("faults", self.faults),
            ("answers by code (0: none)", self.codes),
            ("reached", self.reached),
        ):
            if counter:
                parts = ", ".join(f"{name} {number:,}" for name, number in sorted(counter.items()))
                text.append(f"{title}: {parts}")
        return text
