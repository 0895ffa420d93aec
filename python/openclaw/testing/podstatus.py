"""How the pods of a node stand-in fare, and the status that says so."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Self

Object = dict[str, Any]

BEHAVIOUR_ANNOTATION: Final = "testing.openclaw.dev/behaviour"
"""The annotation of a pod that says how it fares: an outcome, or `outcome@seconds`."""


class Outcome(enum.Enum):
    """What becomes of a pod."""

    READY = "ready"
    NEVER_READY = "never-ready"
    IMAGE_PULL_FAILURE = "image-pull-failure"
    CRASH_LOOP = "crash-loop"
    COMPLETED = "completed"
    CREATING = "creating"


@dataclass(frozen=True, slots=True)
class PodBehaviour:
    """How a pod fares: its containers are being created for `after` seconds, then comes the outcome."""

    outcome: Outcome = Outcome.READY
    after: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `outcome` or `outcome@seconds`, such as `never-ready` or `ready@2.5`.

        Raises ValueError, which names what is possible.
        """
        outcome, _, after = text.partition("@")
        try:
            return cls(Outcome(outcome), float(after or 0))
        except ValueError:
            known = ", ".join(it.value for it in Outcome)
            raise ValueError(
                f"{text!r} is no behaviour: write OUTCOME or OUTCOME@SECONDS, of {known}"
            ) from None


Decide = Callable[[Object], PodBehaviour | None]
"""Says how a pod fares; None leaves it to the pod's annotation, the tag of its image, or the default."""


def behaviour_of(pod: Object, decide: Decide | None = None) -> PodBehaviour:
    """How this pod fares.

    The first that says something wins: `decide`, the annotation, the tag of a container's image when it is
    the name of an outcome (`example/web:crash-loop`), else ready, or completed where it is not to restart.
    """
    decided = decide(pod) if decide is not None else None
    if decided is not None:
        return decided
    annotation = (pod["metadata"].get("annotations") or {}).get(BEHAVIOUR_ANNOTATION)
    if annotation:
        return PodBehaviour.parse(annotation)
    outcomes = {outcome.value for outcome in Outcome}
    for container in pod["spec"]["containers"]:
        tag = container.get("image", "").rpartition(":")[2]
        if tag in outcomes:
            return PodBehaviour(Outcome(tag))
    lasts = pod["spec"].get("restartPolicy", "Always") == "Always"
    return PodBehaviour(Outcome.READY if lasts else Outcome.COMPLETED)


def pod_status(pod: Object, outcome: Outcome, *, pod_ip: str, host_ip: str, now: str | None = None) -> Object:
    """The status of a pod with this outcome, as a kubelet would report it; `now` is the machine's if None."""
    now = now or timestamp()
    if outcome is Outcome.CRASH_LOOP and pod["spec"].get("restartPolicy") == "Never":
        phase = "Failed"
    else:
        phase = _PHASES[outcome]
    ready = outcome is Outcome.READY
    containers = [_container(container, outcome, phase, now) for container in pod["spec"]["containers"]]
    status: Object = {
        "phase": phase,
        "startTime": pod.get("status", {}).get("startTime") or now,
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "containerStatuses": containers,
        "conditions": [
            *(_condition(kind, now, holds=True) for kind in ("PodScheduled", "Initialized")),
            *(
                _condition(kind, now, holds=ready, because=_unready(phase, containers))
                for kind in ("ContainersReady", "Ready")
            ),
        ],
    }
    if outcome not in (Outcome.CREATING, Outcome.IMAGE_PULL_FAILURE):
        status |= {"podIP": pod_ip, "podIPs": [{"ip": pod_ip}]}
        status["initContainerStatuses"] = [
            _container(container, Outcome.COMPLETED, phase, now)
            for container in pod["spec"].get("initContainers", [])
        ]
    return status


def timestamp() -> str:
    """Now, as Kubernetes writes it."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_PHASES: Final = {
    Outcome.READY: "Running",
    Outcome.NEVER_READY: "Running",
    Outcome.IMAGE_PULL_FAILURE: "Pending",
    Outcome.CRASH_LOOP: "Running",
    Outcome.COMPLETED: "Succeeded",
    Outcome.CREATING: "Pending",
}


def _container(container: Object, outcome: Outcome, phase: str, now: str) -> Object:
    image = container.get("image", "")
    failed = {"exitCode": 1, "reason": "Error", "startedAt": now, "finishedAt": now}
    status: Object = {
        "name": container["name"],
        "image": image,
        "imageID": "",
        "ready": outcome in (Outcome.READY, Outcome.COMPLETED),
        "started": outcome in (Outcome.READY, Outcome.NEVER_READY),
        "restartCount": 0,
    }
    match outcome:
        case Outcome.READY | Outcome.NEVER_READY:
            status["state"] = {"running": {"startedAt": now}}
        case Outcome.CREATING:
            status["state"] = {"waiting": {"reason": "ContainerCreating"}}
        case Outcome.IMAGE_PULL_FAILURE:
            message = f'Back-off pulling image "{image}": not found'
            status["state"] = {"waiting": {"reason": "ImagePullBackOff", "message": message}}
        case Outcome.COMPLETED:
            status["state"] = {"terminated": {**failed, "exitCode": 0, "reason": "Completed"}}
            status["ready"] = False
        case Outcome.CRASH_LOOP if phase == "Failed":
            status["state"] = {"terminated": failed}
        case Outcome.CRASH_LOOP:
            message = f"back-off 5m0s restarting failed container={container['name']}"
            status["state"] = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
            status["lastState"] = {"terminated": failed}
            status["restartCount"] = 5
    return status


def _unready(phase: str, containers: list[Object]) -> tuple[str, str]:
    if phase in ("Succeeded", "Failed"):
        return f"Pod{'Completed' if phase == 'Succeeded' else 'Failed'}", ""
    names = " ".join(container["name"] for container in containers if not container["ready"])
    return "ContainersNotReady", f"containers with unready status: [{names}]"


def _condition(kind: str, now: str, *, holds: bool, because: tuple[str, str] = ("", "")) -> Object:
    condition: Object = {"type": kind, "status": str(holds), "lastTransitionTime": now}
    if not holds:
        condition |= {"reason": because[0], "message": because[1]}
    return condition
