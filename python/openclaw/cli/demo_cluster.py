"""The demo's cluster: the control plane, the operator in a process of its own, and what is asked of them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import orjson
import yaml

from openclaw.api.builtin import Event, Secret
from openclaw.api.kinds import ResourceKind
from openclaw.api.openclaw import OpenClaw
from openclaw.api.rdsinstance import RDSInstance
from openclaw.api.unstructured import Unstructured
from openclaw.cli.group import find_overview
from openclaw.controllers import SHIPPED
from openclaw.kube import Client, ConfigSource, NotFound, Transport
from openclaw.kube.paths import collection_path
from openclaw.manifests import generate
from openclaw.sharding.overview import Overview
from openclaw.testing.cluster.process import ClusterProcess
from openclaw.testing.controlplane import ControlPlane

__all__ = ["CHILDREN", "DemoCluster", "DemoFailure"]

NAMESPACE = "openclaw-system"
ACCOUNT = "openclaw"
USER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
_APPS = "apps"
_RBAC = "rbac.authorization.k8s.io"
_POD_SECONDS = 0.5  # until a pod of the cluster in memory is Ready
DEPLOYMENTS = ResourceKind(_APPS, "v1", "Deployment", "deployments")
CHILDREN = (
    DEPLOYMENTS,
    ResourceKind("", "v1", "Service", "services"),
    ResourceKind("networking.k8s.io", "v1", "Ingress", "ingresses"),
    ResourceKind(_APPS, "v1", "ReplicaSet", "replicasets"),
    ResourceKind("", "v1", "Pod", "pods"),
)
_KINDS = {
    "Namespace": ResourceKind("", "v1", "Namespace", "namespaces", namespaced=False),
    "ServiceAccount": ResourceKind("", "v1", "ServiceAccount", "serviceaccounts"),
    "ClusterRole": ResourceKind(_RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False),
    "ClusterRoleBinding": ResourceKind(
        _RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
    ),
    "Role": ResourceKind(_RBAC, "v1", "Role", "roles"),
    "RoleBinding": ResourceKind(_RBAC, "v1", "RoleBinding", "rolebindings"),
    "OpenClaw": OpenClaw.resource,
    "RDSInstance": RDSInstance.resource,
    "Secret": Secret.resource,
}


class Plane(Protocol):
    """A control plane, real or in memory."""

    def start(self) -> Any:
        """Start it and wait until it is ready."""

    def stop(self) -> None:
        """End it."""

    @property
    def kubeconfig(self) -> Path:
        """That of an administrator."""

    @property
    def url(self) -> str:
        """The API server's."""

    def service_account_kubeconfig(self, namespace: str, name: str) -> Path:
        """That of a service account."""

    def audit_events(self, user: str | None = None) -> list[dict[str, Any]]:
        """Every request answered so far."""


class DemoFailure(Exception):
    """Something did not converge; the message says what, and what its state is."""


class DemoCluster:
    """What the story acts on. Made by `running`."""

    def __init__(self, plane: Plane, client: Client, folder: Path) -> None:
        self.plane = plane
        self.client = client
        self.folder = folder
        self.operator_log = folder / "operator.log"
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._account: Path | None = None

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls, *, nodes: int = 2, in_memory: bool = False) -> AsyncIterator[DemoCluster]:
        """A cluster with the CRDs, the operator's role and namespace, and nodes for pods.

        Args:
            nodes: how many; 0 for no pods at all.
            in_memory: the embedded cluster, in a process of its own, instead of a real control plane.
        """
        files = generate(SHIPPED, image="openclaw:demo", namespace=NAMESPACE)
        with tempfile.TemporaryDirectory(prefix="openclaw-demo-") as name:
            folder = Path(name)
            crds = [folder / path for path in files if path.startswith("crds/")]
            for path in crds:
                path.parent.mkdir(exist_ok=True)
                path.write_text(files[str(path.relative_to(folder))])
            plane: Plane
            if in_memory:
                plane = ClusterProcess(crds=crds, nodes=nodes, startup_seconds=_POD_SECONDS)
            else:
                plane = ControlPlane(
                    controller_manager=True, scheduler=nodes > 0, nodes=nodes, audit=True, crds=crds
                )
            try:
                await asyncio.to_thread(plane.start)
                async with Transport(ConfigSource(plane.kubeconfig), user_agent="openclaw-demo") as transport:
                    cluster = cls(plane, Client(transport, field_manager="kubectl"), folder)
                    await cluster.apply_text(
                        f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {NAMESPACE}}}"
                    )
                    await cluster.apply_text(files["deploy/base/rbac.yaml"])
                    try:
                        yield cluster
                    finally:
                        await cluster.stop_operator()
            finally:
                await asyncio.to_thread(plane.stop)

    async def apply_text(self, text: str) -> list[str]:
        """Apply the objects of a YAML text; returns their names."""
        applied = []
        for document in yaml.safe_load_all(text):
            if document:
                kind, metadata = _KINDS[document["kind"]], document["metadata"]
                await self.client.apply(
                    kind, metadata.get("namespace"), metadata["name"], orjson.dumps(document)
                )
                applied.append(f"{kind.kind} {metadata['name']}")
        return applied

    async def start_operator(self, environment: Mapping[str, str] | None = None) -> None:
        """Run `openclaw run` as its own process, under the service account with the generated role.

        Args:
            environment: variables added to ours.
        """
        await self._start("operator", [], environment)

    async def start_shard(self, name: str, environment: Mapping[str, str] | None = None) -> None:
        """Run `openclaw run --shard NAME` as its own process, under the same service account."""
        await self._start(name, ["--shard", name, "--lease-namespace", NAMESPACE], environment)

    async def _start(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str] | None
    ) -> None:
        if self._account is None:
            make = self.plane.service_account_kubeconfig
            self._account = await asyncio.to_thread(make, NAMESPACE, ACCOUNT)
        with self.log_of(name).open("ab") as log:
            self._processes[name] = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "openclaw.cli.main",
                "run",
                "--kubeconfig",
                str(self._account),
                "--metrics-address",
                "127.0.0.1:0",
                *arguments,
                stdout=log,
                stderr=log,
                env={**os.environ, **(environment or {})},
            )

    async def kill(self, name: str) -> None:
        """SIGKILL a shard: it says good-bye to nobody."""
        process = self._processes.pop(name)
        process.kill()
        await process.wait()

    async def stop_operator(self) -> None:
        """SIGTERM to the operator, all shards of it; SIGKILL for one that does not end."""
        processes, self._processes = self._processes, {}
        running = [process for process in processes.values() if process.returncode is None]
        for process in running:
            process.terminate()
        await asyncio.gather(*map(_ended, running))

    def check_operator(self) -> None:
        """Raise if the operator, or a shard of it, has ended by itself.

        Raises:
            DemoFailure: with the end of its log.
        """
        for name, process in self._processes.items():
            if process.returncode is not None:
                raise DemoFailure(f"{name} ended with {process.returncode}:\n{self.log_tail(name)}")

    def log_of(self, name: str) -> Path:
        """The log of the operator, or of a shard."""
        return self.folder / f"{name}.log"

    def log_tail(self, name: str = "", lines: int = 15) -> str:
        """The end of the operator's log, or of a shard's; of all, without a name."""
        ends = []
        for log in [self.log_of(name)] if name else sorted(self.folder.glob("*.log")):
            text = log.read_text(errors="replace") if log.exists() else ""
            ends += [f"{log.stem}: {line}" for line in text.splitlines()[-lines:]]
        return "\n".join(ends)

    async def shards(self) -> Overview:
        """The shards, as their Leases tell.

        Raises:
            CommandError: there is none yet.
        """
        return await find_overview(self.client.transport, "openclaw", NAMESPACE)

    async def items(
        self, kind: ResourceKind, namespace: str | None = None, **query: str
    ) -> list[dict[str, Any]]:
        """The objects of a kind."""
        response = await self.client.transport.request("GET", collection_path(kind, namespace), query=query)
        items: list[dict[str, Any]] = orjson.loads(response.body)["items"]
        return items

    async def claws(self) -> list[dict[str, Any]]:
        """All OpenClaw objects."""
        return await self.items(OpenClaw.resource)

    async def events(self, kind: ResourceKind = OpenClaw.resource) -> list[dict[str, Any]]:
        """The events of the objects of a kind, oldest first."""
        found = await self.items(Event.resource)
        ours = [item for item in found if (item.get("regarding") or {}).get("kind") == kind.kind]
        return sorted(ours, key=lambda item: str(item.get("eventTime") or ""))

    async def children(self, claw: str, namespace: str) -> dict[str, list[str]]:
        """The names of what belongs to an OpenClaw, by kind."""
        selector = f"app.kubernetes.io/instance={claw}"
        found = {}
        for kind in CHILDREN:
            names = [
                item["metadata"]["name"] for item in await self.items(kind, namespace, labelSelector=selector)
            ]
            if names:
                found[kind.kind] = names
        return found

    async def replicas(self, namespace: str, deployment: str) -> int:
        """`spec.replicas` of a Deployment."""
        body = await self.client.get(DEPLOYMENTS, namespace, deployment)
        replicas: int = orjson.loads(body)["spec"]["replicas"]
        return replicas

    async def patch(self, kind: ResourceKind, namespace: str, name: str, patch: dict[str, Any]) -> None:
        """A merge patch, as `kubectl patch --type merge`."""
        await self.client.merge_patch(kind, namespace, name, patch)

    async def delete(self, kind: ResourceKind, namespace: str, name: str) -> None:
        """As `kubectl delete`, without waiting."""
        with contextlib.suppress(NotFound):
            await self.client.delete(kind, namespace, name)

    async def create(self, obj: Unstructured) -> None:
        """As `kubectl create`."""
        await self.client.create(obj.resource, obj.namespace, orjson.dumps(obj.to_dict()))

    async def operator_requests(self) -> Counter[str]:
        """How often the operator made each kind of request, from the API server's audit log.

        Leases are left out: shards renew theirs whether there is anything to do or not.
        """
        events = await asyncio.to_thread(self.plane.audit_events, USER)
        counts: Counter[str] = Counter()
        for event in events:
            reference = event.get("objectRef") or {}
            resource = reference.get("resource", "?")
            if resource == "leases":
                continue
            if reference.get("subresource"):
                resource += f"/{reference['subresource']}"
            counts[f"{event['verb']} {resource}"] += 1
        return counts


async def _ended(process: asyncio.subprocess.Process) -> None:
    try:
        await asyncio.wait_for(process.wait(), 30)
    except TimeoutError:
        process.kill()
        await process.wait()
