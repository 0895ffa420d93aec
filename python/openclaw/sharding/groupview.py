"""What a shard knows of its group, for metrics and readiness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from openclaw._core import Handover, Report
from openclaw.sharding.fence import Fence
from openclaw.sharding.neighbours import Neighbours
from openclaw.sharding.options import ShardOptions
from openclaw.telemetry.shards import Standing

__all__ = ["GroupView"]

_REPORT_SECONDS: Final = 0.5


class GroupView:
    """See the module.

    Args:
        machine: the hand-over, which knows it.
        fence: of the shard.
        options: of the shard.
        neighbours: what the others say.
        clock: seconds; the fence's.
    """

    def __init__(
        self,
        machine: Handover,
        fence: Fence,
        options: ShardOptions,
        neighbours: Neighbours,
        clock: Callable[[], float],
    ) -> None:
        self._neighbours = neighbours
        self._machine = machine
        self._fence = fence
        self._options = options
        self._clock = clock
        self._reported_at = float("-inf")
        self._report: Report | None = None
        self._disagrees_since: float | None = None

    def report(self) -> Report:
        """All of it, at most half a second old."""
        now = self._clock()
        if self._report is None or now - self._reported_at > _REPORT_SECONDS:
            self._report, self._reported_at = self._machine.report(), now
        return self._report

    def standing(self) -> Standing:
        """For the metrics."""
        report, ring = self.report(), self._machine.ring
        return Standing(
            shards=len(ring.names),
            own=len(ring.share(self._options.name)),
            acting=len(self._machine.acting),
            unowned=report.unowned,
            contested=report.contested,
            fence_seconds=self._fence.remaining,
            different=len(self._neighbours.different(ring.names)),
        )

    def unready(self) -> str | None:
        """Why the shard does not do its share, or does not agree with the others; None when all is well."""
        report = self.report()
        if report.problems:
            return report.problems[0]
        if self._fence.remaining <= 0:
            return "its Lease is not renewed: it acts on nothing"
        missing = self._machine.ring.share(self._options.name) - self._machine.acting
        if missing:
            return f"{len(missing)} slots of its share are not acted on yet"
        return self._disagreement(report)

    def _disagreement(self, report: Report) -> str | None:
        """The shards that follow another ring, once they have done so for longer than a renewal takes."""
        others = [
            it.name for it in report.shards if it.live and not it.void and it.ring not in ("", report.ring)
        ]
        if not others:
            self._disagrees_since = None
            return None
        now = self._clock()
        if self._disagrees_since is None:
            self._disagrees_since = now
        if now - self._disagrees_since < self._options.lease_seconds:
            return None
        return f"{', '.join(sorted(others))} follow another ring"
