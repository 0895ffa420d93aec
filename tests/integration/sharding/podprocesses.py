"""Pods of the operator as real processes: what a kubelet does, as far as shards can see it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from openclaw.testing import ControlPlane, NodeStandIn
from openclaw.testing.podstatus import Outcome, PodBehaviour
from tests.integration.reliability.operator_process import OperatorProcess

__all__ = ["PodProcesses"]

Object = dict[str, Any]
_PROBE_SECONDS = 0.2


class PodProcesses:
    """A node whose pods of one namespace run `openclaw`, with arguments and environment of their container.

    A pod is Ready when the `/readyz` of its process says so, its process gets SIGTERM when it is deleted, and
    is begun anew when it ends otherwise.

    Attributes:
        processes: by the name of the pod.
    """

    def __init__(self, plane: ControlPlane, folder: Path, namespace: str) -> None:
        self._plane = plane
        self._namespace = namespace
        self._folder = folder
        self._node = NodeStandIn(plane.kubeconfig, decide=self._decide, end=self._end, prefix="machine")
        self._pods: dict[str, Object] = {}
        self._ready: dict[str, bool] = {}
        self._task: asyncio.Task[None] | None = None
        self._starts = 0
        self.processes: dict[str, OperatorProcess] = {}

    async def __aenter__(self) -> Self:
        await self._node.start()
        self._task = asyncio.create_task(self._probe())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        await self._node.stop()
        for process in self.processes.values():
            if process.running:
                process.signal(signal.SIGKILL)
                await process.wait()

    def _decide(self, pod: Object) -> PodBehaviour | None:
        if pod["metadata"]["namespace"] != self._namespace:
            return None
        uid = pod["metadata"]["uid"]
        self._pods[uid] = pod
        return PodBehaviour(Outcome.READY if self._ready.get(uid) else Outcome.NEVER_READY)

    async def _probe(self) -> None:
        """Start what is not running, and see who is ready."""
        while True:
            for uid, pod in list(self._pods.items()):
                if pod["metadata"].get("deletionTimestamp"):
                    continue
                process = self.processes.get(pod["metadata"]["name"])
                if process is None or not process.running:
                    process = await asyncio.to_thread(self._start, pod)
                ready = False
                with contextlib.suppress(OSError, IndexError):
                    ready = (await process.readyz())[0] == 200
                if self._ready.get(uid) != ready:
                    self._ready[uid] = ready
                    self._node.refresh()
            await asyncio.sleep(_PROBE_SECONDS)

    def _start(self, pod: Object) -> OperatorProcess:
        metadata, spec = pod["metadata"], pod["spec"]
        (container,) = spec["containers"]
        environment = {
            item["name"]: item["value"] if "value" in item else _field(pod, item["valueFrom"]["fieldRef"])
            for item in container.get("env", [])
        }
        arguments = [_expanded(text, environment) for text in container["args"]]
        assert arguments.pop(0) == "run"
        at = arguments.index("--metrics-address")
        del arguments[at : at + 2]  # all pods have this machine's addresses
        kubeconfig = self._plane.service_account_kubeconfig(metadata["namespace"], spec["serviceAccountName"])
        self._starts += 1
        log = self._folder / f"{metadata['name']}.{self._starts}.log"
        process = OperatorProcess(kubeconfig, log, arguments, environment=environment)
        process.start()
        self.processes[metadata["name"]] = process
        return process

    async def _end(self, pod: Object) -> None:
        self._pods.pop(pod["metadata"]["uid"], None)
        own = pod["metadata"]["namespace"] == self._namespace
        process = self.processes.pop(pod["metadata"]["name"], None) if own else None
        if process is not None and process.running:
            process.signal(signal.SIGTERM)
            try:
                await process.wait(pod["spec"]["terminationGracePeriodSeconds"])
            except AssertionError:
                process.signal(signal.SIGKILL)  # as a kubelet does
                await process.wait()


def _expanded(text: str, environment: dict[str, str]) -> str:
    for name, value in environment.items():
        text = text.replace(f"$({name})", value)
    return text


def _field(pod: Object, reference: Object) -> str:
    value: Any = pod
    for part in reference["fieldPath"].split("."):
        value = value[part]
    return str(value)
