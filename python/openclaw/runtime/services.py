"""What a manager has for its reconcilers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from openclaw.api.kinds import ResourceKind
from openclaw.sharding.fence import Fence
from openclaw.telemetry.health import HealthChecks
from openclaw.telemetry.metrics import Metrics

__all__ = ["Services"]


def _none(kind: ResourceKind, index: str, value: str) -> int:  # noqa: ARG001 - outside of a manager
    return 0


@dataclass(frozen=True, slots=True)
class Services:
    """Given to `Reconciler.lifespan`.

    Attributes:
        metrics: the manager's; metrics of one's own go into `metrics.registry`.
        health: the manager's checks, to add to.
        fence: asked before every write outside of the cluster; None where there are no shards.
        count: how many objects of a root kind, of those that this process acts on, have a value in a declared
            field index; for gauges.
    """

    metrics: Metrics
    health: HealthChecks
    fence: Fence | None = None
    count: Callable[[ResourceKind, str, str], int] = _none
