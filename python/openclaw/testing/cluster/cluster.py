"""`FakeCluster`: a Kubernetes API in memory, with its controllers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import yaml

from openclaw.api.resource import CustomResource
from openclaw.manifests.crd import by_kind, custom_resource_definition
from openclaw.runtime.manager import Manager
from openclaw.runtime.options import Options
from openclaw.runtime.reconciler import Reconciler
from openclaw.testing.cluster.audit import Audit
from openclaw.testing.cluster.authorizer import Authorizer
from openclaw.testing.cluster.backend import Backend
from openclaw.testing.cluster.clock import Chance, Clock
from openclaw.testing.cluster.contracts import Machinery, Reader, Resource, User
from openclaw.testing.cluster.controllers.definitions import DefinitionController
from openclaw.testing.cluster.controllers.deployments import DeploymentController
from openclaw.testing.cluster.controllers.garbage import GarbageCollector
from openclaw.testing.cluster.controllers.jobs import JobController
from openclaw.testing.cluster.controllers.namespaces import NamespaceController
from openclaw.testing.cluster.controllers.pods import PodController
from openclaw.testing.cluster.controllers.replicasets import ReplicaSetController
from openclaw.testing.cluster.controllers.runner import ClusterController, ControllerRunner
from openclaw.testing.cluster.controllers.statefulsets import StatefulSetController
from openclaw.testing.cluster.controllers.volumes import VolumeProtection
from openclaw.testing.cluster.extras import service_account
from openclaw.testing.cluster.faults import Faults
from openclaw.testing.cluster.internal import Internal
from openclaw.testing.cluster.kindnames import DEFINITIONS, NAMESPACES, NODES
from openclaw.testing.cluster.metadata import created
from openclaw.testing.cluster.registry import Registry
from openclaw.testing.cluster.server import ApiServer
from openclaw.testing.cluster.store import Store, key_of
from openclaw.testing.cluster.transport import InProcessTransport
from openclaw.testing.cluster.workloads import Workloads

if TYPE_CHECKING:
    from openclaw.testing.client import Client

__all__ = ["FakeCluster"]

Object = dict[str, Any]

_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


class FakeCluster:
    """A Kubernetes API as clients see it, in this process and without sockets.

    Use it as an async context manager. `client` and `transport` speak to it; `ClusterServer` lets other
    processes and kubectl do so.

    Time is the event loop's: with a loop of virtual time, hours pass in milliseconds. With `epoch` given, all
    that the cluster does is the same each time for the same requests.

    Args:
        crds: what is served from the start: classes of resources, files of CustomResourceDefinitions, or
            the definitions themselves.
        seed: of uids and generated names.
        epoch: the date at the start, in seconds since 1970; None for the machine's.
        rbac: whether users may do only what Roles and ClusterRoles grant; administrators may do everything.
        controllers: whether there is garbage collection, namespaces end, and workloads get pods.
        workloads: how pods fare.
        latency: seconds between a change and the cluster's own controllers' look at it.
        history: changes of a collection that are kept; older watches and lists are told 410.
        audit_log: a file that gets every request as a line; None for no file. `audit` knows the last anyway.
        services: where the Services are that webhooks are named by: `namespace/name` to a URL without a path,
            whose certificate is for `name.namespace.svc`.
        machinery: schemas, patches, apply, conversion and admission, in place of the shipped ones.
    """

    def __init__(
        self,
        *,
        crds: Iterable[type[CustomResource] | str | PathLike[str] | Object] = (),
        seed: int | str = 0,
        epoch: float | None = None,
        rbac: bool = False,
        controllers: bool = True,
        workloads: Workloads | None = None,
        latency: float = 0.0,
        history: int = 2_000,
        audit_log: Path | None = None,
        services: Mapping[str, str] | None = None,
        machinery: Machinery | None = None,
    ) -> None:
        self._crds = list(crds)
        self._seed = seed
        self._epoch = epoch
        self._rbac = rbac
        self._with_controllers = controllers
        self._latency = latency
        self._history = history
        self._services = services
        self._machinery = machinery
        self.workloads = workloads or Workloads()
        self.faults = Faults()
        self.audit = Audit(audit_log)
        self._transports: list[InProcessTransport] = []

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Begin, with the namespaces that every cluster has.

        Raises StatusError for a CustomResourceDefinition that is none.
        """
        self.store = Store(history=self._history)
        late = _Late()
        machinery = self._machinery or _shipped(late, self._services)
        self.registry = Registry(machinery.schemas)
        self.clock, self.chance = Clock(self._epoch), Chance(self._seed)
        backend = Backend(self.store, self.registry, machinery, self.clock, self.chance)
        self.reader = backend.reader
        late.reader = backend.reader
        self._backend = backend
        authorizer = Authorizer(backend.reader) if self._rbac else None
        self.server = ApiServer(backend, self.faults, authorizer=authorizer, audit=self.audit)
        self._internal = Internal(backend, self.server)
        self.controllers = self._runner()
        self._seed_objects()
        self.controllers.start()
        for definition in _definitions(self._crds):
            await self._internal.create(DEFINITIONS, "", definition)
        await self.controllers.settled()

    async def stop(self) -> None:
        """End every watch and the controllers."""
        for transport in self._transports:
            await transport.close()
        self._transports.clear()
        self.server.watching.end_all()
        await self.controllers.stop()

    def _runner(self) -> ControllerRunner:
        internal = self._internal
        definitions = Internal(self._backend, self.server, "kube-apiserver")
        controllers: list[ClusterController] = [DefinitionController(definitions)]
        if self._with_controllers:
            pods = PodController(internal, self.workloads)
            controllers += [
                NamespaceController(internal),
                GarbageCollector(internal),
                DeploymentController(internal),
                ReplicaSetController(internal),
                StatefulSetController(internal),
                JobController(internal),
                VolumeProtection(internal),
                pods,
            ]
        runner = ControllerRunner(self.store, controllers, latency=self._latency)
        if self._with_controllers:

            def refresh() -> None:
                for key in pods.all_keys():
                    runner.enqueue(pods, key)

            self.workloads.on_refresh(refresh)
        return runner

    def _seed_objects(self) -> None:
        for name in _NAMESPACES:
            body: Object = {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
                "spec": {"finalizers": ["kubernetes"]},
                "status": {"phase": "Active"},
            }
            self._put(NAMESPACES, body)
        for number in range(self.workloads.nodes if self._with_controllers else 0):
            self._put(NODES, _node(f"node-{number}"))

    def _put(self, name: tuple[str, str], body: Object) -> None:
        obj = created(body, generation=False, clock=self.clock, chance=self.chance)
        self.store.create(name, key_of("", body["metadata"]["name"]), obj)

    # Doors

    def transport(
        self,
        *,
        user: str | User | None = None,
        groups: Sequence[str] = ("system:authenticated",),
        user_agent: str = "openclaw",
        namespace: str = "default",
    ) -> InProcessTransport:
        """Takes the place of `openclaw.kube.Transport`; without `user` an administrator's."""
        if isinstance(user, str):
            user = User(user, tuple(groups))
        transport = InProcessTransport(self.server, user=user, user_agent=user_agent, namespace=namespace)
        self._transports.append(transport)
        return transport

    def service_account_transport(self, namespace: str, name: str) -> InProcessTransport:
        """A transport of a service account."""
        return self.transport(user=service_account(namespace, name), namespace=namespace)

    def client(self, *, user: str | User | None = None, field_manager: str = "openclaw-testing") -> Client:
        """A small client for tests: see `openclaw.testing.Client`."""
        from openclaw.testing.client import Client

        transport = self.transport(user=user, user_agent=field_manager)
        return Client(transport=transport, field_manager=field_manager)

    @asynccontextmanager
    async def running(
        self, *reconcilers: Reconciler[Any], options: Options | None = None, user: str | User | None = None
    ) -> AsyncIterator[Manager]:
        """A manager at work on this cluster, as a task of the test; stopped at the end.

        Its requests have the User-Agent `openclaw`, by which plans of faults know them. When the manager
        fails, its error is raised at the end.
        """
        manager = Manager(*reconcilers, options=options, transport=self.transport(user=user))
        serving = asyncio.create_task(manager.serve(), name="manager")
        try:
            yield manager
        finally:
            manager.stop()
            await serving

    # What only a cluster in memory can do

    def compact(self) -> None:
        """Forget the past: watches and lists from before now are told 410."""
        self.store.compact()

    def cut_watches(self) -> None:
        """Break every watch."""
        for watch in self.server.watching.open:
            watch.cut()

    async def settled(self) -> None:
        """Wait until the cluster's own controllers have nothing to do now."""
        await self.controllers.settled()

    def get(self, kind: str, namespace: str | None, name: str) -> Object | None:
        """An object as it is stored, such as `get("deployments.apps", "default", "web")`."""
        plural, _, group = kind.partition(".")
        return self.reader.get(group, plural, namespace or "", name)

    def list(self, kind: str, namespace: str | None = None) -> Sequence[Object]:
        """The objects of a kind as they are stored, such as `list("pods")`."""
        plural, _, group = kind.partition(".")
        return tuple(self.reader.list(group, plural, namespace or ""))


class _Late:
    """The reader that machinery gets before there is a store."""

    reader: Reader

    def get(self, group: str, plural: str, namespace: str, name: str) -> Object | None:
        """One object."""
        return self.reader.get(group, plural, namespace, name)

    def list(self, group: str, plural: str, namespace: str = "") -> Iterable[Object]:
        """All objects."""
        return self.reader.list(group, plural, namespace)

    def resource(self, group: str, plural: str) -> Resource | None:
        """The resource of that name."""
        return self.reader.resource(group, plural)


def _shipped(reader: Reader, services: Mapping[str, str] | None) -> Machinery:
    from openclaw.testing.cluster.machinery import build_machinery
    from openclaw.testing.cluster.webhooks.calling import HttpCaller

    return build_machinery(reader, HttpCaller(services))


def _definitions(
    sources: Iterable[type[CustomResource] | str | PathLike[str] | Object],
) -> Iterator[Object]:
    classes: list[type[CustomResource]] = []
    for source in sources:
        if isinstance(source, type):
            classes.append(source)
        elif isinstance(source, dict):
            yield source
        else:
            yield from _parsed(Path(source).read_text())
    for versions in by_kind(classes):
        yield custom_resource_definition(*versions)


@lru_cache(maxsize=64)
def _parsed(text: str) -> tuple[Object, ...]:
    """The documents of a YAML text; simulations start a cluster with the same ones over and over."""
    return tuple(filter(None, yaml.safe_load_all(text)))


def _node(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        "spec": {},
        "status": {
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}],
            "nodeInfo": {"kubeletVersion": "v1.37.2"},
        },
    }
