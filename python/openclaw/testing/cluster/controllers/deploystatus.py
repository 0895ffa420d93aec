"""What a Deployment's status says; follows `pkg/controller/deployment/{sync,progress}.go`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openclaw.testing.cluster.clock import Clock, seconds_of
from openclaw.testing.cluster.controllers.owned import portion, set_condition

__all__ = ["deployment_status", "progress_due"]

Object = dict[str, Any]

_MINIMUM = "Deployment has minimum availability."
_LACKING = "Deployment does not have minimum availability."


def deployment_status(obj: Object, owned: Sequence[Object], current: Object | None, clock: Clock) -> Object:
    """The status that a Deployment with these ReplicaSets has."""
    spec, before = obj["spec"], obj.get("status") or {}
    wanted = spec.get("replicas", 1)
    counts = {
        "replicas": _sum(owned, "replicas"),
        "updatedReplicas": _sum([current] if current else [], "replicas"),
        "readyReplicas": _sum(owned, "readyReplicas"),
        "availableReplicas": _sum(owned, "availableReplicas"),
    }
    total = sum(one["spec"].get("replicas", 1) for one in owned)
    missing = max(0, total - counts["availableReplicas"])
    status: Object = {"observedGeneration": obj["metadata"]["generation"]}
    status |= {key: value for key, value in counts.items() if value}
    if missing:
        status["unavailableReplicas"] = missing
    status["terminatingReplicas"] = _sum(owned, "terminatingReplicas")
    conditions: list[Object] = list(before.get("conditions") or ())
    conditions = _available(conditions, spec, wanted, counts["availableReplicas"], clock)
    conditions = _failure(conditions, owned, clock)
    conditions = _progress(conditions, obj, status, current, clock)
    status["conditions"] = conditions
    return status


def _sum(owned: Sequence[Object], field: str) -> int:
    return sum((one.get("status") or {}).get(field, 0) for one in owned)


def _available(
    conditions: list[Object], spec: Object, wanted: int, available: int, clock: Clock
) -> list[Object]:
    rolling = (spec.get("strategy") or {}).get("rollingUpdate")
    unavailable = 0
    if rolling is not None:
        unavailable = portion(rolling.get("maxUnavailable", "25%"), wanted, up=False)
        if not unavailable and not portion(rolling.get("maxSurge", "25%"), wanted, up=True):
            unavailable = 1
    holds = available >= wanted - min(unavailable, wanted)
    new = {
        "type": "Available",
        "status": "True" if holds else "False",
        "reason": "MinimumReplicasAvailable" if holds else "MinimumReplicasUnavailable",
        "message": _MINIMUM if holds else _LACKING,
    }
    return set_condition(conditions, new, clock.timestamp(), update_time=True)


def _failure(conditions: list[Object], owned: Sequence[Object], clock: Clock) -> list[Object]:
    for one in owned:
        for condition in (one.get("status") or {}).get("conditions") or ():
            if condition["type"] == "ReplicaFailure" and condition["status"] == "True":
                return set_condition(conditions, condition, clock.timestamp(), update_time=True)
    return [one for one in conditions if one["type"] != "ReplicaFailure"]


def _progress(
    conditions: list[Object], obj: Object, status: Object, current: Object | None, clock: Clock
) -> list[Object]:
    spec = obj["spec"]
    wanted = spec.get("replicas", 1)
    before = next((one for one in conditions if one["type"] == "Progressing"), None)
    if spec.get("paused"):
        new = {
            "type": "Progressing",
            "status": "Unknown",
            "reason": "DeploymentPaused",
            "message": "Deployment is paused",
        }
        return set_condition(conditions, new, clock.timestamp(), update_time=True)
    named = f'ReplicaSet "{current["metadata"]["name"]}"' if current else "Deployment"
    complete = (
        status.get("updatedReplicas", 0) == wanted
        and status.get("replicas", 0) == wanted
        and status.get("availableReplicas", 0) == wanted
        and obj["metadata"]["generation"] == status["observedGeneration"]
    )
    if complete:
        new = {
            "status": "True",
            "reason": "NewReplicaSetAvailable",
            "message": f"{named} has successfully progressed.",
        }
    elif _progressed(obj, status) or before is None:
        new = {"status": "True", "reason": "ReplicaSetUpdated", "message": f"{named} is progressing."}
        conditions = [one for one in conditions if one["type"] != "Progressing" or one["status"] == "True"]
        if before is not None and before["reason"] != "NewReplicaSetAvailable":
            # The time of progress is what the deadline counts from.
            new_time = clock.timestamp()
            conditions = [
                {**one, "lastUpdateTime": new_time} if one["type"] == "Progressing" else one
                for one in conditions
            ]
    elif _overdue(before, spec, clock):
        new = {
            "status": "False",
            "reason": "ProgressDeadlineExceeded",
            "message": f"{named} has timed out progressing.",
        }
    else:
        return conditions
    return set_condition(conditions, {"type": "Progressing", **new}, clock.timestamp(), update_time=True)


def _progressed(obj: Object, status: Object) -> bool:
    before = obj.get("status") or {}
    if before.get("observedGeneration") != status["observedGeneration"]:
        return True
    old_pods = status.get("replicas", 0) - status.get("updatedReplicas", 0)
    old_before = before.get("replicas", 0) - before.get("updatedReplicas", 0)
    return (
        any(
            status.get(field, 0) > before.get(field, 0)
            for field in ("updatedReplicas", "readyReplicas", "availableReplicas")
        )
        or old_pods < old_before
    )


def _overdue(before: Object, spec: Object, clock: Clock) -> bool:
    if before["reason"] == "ProgressDeadlineExceeded":
        return True
    if before["reason"] == "NewReplicaSetAvailable":
        return False
    deadline: int = spec.get("progressDeadlineSeconds", 600)
    return seconds_of(before["lastUpdateTime"]) + deadline <= clock.date()


def progress_due(obj: Object, status: Object, clock: Clock) -> float | None:
    """Seconds until the deadline of a rollout under way; None where nothing is due."""
    progress = next((one for one in status["conditions"] if one["type"] == "Progressing"), None)
    if progress is None or progress["reason"] not in {"ReplicaSetUpdated", "NewReplicaSetCreated"}:
        return None
    deadline: int = obj["spec"].get("progressDeadlineSeconds", 600)
    return max(0.1, seconds_of(progress["lastUpdateTime"]) + deadline - clock.date())
