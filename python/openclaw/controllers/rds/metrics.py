"""How many instances are in each phase."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from openclaw.api.rdsinstance import Phase

__all__ = ["PhaseGauge"]


class PhaseGauge(Collector):
    """`resource_phase{kind,phase}`, counted in the cache at each scrape: it can't be wrong for long.

    Args:
        kind: the kind's name.
        count: how many objects the cache has whose `status.phase` is that.
    """

    def __init__(self, kind: str, count: Callable[[str], int]) -> None:
        self._kind = kind
        self._count = count

    def describe(self) -> Iterable[Metric]:
        """The family without samples: what registration asks."""
        return [self._family()]

    def collect(self) -> Iterable[Metric]:
        """Count."""
        family = self._family()
        for phase in Phase:
            family.add_metric((self._kind, phase.value), self._count(phase.value))
        return [family]

    @staticmethod
    def _family() -> GaugeMetricFamily:
        return GaugeMetricFamily("resource_phase", "Objects by phase", labels=("kind", "phase"))
