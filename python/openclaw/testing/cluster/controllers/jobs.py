"""Jobs: pods until enough of them succeeded; follows `pkg/controller/job`."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from openclaw.testing.cluster.clock import seconds_of
from openclaw.testing.cluster.controllers.owned import (
    controller_of,
    failed,
    is_active,
    is_ready,
    owned_by,
    owner_reference,
    phase,
)
from openclaw.testing.cluster.controllers.retries import Retries
from openclaw.testing.cluster.deleting import DeleteOptions
from openclaw.testing.cluster.internal import Internal
from openclaw.testing.cluster.kindnames import JOBS, PODS
from openclaw.testing.cluster.statuses import StatusError
from openclaw.testing.cluster.store import Change, Entry, Name

__all__ = ["JobController"]

Object = dict[str, Any]


class JobController:
    """Runs jobs to completion, of the completion mode NonIndexed."""

    def __init__(self, internal: Internal) -> None:
        self._internal = internal
        self._retries = Retries()

    def keys(self, name: Name, change: Change) -> Iterator[Hashable]:
        """A Job that changed, or one of whose pods did."""
        if name == JOBS:
            yield change.entry.key
        elif name == PODS:
            owner = controller_of(change.entry.obj)
            if owner is not None and owner["kind"] == "Job":
                yield f"{change.entry.obj['metadata']['namespace']}/{owner['name']}"

    async def sync(self, key: Hashable) -> float | None:
        """Look at one Job."""
        namespace, _, called = str(key).partition("/")
        entry = self._internal.get(JOBS, namespace, called)
        if entry is None or "deletionTimestamp" in entry.obj["metadata"]:
            self._retries.forget(key)
            return None
        finished = _finished_at(entry.obj)
        if finished is not None:
            return self._expire(entry, finished)
        pods = owned_by(self._internal.list(PODS, namespace), entry.uid)
        over = self._verdict(entry.obj, pods)
        failure = None
        if over is None and not entry.obj["spec"].get("suspend"):
            try:
                await self._fill(entry, pods)
            except StatusError as error:
                failure = error
        elif over is not None or entry.obj["spec"].get("suspend"):
            for pod in pods:
                if is_active(pod.obj):
                    self._internal.delete(PODS, pod)
        due = await self._report(namespace, called, over)
        if failure is not None:
            return self._retries.next(key)
        self._retries.forget(key)
        return due

    def _verdict(self, obj: Object, pods: list[Entry]) -> tuple[str, str, str] | None:
        """The condition, reason and message with which a job is over."""
        spec, status = obj["spec"], obj.get("status") or {}
        succeeded = sum(phase(pod.obj) == "Succeeded" for pod in pods)
        completions = spec.get("completions")
        enough = (
            succeeded >= completions
            if completions is not None
            else (succeeded > 0 and not any(is_active(pod.obj) for pod in pods))
        )
        if enough:
            return "Complete", "CompletionsReached", "Reached expected number of succeeded pods"
        if sum(failed(pod.obj) for pod in pods) > spec.get("backoffLimit", 6):
            return "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        limit, started = spec.get("activeDeadlineSeconds"), status.get("startTime")
        now = self._internal.backend.clock.date()
        if limit is not None and started and now >= seconds_of(started) + limit:
            return "Failed", "DeadlineExceeded", "Job was active longer than specified deadline"
        return None

    async def _fill(self, entry: Entry, pods: list[Entry]) -> None:
        obj, namespace = entry.obj, entry.obj["metadata"]["namespace"]
        spec, template = obj["spec"], obj["spec"]["template"]
        active = sum(is_active(pod.obj) for pod in pods)
        succeeded = sum(phase(pod.obj) == "Succeeded" for pod in pods)
        wanted = spec.get("parallelism", 1)
        if spec.get("completions") is not None:
            wanted = min(wanted, spec["completions"] - succeeded)
        elif succeeded:
            wanted = active
        below = template.get("metadata") or {}
        for _ in range(wanted - active):
            metadata: Object = {
                "generateName": f"{obj['metadata']['name']}-",
                "labels": below.get("labels") or {},
                "ownerReferences": [owner_reference(obj)],
            }
            if below.get("annotations"):
                metadata["annotations"] = below["annotations"]
            await self._internal.create(PODS, namespace, {"metadata": metadata, "spec": template["spec"]})

    async def _report(self, namespace: str, called: str, over: tuple[str, str, str] | None) -> float | None:
        entry = self._internal.get(JOBS, namespace, called)
        if entry is None:
            return None
        obj, clock = entry.obj, self._internal.backend.clock
        spec, before, now = obj["spec"], obj.get("status") or {}, clock.timestamp()
        pods = [one.obj for one in owned_by(self._internal.list(PODS, namespace), entry.uid)]
        active = [pod for pod in pods if is_active(pod)]
        status: Object = {}
        if before.get("conditions"):
            status["conditions"] = before["conditions"]
        if not spec.get("suspend"):
            status["startTime"] = before.get("startTime") or now
        counts = {
            "active": len(active),
            "succeeded": sum(phase(pod) == "Succeeded" for pod in pods),
            "failed": sum(map(failed, pods)),
        }
        status |= {key: value for key, value in counts.items() if value}
        status["terminating"] = sum(
            "deletionTimestamp" in pod["metadata"] and phase(pod) not in {"Succeeded", "Failed"}
            for pod in pods
        )
        status["ready"] = sum(map(is_ready, active))
        status["uncountedTerminatedPods"] = {}
        suspended = self._suspended(spec, before, now)
        if suspended is not None:
            others = [one for one in before.get("conditions") or () if one["type"] != "Suspended"]
            status["conditions"] = [*others, suspended]
        if over is not None and not status.get("active"):
            kind, reason, message = over
            criteria = "SuccessCriteriaMet" if kind == "Complete" else "FailureTarget"
            if kind == "Complete":
                status["completionTime"] = now
            status["conditions"] = [
                {
                    "type": one,
                    "status": "True",
                    "lastProbeTime": now,
                    "lastTransitionTime": now,
                    "reason": reason,
                    "message": message,
                }
                for one in (criteria, kind)
            ]
        await self._internal.set_status(JOBS, entry, status)
        limit = spec.get("activeDeadlineSeconds")
        if limit is not None and over is None and status.get("startTime"):
            due: float = seconds_of(status["startTime"]) + limit - clock.date()
            return max(0.1, due)
        return None

    @staticmethod
    def _suspended(spec: Object, before: Object, now: str) -> Object | None:
        """The condition of a job that is, or was, suspended."""
        conditions: list[Object] = before.get("conditions") or []
        known = next((one for one in conditions if one["type"] == "Suspended"), None)
        holds = bool(spec.get("suspend"))
        if known is None and not holds:
            return None
        status = "True" if holds else "False"
        if known is not None and known["status"] == status:
            return known
        return {
            "type": "Suspended",
            "status": status,
            "lastProbeTime": now,
            "lastTransitionTime": now,
            "reason": "JobSuspended" if holds else "JobResumed",
            "message": "Job suspended" if holds else "Job resumed",
        }

    def _expire(self, entry: Entry, finished: float) -> float | None:
        seconds = entry.obj["spec"].get("ttlSecondsAfterFinished")
        if seconds is None:
            return None
        left: float = finished + seconds - self._internal.backend.clock.date()
        if left > 0:
            return left
        self._internal.delete(JOBS, entry, DeleteOptions(policy="Foreground"))
        return None


def _finished_at(obj: Object) -> float | None:
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition["type"] in {"Complete", "Failed"} and condition["status"] == "True":
            return seconds_of(condition["lastTransitionTime"])
    return None
