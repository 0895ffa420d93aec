"""What a component's Deployment says about it, read to the conventions of the Deployment controller."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from openclaw.api.builtin import Deployment

__all__ = ["Component", "observe"]

# `Progressing` of a Deployment is True both while it rolls out and ever after; only the reason tells.
_DEFAULT_DEADLINE: Final = 600.0
_UNDER_WAY: Final = frozenset({"NewReplicaSetCreated", "FoundNewReplicaSet", "ReplicaSetUpdated"})


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
        look_again: seconds after which the same Deployment says something else, or None.
    """

    name: str
    wanted: int
    ready: int
    serving: bool
    rolling: bool
    failure: str = ""
    reason: str = ""
    look_again: float | None = None

    def summary(self) -> str:
        """`frontend 2/3`."""
        return f"{self.name} {self.ready}/{self.wanted}"

    def failing(self, reason: str, message: str) -> Component:
        """The same component where a child of it could not be brought in line."""
        return replace(self, reason=reason, failure=f"{self.name}: {message}")


def _least_available(wanted: int) -> int:
    """Pods that a rolling update keeps: maxUnavailable is 25 %, rounded down."""
    return wanted - wanted // 4


def observe(
    name: str,
    wanted: int,
    deployment: Deployment | None,
    *,
    settled: bool,
    told: bool = True,
    now: datetime | None = None,
) -> Component:
    """The state of a component from its Deployment.

    Args:
        name: the component.
        wanted: pods that the spec asks for.
        deployment: as it is now; None where the component has none of its own, or not yet.
        settled: this component was seen rolled out, and nothing of its intent has changed since. Pods that
            are not available were then lost; otherwise they are still on their way, for as long as a rollout
            may make no progress. (The Deployment controller waits without end for pods of what it has once
            called complete: after scaling up, and where pods were lost before this component was seen.)
        told: the last status speaks of this generation of the spec. One that does not may know nothing of a
            change that is on its way: the run that made it may have ended before its status was written.
        now: the present.
    """
    if deployment is None:
        return Component(name, wanted, ready=0, serving=wanted == 0, rolling=True)
    status = deployment.status
    ready = int(status.get("readyReplicas", 0))
    available = int(status.get("availableReplicas", 0))
    serving = available >= _least_available(wanted)
    if deployment.metadata.get("deletionTimestamp"):
        # Its pods go with it; another one follows.
        return Component(name, wanted, ready, serving=wanted == 0, rolling=True)
    if int(status.get("observedGeneration", 0)) < deployment.generation:
        # What the numbers are about is not known yet.
        return Component(name, wanted, ready, serving=serving, rolling=not (settled and told))
    reason, failure = _failure(name, deployment)
    if failure:
        return Component(name, wanted, ready, serving, rolling=False, failure=failure, reason=reason)
    moving = _is_moving(wanted, deployment)
    look_again: float | None = None
    if not settled and not moving and not serving:
        look_again = _patience(deployment, datetime.now(UTC) if now is None else now)
        if look_again is not None and look_again <= 0:
            settled, look_again = True, None
    if settled and not moving and not serving:
        failure = f"{name}: {available} of {wanted} pods are available"
        return Component(
            name, wanted, ready, serving, rolling=False, failure=failure, reason="PodsUnavailable"
        )
    rolling = moving or (not settled and available < wanted)
    return Component(name, wanted, ready, serving, rolling=rolling, look_again=look_again)


def _patience(deployment: Deployment, now: datetime) -> float | None:
    """Seconds until the progress deadline, from when pods were lacking; None where it does not say when."""
    available = deployment.condition("Available")
    if available is None or available.get("status") == "True":
        return None
    try:
        since = datetime.fromisoformat(str(available["lastTransitionTime"]))
    except (KeyError, ValueError):
        return None
    deadline = deployment.spec.get("progressDeadlineSeconds")
    return (_DEFAULT_DEADLINE if deadline is None else float(deadline)) - (now - since).total_seconds()


def _is_moving(wanted: int, deployment: Deployment) -> bool:
    """Whether pods are being made, replaced or taken away, whoever asked for it."""
    status = deployment.status
    total = int(status.get("replicas", 0))
    if total != wanted or int(status.get("updatedReplicas", 0)) != total:
        return True
    progressing = deployment.condition("Progressing")
    return progressing is not None and progressing.get("reason") in _UNDER_WAY


def _failure(name: str, deployment: Deployment) -> tuple[str, str]:
    """Why the rollout fails, as the Deployment controller says: (reason, message), both "" if it does not."""
    refused = deployment.condition("ReplicaFailure")
    if refused is not None and refused.get("status") == "True":
        return str(refused.get("reason") or "ReplicaFailure"), f"{name}: {refused.get('message', '')}"
    progressing = deployment.condition("Progressing")
    if progressing is not None and progressing.get("status") == "False":
        return str(progressing.get("reason") or "Stuck"), f"{name}: {progressing.get('message', '')}"
    return "", ""
