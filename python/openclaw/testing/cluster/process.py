"""A cluster in memory as a process of its own, with the methods of a `ControlPlane`."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from openclaw.testing import audit, places
from openclaw.testing.credentials import Credentials
from openclaw.testing.errors import ControlPlaneError
from openclaw.testing.processes import Processes, remove_leftovers
from openclaw.testing.requests import Requests

__all__ = ["ClusterProcess"]

_NAME: Final = "cluster"
_POLL_SECONDS: Final = 0.02
_READY: Final = "Ready: https://"


class ClusterProcess:
    """Serves a `FakeCluster` over HTTPS from another process; that ends when this one does.

    Use it as a context manager, or call `start` and `stop`.

    Args:
        crds: files of CustomResourceDefinitions to install.
        rbac: users may do only what Roles grant them.
        nodes: how many nodes pods are spread over.
        startup_seconds: how long a pod takes to become Ready.
        timeout: seconds within which it must be ready.
    """

    def __init__(
        self,
        *,
        crds: Sequence[Path] = (),
        rbac: bool = True,
        nodes: int = 1,
        startup_seconds: float = 0.0,
        timeout: float = 30.0,
    ) -> None:
        self._crds = [Path(crd).absolute() for crd in crds]
        self._options = ["--rbac"] if rbac else []
        self._options += ["--nodes", str(nodes), "--startup-seconds", str(startup_seconds)]
        self._timeout = timeout
        self._processes: Processes | None = None
        self._credentials: Credentials | None = None
        self._port = 0

    def start(self) -> Self:
        """Start it and wait until it is ready; does nothing when it runs already.

        Raises ControlPlaneError when it ended or is not ready in time; shows the end of its log.
        """
        if self._processes is not None:
            return self
        for base in places.base_folders():
            remove_leftovers(base)
        folder = places.new_folder()
        self._processes = Processes(folder)
        try:
            [self._port] = places.free_ports(1)
            command: list[str | Path] = [sys.executable, "-m", "openclaw.testing.cluster", *self._options]
            command += ["--port", str(self._port), "--folder", folder, "--audit-log", self._audit_log]
            if self._crds:
                command += ["--crds", *self._crds]
            self._processes.start(_NAME, command, os.environ)
            self._wait()
            # Only now: until it is ready, the server writes these files itself.
            self._credentials = Credentials(folder)
            self._credentials.write_admin(self.url)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End it; may be called again."""
        processes, self._processes = self._processes, None
        if processes is not None:
            processes.end(_NAME, grace=1.0)
            processes.stop()
            shutil.rmtree(processes.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def folder(self) -> Path:
        """Its folder: log, certificates, kubeconfigs."""
        return self._running.folder

    @property
    def url(self) -> str:
        """The URL of the API server."""
        return f"https://127.0.0.1:{self._port}"

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of an administrator."""
        return self._known.admin_kubeconfig

    def kubeconfig_for(self, user: str, groups: Sequence[str] = (), *, namespace: str = "default") -> Path:
        """Write a kubeconfig that authenticates as `user` by a client certificate; returns its path."""
        return self._known.write_user(self.url, user, groups, namespace)

    def service_account_kubeconfig(self, namespace: str, name: str) -> Path:
        """Write a kubeconfig that authenticates by a token of this service account; returns its path.

        The service account is created when there is none; it may do what RBAC grants it.

        Raises ControlPlaneError, for instance when there is no such namespace.
        """
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        self._requests.create(path, {"metadata": {"name": name}})
        token: str = self._requests.send("POST", f"{path}/{name}/token", {})["status"]["token"]
        return self._known.write_token(self.url, name, token, namespace, in_file=False)

    def audit_events(self, user: str | None = None) -> list[dict[str, Any]]:
        """Every request answered so far, of one user or of all, as audit events of the level Metadata."""
        events = audit.read_events(self._audit_log)
        return events if user is None else audit.of_user(events, user)

    def logs(self) -> str:
        """What it said so far."""
        file = self._running.log_file(_NAME)
        return file.read_text(errors="replace") if file.exists() else ""

    def _wait(self) -> None:
        deadline = time.monotonic() + self._timeout
        while _READY not in self.logs():
            if not self._running.running(_NAME):
                raise ControlPlaneError(f"the cluster ended:\n{self._running.log_tail(_NAME)}")
            if time.monotonic() > deadline:
                raise ControlPlaneError(
                    f"the cluster was not ready within {self._timeout:g} s:\n{self._running.log_tail(_NAME)}"
                )
            time.sleep(_POLL_SECONDS)

    @property
    def _audit_log(self) -> Path:
        return self.folder / "audit.log"

    @property
    def _running(self) -> Processes:
        if self._processes is None:
            raise ControlPlaneError("the cluster is not running: call start(), or use it with `with`")
        return self._processes

    @property
    def _known(self) -> Credentials:
        if self._credentials is None:
            raise ControlPlaneError("the cluster is not running: call start(), or use it with `with`")
        return self._credentials

    @property
    def _requests(self) -> Requests:
        return self._known.requests(self._port)
