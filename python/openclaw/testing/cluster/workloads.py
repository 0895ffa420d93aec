"""How the pods of a cluster fare: what a test may turn while it runs."""

from __future__ import annotations

from collections.abc import Callable

from openclaw.testing.podstatus import Decide

__all__ = ["Workloads"]


class Workloads:
    """The knobs of the workload model.

    Pods become Ready by themselves; otherwise it is said by `decide`, the pod's annotation or the tag of its
    image, see `openclaw.testing.PodBehaviour`. Call `refresh` after changing something.

    Attributes:
        decide: says how a pod fares; None leaves it to the pod.
        startup_seconds: how long containers are being created, besides what a pod's behaviour says.
        termination_seconds: how long a pod takes to end, at most its grace period.
        nodes: how many nodes pods are spread over.
        stalled: pods stay as they are: as if scheduler and kubelets were away.
    """

    def __init__(
        self,
        *,
        decide: Decide | None = None,
        startup_seconds: float = 0.0,
        termination_seconds: float = 0.0,
        nodes: int = 1,
    ) -> None:
        self.decide = decide
        self.startup_seconds = startup_seconds
        self.termination_seconds = termination_seconds
        self.nodes = nodes
        self.stalled = False
        self._refresh: Callable[[], None] | None = None

    def on_refresh(self, refresh: Callable[[], None]) -> None:
        """Set by the cluster: how to look at all pods again."""
        self._refresh = refresh

    def refresh(self) -> None:
        """Look at all pods again."""
        if self._refresh is not None:
            self._refresh()

    def stall(self) -> None:
        """Let pods stay as they are."""
        self.stalled = True

    def resume(self) -> None:
        """Let them go on."""
        self.stalled = False
        self.refresh()
