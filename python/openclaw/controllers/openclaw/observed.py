"""What a component's Deployment says about it, read to the conventions of the Deployment controller."""

from __future__ import annotations

from dataclasses import dataclass

from openclaw.api.builtin import Deployment

__all__ = ["Component", "failed", "observe"]


@dataclass(frozen=True, slots=True)
class Component:
    """One component as it is now.

    Attributes:
        name: `frontend` or `worker`.
        wanted: pods that the spec asks for.
        ready: pods that are ready.
        serving: enough pods are available, of the old or the new kind, to say that the component works.
        rolling: a change is on its way: not all pods are of the current kind and available.
        failure: why the component fails, for people, or "".
        reason: the same in a CamelCase word, or "".
    """

    name: str
    wanted: int
    ready: int
    serving: bool
    rolling: bool
    failure: str = ""
    reason: str = ""

    def summary(self) -> str:
        """`frontend 2/3`."""
        return f"{self.name} {self.ready}/{self.wanted}"


def _least_available(wanted: int) -> int:
    """Pods that a rolling update keeps: maxUnavailable is 25 %, rounded down."""
    return wanted - wanted // 4


def observe(name: str, wanted: int, deployment: Deployment, *, settled: bool) -> Component:
    """The state of a component from its Deployment, where the intent is already applied.

    Args:
        name: the component.
        wanted: pods that the spec asks for.
        deployment: as it is now.
        settled: this intent was rolled out completely before, and nothing was applied since: pods that are
            missing now were lost, while otherwise they are still on their way.
    """
    status = deployment.status
    current = int(status.get("observedGeneration", 0)) >= deployment.generation
    ready = int(status.get("readyReplicas", 0))
    available = int(status.get("availableReplicas", 0))
    updated = int(status.get("updatedReplicas", 0))
    total = int(status.get("replicas", 0))
    complete = current and updated == wanted == total and available == wanted
    reason = failure = ""
    if current:
        reason, failure = _failure(name, deployment)
        if not failure and settled and available < _least_available(wanted):
            reason, failure = "PodsUnavailable", f"{name}: {available} of {wanted} pods are available"
    return Component(
        name=name,
        wanted=wanted,
        ready=ready,
        serving=available >= _least_available(wanted),
        rolling=not (complete or failure or (settled and current)),
        failure=failure,
        reason=reason,
    )


def _failure(name: str, deployment: Deployment) -> tuple[str, str]:
    """Why the rollout fails, as the Deployment controller says: (reason, message), both "" if it does not."""
    refused = deployment.condition("ReplicaFailure")
    if refused is not None and refused.get("status") == "True":
        return str(refused.get("reason") or "ReplicaFailure"), f"{name}: {refused.get('message', '')}"
    progressing = deployment.condition("Progressing")
    if progressing is None:
        return "", ""
    if progressing.get("status") == "False":
        return str(progressing.get("reason") or "Stuck"), f"{name}: {progressing.get('message', '')}"
    return "", ""


def failed(name: str, wanted: int, ready: int, *, serving: bool, reason: str, message: str) -> Component:
    """A component whose children could not be applied; what runs of it may serve all the same."""
    return Component(
        name=name,
        wanted=wanted,
        ready=ready,
        serving=serving,
        rolling=False,
        failure=f"{name}: {message}",
        reason=reason,
    )
