"""A control plane with or without the feature gate, the load driver, each shard's way to the API server."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

from bench.operators import audit
from bench.operators.audit import AuditTail
from bench.operators.session import CRD, DRIVER, MASTERS, drive
from bench.shards.moved import names
from openclaw.testing import ControlPlane

GATE: Final = "ShardedListAndWatch"
SINGLE: Final = "bench-single"
"""The name of the operator that is not sharded."""
MOST_SHARDS: Final = 10
_MEMORY: Final = Path("/dev/shm")


class Plane:
    """An etcd and a kube-apiserver, fresh, where every shard is a user of its own.

    Args:
        filtered: whether the server selects by `shardSelector`.
    """

    def __init__(self, *, filtered: bool) -> None:
        self.filtered = filtered
        self._token = secrets.token_hex(16)
        self._kubeconfigs: dict[str, Path] = {}
        self._exit = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            base = _MEMORY if _MEMORY.is_dir() else None
            self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-", dir=base)))
            self.audit_log = self.folder / "audit.log"
            self.control = stack.enter_context(
                ControlPlane(
                    crds=[CRD], feature_gates={GATE: self.filtered}, api_server_args=self._arguments()
                )
            )
            self._exit = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    def _arguments(self) -> list[str]:
        policy, tokens = self.folder / "audit-policy.json", self.folder / "tokens.csv"
        policy.write_text(audit.policy(SINGLE, *names(MOST_SHARDS)))
        tokens.write_text(f'{self._token},{DRIVER},{DRIVER},"{MASTERS}"\n')
        return [
            f"--audit-policy-file={policy}",
            f"--audit-log-path={self.audit_log}",
            "--audit-log-mode=blocking",
            "--audit-log-maxsize=0",
            f"--token-auth-file={tokens}",
            "--max-requests-inflight=4000",
            "--max-mutating-requests-inflight=2000",
        ]

    @property
    def port(self) -> int:
        """The API server's."""
        return urlsplit(self.control.url).port or 0

    def pid(self, component: str) -> int:
        """The process of `kube-apiserver` or `etcd`."""
        return self.control._running.pid(component)

    def kubeconfig(self, user: str) -> Path:
        """A user's way to the API server."""
        if user not in self._kubeconfigs:
            self._kubeconfigs[user] = self.control.kubeconfig_for(user, [MASTERS])
        return self._kubeconfigs[user]

    def drive(self, command: str, namespace: str, **flags: object) -> dict[str, Any]:
        """Run the load driver; see `bench.operators.session.drive`."""
        return drive(self.control, self._token, command, namespace, **flags)

    def requests(self) -> AuditTail:
        """The shards' requests from now on."""
        return AuditTail(self.audit_log)

    def uids(self) -> list[str]:
        """The uid of each Widget."""
        found: list[str] = []
        following = ""
        while True:
            page = self._send("GET", f"/apis/bench.example.com/v1/widgets?limit=2000&continue={following}")
            found += [item["metadata"]["uid"] for item in page["items"]]
            following = page["metadata"].get("continue", "")
            if not following:
                return found

    def empty(self, namespace: str) -> None:
        """Delete the Widgets and ConfigMaps of a namespace."""
        for prefix, kind in (("/apis/bench.example.com/v1", "widgets"), ("/api/v1", "configmaps")):
            self._send("DELETE", f"{prefix}/namespaces/{namespace}/{kind}")

    def _send(self, method: str, path: str) -> Any:
        return self.control._requests.send(method, path, timeout=120)
