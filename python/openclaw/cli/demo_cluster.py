"""The demo's cluster: the control plane, the operator in a process of its own, and what is asked of them."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import yaml

from openclaw.api.builtin import Event
from openclaw.api.kinds import ResourceKind
from openclaw.api.openclaw import OpenClaw
from openclaw.api.unstructured import Unstructured
from openclaw.controllers import SHIPPED
from openclaw.kube import Client, ConfigSource, NotFound, Transport
from openclaw.kube.paths import collection_path
from openclaw.manifests import generate
from openclaw.testing.controlplane import ControlPlane

__all__ = ["CHILDREN", "DemoCluster", "DemoFailure"]

NAMESPACE = "openclaw-system"
ACCOUNT = "openclaw"
USER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
_APPS = "apps"
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
    "ClusterRole": ResourceKind(
        "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False
    ),
    "ClusterRoleBinding": ResourceKind(
        "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
    ),
    "OpenClaw": OpenClaw.resource,
}


class DemoFailure(Exception):
    """Something did not converge; the message says what, and what its state is."""


class DemoCluster:
    """What the story acts on. Made by `running`."""

    def __init__(self, plane: ControlPlane, client: Client, folder: Path) -> None:
        self.plane = plane
        self.client = client
        self.operator_log = folder / "operator.log"
        self._operator: asyncio.subprocess.Process | None = None

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls) -> AsyncIterator[DemoCluster]:
        """A control plane with the CRD, the operator's role and namespace, and two nodes."""
        files = generate(SHIPPED, image="openclaw:demo", namespace=NAMESPACE)
        with tempfile.TemporaryDirectory(prefix="openclaw-demo-") as name:
            folder = Path(name)
            crds = [folder / path for path in files if path.startswith("crds/")]
            for path in crds:
                path.parent.mkdir(exist_ok=True)
                path.write_text(files[str(path.relative_to(folder))])
            plane = ControlPlane(controller_manager=True, scheduler=True, nodes=2, audit=True, crds=crds)
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

    async def start_operator(self) -> None:
        """Run `openclaw run` as its own process, under the service account with the generated role."""
        kubeconfig = await asyncio.to_thread(self.plane.service_account_kubeconfig, NAMESPACE, ACCOUNT)
        with self.operator_log.open("ab") as log:
            self._operator = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "openclaw.cli.main",
                "run",
                "--kubeconfig",
                str(kubeconfig),
                "--metrics-address",
                "127.0.0.1:0",
                stdout=log,
                stderr=log,
            )

    async def stop_operator(self) -> None:
        """SIGTERM, and SIGKILL for one that does not end."""
        process, self._operator = self._operator, None
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), 30)
        except TimeoutError:
            process.kill()
            await process.wait()

    def check_operator(self) -> None:
        """Raise if the operator has ended.

        Raises:
            DemoFailure: with the end of its log.
        """
        if self._operator is not None and self._operator.returncode is not None:
            raise DemoFailure(f"the operator ended with {self._operator.returncode}:\n{self.log_tail()}")

    def log_tail(self, lines: int = 15) -> str:
        """The end of the operator's log."""
        if not self.operator_log.exists():
            return ""
        return "\n".join(self.operator_log.read_text(errors="replace").splitlines()[-lines:])

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

    async def events(self) -> list[dict[str, Any]]:
        """The events of OpenClaw objects, oldest first."""
        found = await self.items(Event.resource)
        ours = [item for item in found if (item.get("regarding") or {}).get("kind") == OpenClaw.resource.kind]
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
        """How often the operator made each kind of request, from the API server's audit log."""
        events = await asyncio.to_thread(self.plane.audit_events, USER)
        counts: Counter[str] = Counter()
        for event in events:
            reference = event.get("objectRef") or {}
            resource = reference.get("resource", "?")
            if reference.get("subresource"):
                resource += f"/{reference['subresource']}"
            counts[f"{event['verb']} {resource}"] += 1
        return counts
