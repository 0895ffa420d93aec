"""A real control plane on loopback: etcd and kube-apiserver, and as much more as a test needs."""

from __future__ import annotations

import asyncio
import http.client
import os
import shutil
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import yaml

from openclaw.kube.paths import collection_path
from openclaw.testing import audit as audit_log
from openclaw.testing import components, places
from openclaw.testing.binaries import find_binary
from openclaw.testing.certificates import write_private
from openclaw.testing.components import Files
from openclaw.testing.credentials import ADMIN_GROUP, Credentials
from openclaw.testing.discovery import kinds_of
from openclaw.testing.errors import ControlPlaneError
from openclaw.testing.processes import Processes, remove_leftovers
from openclaw.testing.requests import RequestError, Requests

ETCD: Final = "etcd"
API_SERVER: Final = "kube-apiserver"
CONTROLLER_MANAGER: Final = "kube-controller-manager"
SCHEDULER: Final = "kube-scheduler"
NODE: Final = "node"

_PORT_ATTEMPTS: Final = 5
_PORT_TAKEN: Final = "address already in use"
_POLL: Final = 0.05  # seconds
_NOT_RUNNING: Final = "the control plane is not running: call start() or use `with`"
_AUDIT_MARKER: Final = "/version?openclaw-audit-marker="
_CRD_PATH: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class ControlPlane:
    """etcd and kube-apiserver, and what else is asked for, on free loopback ports.

    Use it as a context manager, `with` or `async with`, or call `start` and `stop`. All methods block,
    most of them for milliseconds; from a coroutine that must not wait call the slower ones (`start`,
    `stop`, `start_api_server`) through `asyncio.to_thread`. Whatever ends this process ends these, too.

    Args:
        controller_manager: run kube-controller-manager (garbage collection, Deployments, namespaces …).
        scheduler: run kube-scheduler.
        nodes: so many node stand-ins, in a process of their own, that make pods Running and Ready; see
            `openclaw.testing.node`. Without a scheduler they take pods by themselves.
        audit: record each request; True means at level "Metadata".
        feature_gates: of kube-apiserver.
        admission_plugins: that run besides the default ones and OwnerReferencesPermissionEnforcement.
        api_server_args: further arguments of kube-apiserver; these win.
        controller_manager_args: further arguments of kube-controller-manager.
        scheduler_args: further arguments of kube-scheduler.
        crds: files of CustomResourceDefinitions that are created before the controller manager starts.
            Its garbage collector learns of those created later within 30 seconds only.
        directory: where everything is kept, and found again at the next start. Default: a folder that
            is removed at the end.
        timeout: seconds within which the control plane must be ready.

    Without a controller manager nobody makes the service account `default` of a namespace, and a pod is
    refused without it: it is made for the namespace `default`; for others see `create_namespace`.
    """

    def __init__(
        self,
        *,
        controller_manager: bool = False,
        scheduler: bool = False,
        nodes: int = 0,
        audit: bool | audit_log.AuditLevel = False,
        feature_gates: Mapping[str, bool] | None = None,
        admission_plugins: Iterable[str] = (),
        api_server_args: Iterable[str] = (),
        controller_manager_args: Iterable[str] = (),
        scheduler_args: Iterable[str] = (),
        crds: Iterable[Path | str] = (),
        directory: Path | str | None = None,
        timeout: float = 60.0,
    ) -> None:
        self._wanted = {CONTROLLER_MANAGER: controller_manager, SCHEDULER: scheduler, NODE: nodes > 0}
        self._nodes = nodes
        self._audit_level: audit_log.AuditLevel | None = "Metadata" if audit is True else audit or None
        self._feature_gates = dict(feature_gates or {})
        self._admission_plugins = tuple(admission_plugins)
        self._extra = {
            API_SERVER: tuple(api_server_args),
            CONTROLLER_MANAGER: tuple(controller_manager_args),
            SCHEDULER: tuple(scheduler_args),
        }
        self._crds = tuple(Path(file) for file in crds)
        self._directory = None if directory is None else Path(directory).absolute()
        self._timeout = timeout
        self._processes: Processes | None = None
        self._credentials: Credentials | None = None
        self._admin: Requests | None = None
        self._ports: dict[str, int] = {}

    # Life

    def start(self) -> Self:
        """Start everything and wait until it is ready; does nothing when it runs already.

        Raises:
            BinaryNotFoundError: a binary is missing; says how to get it.
            ControlPlaneError: a component ended or is not ready in time; shows the end of its log.
        """
        if self._processes is not None:
            return self
        needed = [ETCD, API_SERVER, *(name for name in (CONTROLLER_MANAGER, SCHEDULER) if self._wanted[name])]
        binaries = {name: find_binary(name) for name in needed}
        for base in places.base_folders():
            remove_leftovers(base)
        if self._directory is not None:
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = self._directory or places.new_folder()
        self._processes = Processes(folder, keep_folder=self._directory is not None)
        try:
            self._credentials = Credentials(folder)
            if self._audit_level is not None:
                write_private(Files(folder).audit_policy, audit_log.policy(self._audit_level))
            self._start_servers(binaries)
            self._create_first_objects()
            self._start_controllers(binaries)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End everything; removes the folder unless it was given. May be called again."""
        processes, self._processes = self._processes, None
        if processes is None:
            return
        for name in (NODE, SCHEDULER, CONTROLLER_MANAGER, API_SERVER):
            processes.end(name)
        # Killed at once where its data goes away with it.
        processes.end(ETCD, grace=5.0 if self._directory else 0.0)
        processes.stop()
        if self._directory is None:
            shutil.rmtree(processes.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        starting = asyncio.ensure_future(asyncio.to_thread(self.start))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # The thread can't be cancelled: let it come to its end, then undo what it did.
            await asyncio.wait([starting])
            await asyncio.to_thread(self.stop)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.shield(asyncio.to_thread(self.stop))

    # What a test needs

    @property
    def folder(self) -> Path:
        """The folder of this control plane: logs, certificates, kubeconfigs, data."""
        return self._running.folder

    @property
    def url(self) -> str:
        """The URL of the API server."""
        if self._processes is None:
            raise ControlPlaneError(_NOT_RUNNING)
        return f"https://127.0.0.1:{self._ports[API_SERVER]}"

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of an administrator (a client certificate of the group system:masters)."""
        return self._known.admin_kubeconfig

    def kubeconfig_for(self, user: str, groups: Sequence[str] = (), *, namespace: str = "default") -> Path:
        """Write a kubeconfig that authenticates as `user` by a client certificate; returns its path."""
        return self._known.write_user(self.url, user, groups, namespace)

    def service_account_kubeconfig(
        self, namespace: str, name: str, *, expires_in: int = 24 * 3600, token_file: bool = False
    ) -> Path:
        """Write a kubeconfig that authenticates by a token of this service account; returns its path.

        The service account is created when there is none; it may do what RBAC grants it. With `token_file`
        the kubeconfig names a file beside it (`<kubeconfig>.token`) instead of holding the token, as a pod
        does. `expires_in` is in seconds, at least 600.

        Raises ControlPlaneError, for instance when there is no such namespace.
        """
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        self._requests.create(path, {"metadata": {"name": name}})
        request = {"spec": {"expirationSeconds": expires_in}}
        token: str = self._requests.send("POST", f"{path}/{name}/token", request)["status"]["token"]
        return self._known.write_token(self.url, name, token, namespace, in_file=token_file)

    def create_namespace(self, name: str, *, labels: Mapping[str, str] | None = None) -> None:
        """Create a namespace with its service account `default`; does nothing about what exists."""
        metadata = {"name": name, "labels": dict(labels or {})}
        self._requests.create("/api/v1/namespaces", {"metadata": metadata})
        self._requests.create(f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}})

    def audit_events(self, user: str | None = None) -> list[dict[str, Any]]:
        """The audit events of every request answered so far, of one user or of all.

        Each request is there once, at the latest stage it reached; a watch that goes on is at the stage
        ResponseStarted.

        Raises ControlPlaneError when the control plane was not started with `audit`.
        """
        if self._audit_level is None:
            raise ControlPlaneError("there is no audit log: start ControlPlane(audit=True)")
        log = Files(self.folder).audit_log
        if self._running.running(API_SERVER):
            # What was written when this request is in the log includes all requests answered before it.
            marker = f"{_AUDIT_MARKER}{uuid.uuid4()}"
            before = log.stat().st_size
            self._requests.send("GET", marker)
            self._wait(lambda: audit_log.missing_after(log, before, marker), API_SERVER)
        events = audit_log.read_events(log)
        events = [event for event in events if not event["requestURI"].startswith(_AUDIT_MARKER)]
        return events if user is None else audit_log.of_user(events, user)

    def logs(self, component: str) -> str:
        """What a component (by the name of its binary, or "node") has written to its log so far."""
        file = self._running.log_file(component)
        return file.read_text(errors="replace") if file.exists() else ""

    # Faults

    def kill_api_server(self) -> None:
        """End kube-apiserver by SIGKILL; its port is free until `start_api_server`."""
        self._running.end(API_SERVER)

    def start_api_server(self) -> None:
        """Start kube-apiserver again at the same URL, on the same data, and wait until it is ready."""
        self._launch_api_server(find_binary(API_SERVER))
        self._await_api_server()

    def pause(self, component: str) -> None:
        """Freeze a component (SIGSTOP): connections to it stay open and nothing is answered."""
        self._running.send_signal(component, signal.SIGSTOP)

    def resume(self, component: str) -> None:
        """Let a component go on that was paused."""
        self._running.send_signal(component, signal.SIGCONT)

    # Starting

    def _start_servers(self, binaries: Mapping[str, Path]) -> None:
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            names = ("etcd-peer", ETCD, API_SERVER, CONTROLLER_MANAGER, SCHEDULER)
            self._ports = dict(zip(names, places.free_ports(len(names)), strict=True))
            command = components.etcd(
                binaries[ETCD], Files(self.folder), self._ports[ETCD], self._ports["etcd-peer"]
            )
            self._running.start(ETCD, command, components.environment())
            # At once: it waits for etcd by itself.
            self._launch_api_server(binaries[API_SERVER])
            try:
                self._await_api_server()
            except ControlPlaneError as error:
                # Somebody took a port between our look and our use of it.
                if attempt == _PORT_ATTEMPTS or _PORT_TAKEN not in str(error):
                    raise
                self._running.end(API_SERVER)
                self._running.end(ETCD)
            else:
                break
        self._known.write_admin(self.url)

    def _launch_api_server(self, binary: Path) -> None:
        command = components.api_server(
            binary,
            Files(self.folder),
            port=self._ports[API_SERVER],
            etcd_port=self._ports[ETCD],
            audit=self._audit_level is not None,
            feature_gates=self._feature_gates,
            admission_plugins=self._admission_plugins,
            extra=self._extra[API_SERVER],
        )
        self._running.start(API_SERVER, command, components.environment())
        self._admin = self._known.requests(self._ports[API_SERVER])

    def _await_api_server(self) -> None:
        self._wait(lambda: self._requests.healthy("/readyz"), API_SERVER)

    def _create_first_objects(self) -> None:
        for file in self._crds:
            for crd in yaml.safe_load_all(file.read_text()):
                if crd:
                    self._requests.create(_CRD_PATH, crd)
                    paths = [collection_path(kind) for kind in kinds_of(crd)]
                    self._wait(partial(self._first_problem, paths), API_SERVER)
        if not self._wanted[CONTROLLER_MANAGER]:
            self.create_namespace("default")

    def _first_problem(self, paths: Iterable[str]) -> str | None:
        return next(filter(None, map(self._requests.healthy, paths)), None)

    def _start_controllers(self, binaries: Mapping[str, Path]) -> None:
        files = Files(self.folder)
        commands = {CONTROLLER_MANAGER: components.controller_manager, SCHEDULER: components.scheduler}
        for name, command in commands.items():
            if self._wanted[name]:
                # With all rights: what is under test is not how these are authorized.
                kubeconfig = self.kubeconfig_for(f"system:{name}", [ADMIN_GROUP])
                arguments = command(
                    binaries[name],
                    files,
                    kubeconfig=kubeconfig,
                    port=self._ports[name],
                    extra=self._extra[name],
                )
                self._running.start(name, arguments, components.environment())
        if self._wanted[NODE]:
            self._start_node()
        if self._wanted[CONTROLLER_MANAGER]:
            health = self._known.requests(self._ports[CONTROLLER_MANAGER])
            self._wait(lambda: health.healthy("/healthz"), CONTROLLER_MANAGER)
            account = "/api/v1/namespaces/default/serviceaccounts/default"
            self._wait(lambda: self._requests.healthy(account), CONTROLLER_MANAGER)
        if self._wanted[SCHEDULER]:
            health = self._known.requests(self._ports[SCHEDULER])
            self._wait(lambda: health.healthy("/readyz"), SCHEDULER)
        if self._wanted[NODE]:
            self._wait(self._node_missing, NODE)

    def _start_node(self) -> None:
        kubeconfig = self.kubeconfig_for("openclaw-node-stand-in", [ADMIN_GROUP])
        command = [sys.executable, "-m", "openclaw.testing.node", "--kubeconfig", str(kubeconfig)]
        command += ["--nodes", str(self._nodes)]
        if not self._wanted[SCHEDULER]:
            command.append("--bind")
        self._running.start(NODE, command, os.environ)

    def _node_missing(self) -> str | None:
        # The mark that admission puts on new nodes comes off last.
        nodes: list[Any] = self._requests.send("GET", "/api/v1/nodes")["items"]
        usable = sum(not node["spec"].get("taints") for node in nodes)
        return None if usable >= self._nodes else f"{usable} of {self._nodes} nodes are usable"

    def _wait(self, problem: Callable[[], str | None], component: str) -> None:
        """Wait until `problem` returns None, all processes living meanwhile."""
        deadline = time.monotonic() + self._timeout
        while True:
            for name in self._running.names():
                status = self._running.exit_status(name)
                if status is not None:
                    raise ControlPlaneError(
                        f"{name} ended with status {status}:\n{self._running.log_tail(name)}"
                    )
            try:
                said = problem()
            except (OSError, http.client.HTTPException, RequestError) as error:
                said = str(error)
            if said is None:
                return
            if time.monotonic() > deadline:
                tail = self._running.log_tail(component)
                raise ControlPlaneError(
                    f"{component} is not ready after {self._timeout:g} s ({said}); its log ends:\n{tail}"
                )
            time.sleep(_POLL)

    # Parts

    @property
    def _running(self) -> Processes:
        if self._processes is None:
            raise ControlPlaneError(_NOT_RUNNING)
        return self._processes

    @property
    def _known(self) -> Credentials:
        if self._processes is None or self._credentials is None:
            raise ControlPlaneError(_NOT_RUNNING)
        return self._credentials

    @property
    def _requests(self) -> Requests:
        if self._processes is None or self._admin is None:
            raise ControlPlaneError(_NOT_RUNNING)
        return self._admin
