"""The command lines of the control plane's components."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ADMISSION_PLUGINS: Final = ("OwnerReferencesPermissionEnforcement",)
"""Admission plugins that run besides the default ones.

The first makes `blockOwnerDeletion` need the permission to update the owner's finalizers, as many
clusters do.
"""

_SERVICE_RANGE: Final = "10.96.0.0/16"

# What needs a cloud, kubelets or volumes; node-lifecycle would evict the pods of a node without heartbeats.
_CONTROLLERS_OFF: Final = (
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-cleaner-controller",
    "certificatesigningrequest-signing-controller",
    "device-taint-eviction-controller",
    "kube-apiserver-serving-clustertrustbundle-publisher-controller",
    "legacy-serviceaccount-token-cleaner-controller",
    "node-ipam-controller",
    "node-lifecycle-controller",
    "persistentvolume-attach-detach-controller",
    "persistentvolume-expander-controller",
    "podcertificaterequest-cleaner-controller",
    "serviceaccount-token-controller",
    "taint-eviction-controller",
    "ttl-controller",
)
_SYNCS_AT_ONCE: Final = (
    "deployment",
    "replicaset",
    "statefulset",
    "job",
    "gc",
    "namespace",
    "service-endpoint",
)


@dataclass(frozen=True, slots=True)
class Files:
    """Where a control plane keeps its files, all under one folder."""

    folder: Path

    @property
    def authority(self) -> Path:
        """The certificate of the authority that signed all others."""
        return self.folder / "ca.crt"

    @property
    def authority_key(self) -> Path:
        """The authority's private key."""
        return self.folder / "ca.key"

    @property
    def server_certificate(self) -> Path:
        """The servers' certificate."""
        return self.folder / "server.crt"

    @property
    def server_key(self) -> Path:
        """The servers' private key."""
        return self.folder / "server.key"

    @property
    def service_account_key(self) -> Path:
        """The key that signs the tokens of service accounts."""
        return self.folder / "service-account.key"

    @property
    def audit_log(self) -> Path:
        """The audit log, one JSON event a line."""
        return self.folder / "audit.log"

    @property
    def audit_policy(self) -> Path:
        """What goes into the audit log."""
        return self.folder / "audit-policy.yaml"

    @property
    def etcd_data(self) -> Path:
        """The data of etcd."""
        return self.folder / "etcd"


def environment() -> dict[str, str]:
    """What the components see of ours: no proxy, no kubeconfig, nothing that changes what they do."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "GOGC": "200"}
    with contextlib.suppress(RuntimeError):
        environment["HOME"] = str(Path.home())
    return environment


def etcd(binary: Path, files: Files, client_port: int, peer_port: int) -> list[str | Path]:
    """Etcd on loopback, with speed before durability: what a crash of the machine loses is test data."""
    client, peer = (f"http://127.0.0.1:{port}" for port in (client_port, peer_port))
    return [
        binary,
        f"--data-dir={files.etcd_data}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
        f"--quota-backend-bytes={4 * 1024**3}",
    ]


def api_server(
    binary: Path,
    files: Files,
    *,
    port: int,
    etcd_port: int,
    audit: bool = False,
    feature_gates: Mapping[str, bool] | None = None,
    admission_plugins: Iterable[str] = (),
    extra: Iterable[str] = (),
) -> list[str | Path]:
    """Kube-apiserver on loopback: RBAC authorizes, client certificates and tokens authenticate."""
    arguments: list[str | Path] = [
        binary,
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        # There is no pod network that the Service `kubernetes` could lead through.
        "--endpoint-reconciler-type=none",
        f"--service-cluster-ip-range={_SERVICE_RANGE}",
        f"--tls-cert-file={files.server_certificate}",
        f"--tls-private-key-file={files.server_key}",
        f"--client-ca-file={files.authority}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={files.service_account_key}",
        f"--service-account-signing-key-file={files.service_account_key}",
        f"--enable-admission-plugins={','.join(dict.fromkeys([*ADMISSION_PLUGINS, *admission_plugins]))}",
        "--allow-privileged=true",
        "--profiling=false",
    ]
    if audit:
        arguments += [
            f"--audit-log-path={files.audit_log}",
            f"--audit-policy-file={files.audit_policy}",
            # One file, never rotated, written before the request ends: it is read while it grows.
            "--audit-log-maxsize=0",
            "--audit-log-mode=blocking",
        ]
    return [*arguments, *_gates(feature_gates), *extra]


def controller_manager(
    binary: Path, files: Files, *, kubeconfig: Path, port: int, extra: Iterable[str] = ()
) -> list[str | Path]:
    """Kube-controller-manager without the controllers that need a cloud, kubelets or volumes."""
    return [
        binary,
        f"--kubeconfig={kubeconfig}",
        f"--root-ca-file={files.authority}",
        f"--controllers=*,{','.join(f'-{name}' for name in _CONTROLLERS_OFF)}",
        *(f"--concurrent-{name}-syncs=20" for name in _SYNCS_AT_ONCE),
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--leader-elect=false",
        "--profiling=false",
        *_serving(files, kubeconfig, port),
        *extra,
    ]


def scheduler(
    binary: Path, files: Files, *, kubeconfig: Path, port: int, extra: Iterable[str] = ()
) -> list[str | Path]:
    """Kube-scheduler."""
    return [
        binary,
        f"--kubeconfig={kubeconfig}",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--leader-elect=false",
        "--profiling=false",
        *_serving(files, kubeconfig, port),
        *extra,
    ]


def _serving(files: Files, kubeconfig: Path, port: int) -> list[str]:
    return [
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={files.server_certificate}",
        f"--tls-private-key-file={files.server_key}",
        f"--authentication-kubeconfig={kubeconfig}",
        "--authentication-skip-lookup",
        f"--authorization-kubeconfig={kubeconfig}",
    ]


def _gates(gates: Mapping[str, bool] | None) -> list[str]:
    if not gates:
        return []
    return ["--feature-gates=" + ",".join(f"{name}={str(on).lower()}" for name, on in sorted(gates.items()))]
