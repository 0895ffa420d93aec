"""A stand-in for nodes: pods bound to it become Running and Ready without any container.

It is used instead of kwok because tests must be able to steer failures, pod by pod and while they run:
pods that stay unready, are slow, whose image can't be pulled, that crash. And because it needs nothing to
be built.

    async with NodeStandIn(kubeconfig) as node: ...

or, in a process of its own, `python -m openclaw.testing.node --kubeconfig FILE`. How a pod fares is said
by a function, by the pod's annotation `testing.openclaw.dev/behaviour`, or by the tag of its image; see
`openclaw.testing.podstatus`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from os import PathLike
from types import TracebackType
from typing import Any, Final, Self

from openclaw.kube.errors import AlreadyExists, Conflict, KubeError, NotFound, Unreachable
from openclaw.testing.client import Client
from openclaw.testing.podstatus import Decide, Outcome, PodBehaviour, behaviour_of, pod_status, timestamp

Object = dict[str, Any]

log = logging.getLogger(__name__)

_WORKERS: Final = 16
_RETRY: Final = 0.2  # seconds
_REGISTER_WITHIN: Final = 30.0  # seconds, also when the server is away meanwhile
_PODS_PER_NODE: Final = 10_000
_SUBNETS: Final = 250  # addresses of the last byte that are used


class NodeStandIn:
    """Nodes that exist as objects only, and what kubelets would report of their pods.

    Args:
        kubeconfig: of somebody who may create and patch nodes, and watch, patch, delete (and bind) pods.
        nodes: how many.
        bind: take pods that have no node, as no scheduler runs.
        decide: how a pod fares; see `openclaw.testing.podstatus.Decide`. Call `refresh` when it would
            answer otherwise than before.
        prefix: of the nodes' names.
        end: awaited before a pod that is being deleted goes: a kubelet ends its containers then.

    The nodes have no Lease: a node-lifecycle controller would find them gone. `ControlPlane` runs none.
    """

    def __init__(
        self,
        kubeconfig: str | PathLike[str],
        *,
        nodes: int = 1,
        bind: bool = False,
        decide: Decide | None = None,
        prefix: str = "stand-in",
        end: Callable[[Object], Awaitable[None]] | None = None,
    ) -> None:
        self.decide = decide
        self._end = end
        self._client = Client(kubeconfig, field_manager="openclaw-node-stand-in")
        self._nodes = {f"{prefix}-{number}": f"10.0.0.{number + 1}" for number in range(nodes)}
        self._turns = itertools.cycle(self._nodes)
        self._bind = bind
        self._pods: dict[str, _Pod] = {}
        self._addresses = itertools.count(1)
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Register the nodes and begin to look after pods.

        Raises KubeError when the server refuses, TimeoutError when it can't be reached for 30 seconds.
        """
        try:
            await asyncio.gather(*map(self._register, self._nodes))
        except BaseException:
            await self._client.close()
            raise
        self._tasks = [asyncio.create_task(self._follow(), name="node stand-in: pods")]
        self._tasks += [
            asyncio.create_task(self._work(), name="node stand-in: worker") for _ in range(_WORKERS)
        ]

    async def stop(self) -> None:
        """Stop looking after pods; the nodes stay registered. May be called again."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        await self._client.close()

    def refresh(self) -> None:
        """Ask again how each pod fares, as `decide` may answer otherwise now."""
        for uid in self._pods:
            self._enqueue(uid)

    async def _register(self, name: str) -> None:
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
            },
            "status": _node_status(name, self._nodes[name]),
        }
        async with asyncio.timeout(_REGISTER_WITHIN):
            while True:
                try:
                    await self._make(name, node)
                except Unreachable as error:  # Each step may be repeated.
                    log.warning("the node could not be registered; trying again", extra={"error": str(error)})
                    await asyncio.sleep(_RETRY)
                else:
                    return

    async def _make(self, name: str, node: Object) -> None:
        with contextlib.suppress(AlreadyExists):
            await self._client.create(node)
        await self._client.patch("Node", None, name, {"status": node["status"]}, subresource="status")
        # Admission marks each new node as not ready; the controller that unmarks it does not run.
        await self._client.patch("Node", None, name, {"spec": {"taints": None}})

    async def _follow(self) -> None:
        selector = "" if self._bind else "spec.nodeName!="
        if len(self._nodes) == 1 and not self._bind:
            selector = f"spec.nodeName={next(iter(self._nodes))}"
        async with aclosing(self._client.follow("Pod", field_selector=selector)) as changes:
            async for events in changes:
                for kind, pod in events:
                    self._take(kind, pod)

    def _take(self, kind: str, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        if kind == "DELETED":
            self._pods.pop(uid, None)
            return
        node = pod["spec"].get("nodeName")
        if node in self._nodes or (self._bind and not node):
            self._pods.setdefault(uid, _Pod()).latest = pod
            self._enqueue(uid)

    def _enqueue(self, uid: str) -> None:
        pod = self._pods.get(uid)
        if pod is not None and not pod.queued:
            pod.queued = True
            self._queue.put_nowait(uid)

    async def _work(self) -> None:
        while True:
            uid = await self._queue.get()
            pod = self._pods.get(uid)
            if pod is None:
                continue
            async with pod.lock:
                pod.queued = False
                try:
                    await self._look_after(uid, pod)
                except (NotFound, Conflict):
                    pass  # It has gone, or the next event will tell of what it is now.
                except KubeError as error:
                    log.warning("a pod could not be looked after; trying again", extra={"error": str(error)})
                    asyncio.get_running_loop().call_later(_RETRY, self._enqueue, uid)
                except Exception:
                    log.exception("a pod could not be looked after")

    async def _look_after(self, uid: str, pod: _Pod) -> None:
        metadata, spec = pod.latest["metadata"], pod.latest["spec"]
        namespace, name = metadata["namespace"], metadata["name"]
        if not spec.get("nodeName"):
            if not metadata.get("deletionTimestamp") and not spec.get("schedulingGates"):
                await self._bind_pod(namespace, name, uid)
            return
        if metadata.get("deletionTimestamp"):
            if self._end is not None:
                await self._end(pod.latest)
            await self._client.delete("Pod", namespace, name, grace_period=0, uid=uid)
            return
        outcome = self._due(uid, pod, behaviour_of(pod.latest, self.decide))
        if outcome is pod.reported:
            return
        address = pod.address or self._new_address(pod)
        host = self._nodes[spec["nodeName"]]
        status = pod_status(pod.latest, outcome, pod_ip=address, host_ip=host)
        change = {"metadata": {"uid": uid}, "status": status}
        await self._client.patch("Pod", namespace, name, change, subresource="status")
        pod.reported = outcome

    def _due(self, uid: str, pod: _Pod, behaviour: PodBehaviour) -> Outcome:
        """What to report now; comes back to the pod when its delay is over."""
        loop = asyncio.get_running_loop()
        if pod.behaviour != behaviour:
            pod.behaviour, pod.since = behaviour, loop.time()
        due = pod.since + behaviour.after
        if behaviour.after == 0 or loop.time() >= due:
            return behaviour.outcome
        loop.call_at(due, self._enqueue, uid)
        return Outcome.CREATING

    def _new_address(self, pod: _Pod) -> str:
        high, low = divmod(next(self._addresses), _SUBNETS)
        pod.address = f"10.{128 + high // _SUBNETS}.{high % _SUBNETS}.{low + 1}"
        return pod.address

    async def _bind_pod(self, namespace: str, name: str, uid: str) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": next(self._turns)}
        binding = {"metadata": {"name": name, "namespace": namespace, "uid": uid}, "target": target}
        await self._client.create_subresource("Pod", namespace, name, "binding", binding)


class _Pod:
    """What is known of one pod."""

    def __init__(self) -> None:
        self.latest: Object = {}
        self.queued = False
        self.lock = asyncio.Lock()
        self.behaviour: PodBehaviour | None = None
        self.since = 0.0
        self.reported: Outcome | None = None
        self.address = ""


def _node_status(name: str, address: str) -> Object:
    now = timestamp()
    resources = {"cpu": "10k", "memory": "10Ti", "ephemeral-storage": "10Ti", "pods": str(_PODS_PER_NODE)}
    healthy = {"lastHeartbeatTime": now, "lastTransitionTime": now}
    pressures = ("MemoryPressure", "DiskPressure", "PIDPressure")
    return {
        "capacity": resources,
        "allocatable": resources,
        "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "StandIn", "message": "no kubelet", **healthy},
            *(
                {"type": it, "status": "False", "reason": "StandIn", "message": "", **healthy}
                for it in pressures
            ),
        ],
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": "",
            "containerRuntimeVersion": "stand-in://0",
            "kernelVersion": "",
            "kubeProxyVersion": "",
            "kubeletVersion": "v0.0.0-stand-in",
            "machineID": "",
            "operatingSystem": "linux",
            "osImage": "",
            "systemUUID": "",
        },
    }


async def _run(options: argparse.Namespace) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with NodeStandIn(options.kubeconfig, nodes=options.nodes, bind=options.bind, prefix=options.prefix):
        await ended.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Stand in for nodes until SIGINT or SIGTERM. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m openclaw.testing.node",
        description="Stand in for nodes: pods become Running and Ready without any container.",
    )
    parser.add_argument("--kubeconfig", default=os.environ.get("KUBECONFIG"), help="default: $KUBECONFIG")
    parser.add_argument("--nodes", type=int, default=1, help="how many nodes (default: 1)")
    parser.add_argument("--prefix", default="stand-in", help="of the nodes' names (default: stand-in)")
    parser.add_argument(
        "--bind", action="store_true", help="take pods that have no node, as no scheduler runs"
    )
    options = parser.parse_args(arguments)
    if not options.kubeconfig:
        parser.error("--kubeconfig is needed: KUBECONFIG is not set")
    try:
        asyncio.run(_run(options))
    except (KubeError, TimeoutError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
