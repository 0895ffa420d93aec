"""What `kubectl get pods` says of a pod; follows `printPod` of `pkg/printers/internalversion`."""

from __future__ import annotations

from typing import Any

__all__ = ["pod_phase", "pod_ready", "pod_restarts"]

Object = dict[str, Any]


def pod_ready(pod: Object) -> str:
    """`1/2`: containers that are ready, of all."""
    statuses = _statuses(pod)
    return f"{sum(bool(one.get('ready')) for one in statuses)}/{len(pod['spec'].get('containers') or ())}"


def pod_restarts(pod: Object, _: float) -> str:
    """How often its containers were started again."""
    return str(sum(one.get("restartCount", 0) for one in _statuses(pod)))


def pod_phase(pod: Object) -> str:
    """The phase, or what keeps it from getting further."""
    status = pod.get("status") or {}
    reason = status.get("reason") or status.get("phase") or "Unknown"
    running = False
    for container in reversed(_statuses(pod)):
        state = container.get("state") or {}
        waiting, terminated = state.get("waiting") or {}, state.get("terminated")
        if waiting.get("reason"):
            reason = waiting["reason"]
        elif terminated is not None:
            reason = terminated.get("reason") or f"ExitCode:{terminated.get('exitCode', 0)}"
        elif container.get("ready") and "running" in state:
            running = True
    if reason == "Completed" and running:
        reason = "Running" if _is_ready(status) else "NotReady"
    if "deletionTimestamp" in pod["metadata"]:
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    return str(reason)


def _statuses(pod: Object) -> list[Object]:
    return (pod.get("status") or {}).get("containerStatuses") or []


def _is_ready(status: Object) -> bool:
    return any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions") or ())
