"""A control plane of its own for each peer and round, the load driver, and at most one operator at a time."""

from __future__ import annotations

import contextlib
import json
import secrets
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Final, Self

from bench.operators import audit
from bench.operators.audit import AuditTail
from bench.operators.peer import BUILT, ROOT, Operator, Peer, PeerError
from bench.operators.process import cpu_seconds, forget_peak, machine_cpu, memory
from openclaw.testing import ControlPlane

OPERATOR: Final = "bench-operator"
DRIVER: Final = "bench-driver"
MASTERS: Final = "system:masters"
CRD: Final = ROOT / "bench" / "operators" / "manifests" / "widgets-crd.yaml"
DRIVER_SOURCE: Final = ROOT / "bench" / "operators" / "driver"
DRIVER_BINARY: Final = BUILT / "driver"
_MEMORY: Final = Path("/dev/shm")
FOREIGN: Final = 0.12
"""Cores that others may use while we measure; above, a run counts as disturbed."""


def build_driver() -> None:
    """Build the load driver unless it is current; raises PeerError."""
    BUILT.mkdir(parents=True, exist_ok=True)
    command = ["go", "build", "-o", str(DRIVER_BINARY), "."]
    try:
        done = subprocess.run(command, cwd=DRIVER_SOURCE, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise PeerError("the load driver needs Go: it is not on PATH") from None
    if done.returncode:
        raise PeerError(f"the load driver: {done.stderr.strip()[-1000:]}")


def drive(plane: ControlPlane, token: str, command: str, namespace: str, **flags: object) -> dict[str, Any]:
    """Run the load driver against a control plane; returns what it says.

    Raises RuntimeError when it fails.
    """
    plane.create_namespace(namespace)
    options = {"server": plane.url, "token": token, "ca": plane.folder / "ca.crt"}
    options |= {"namespace": namespace, **flags}
    arguments = [f"--{name}={value}" for name, value in options.items()]
    done = subprocess.run([DRIVER_BINARY, command, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"driver {command}: {done.stderr.strip()}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


class Session:
    """A fresh control plane with the CRD, in which one peer is measured."""

    def __init__(self, peer: Peer, *, concurrency: int, quiet: float) -> None:
        self.peer, self.quiet = peer, quiet
        self.exits: list[dict[str, Any]] = []
        self._concurrency = concurrency
        self._operator: Operator | None = None
        self._exit = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            base = _MEMORY if _MEMORY.is_dir() else None
            self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-", dir=base)))
            self.audit_log = self.folder / "audit.log"
            self._token = secrets.token_hex(16)
            self.plane = stack.enter_context(ControlPlane(crds=[CRD], api_server_args=self._arguments()))
            self._kubeconfig = self.plane.kubeconfig_for(OPERATOR, [MASTERS])
            stack.callback(self.stop_operator)
            self._exit = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    def _arguments(self) -> list[str]:
        policy, tokens = self.folder / "audit-policy.json", self.folder / "tokens.csv"
        policy.write_text(audit.policy(OPERATOR))
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
    def operator(self) -> Operator:
        """The operator that runs."""
        if self._operator is None:
            raise RuntimeError("no operator runs")
        return self._operator

    def start_operator(self) -> Operator:
        """Start the operator and do not wait for anything."""
        self._operator = Operator(self.peer, self._kubeconfig, self.folder, self.audit_log, self._concurrency)
        return self._operator

    def running_operator(self) -> Operator:
        """The operator, started if need be, that watches and is at rest."""
        if self._operator is not None:
            return self._operator
        requests = AuditTail(self.audit_log)
        operator = self.start_operator()
        deadline = time.monotonic() + 120
        watches = 0
        while not watches:
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"{self.peer.name} has opened no watch: {operator.log.read_text()[-1500:]}"
                )
            time.sleep(0.2)
            watches += sum(n for name, n in requests.take()["by_verb"].items() if name.startswith("watch "))
        operator.sampler.wait_quiet(window=2)
        return operator

    def stop_operator(self) -> None:
        """End the operator, if one runs."""
        if self._operator is not None:
            self.exits.append(self._operator.stop())
            self._operator = None

    def driver(self, command: str, namespace: str, **flags: object) -> dict[str, Any]:
        """Run the load driver; returns what it says.

        Raises RuntimeError when it fails.
        """
        return drive(self.plane, self._token, command, namespace, **flags)

    def cpu(self) -> dict[str, float]:
        """CPU seconds of all parties so far."""
        processes = self.plane._running
        return {
            "operator": cpu_seconds(self.operator.pid),
            "apiserver": cpu_seconds(processes.pid("kube-apiserver")),
            "etcd": cpu_seconds(processes.pid("etcd")),
            "harness": time.process_time(),
            **machine_cpu(),
        }


class Meter:
    """What happens between its making and `read`: CPU of all parties, the operator's requests and counts."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._operator = session.operator
        forget_peak(self._operator.pid)
        self._requests = AuditTail(session.audit_log)
        self._counts = self._operator.counters.read()
        self.began = self._operator.sampler.now()
        self._cpu = session.cpu()

    def read(self, driver_cpu: float = 0.0) -> dict[str, Any]:
        """The figures; `foreign` is the CPU time that nobody here used."""
        cpu = {name: now - self._cpu[name] for name, now in self._session.cpu().items()}
        known = sum(cpu[name] for name in ("operator", "apiserver", "etcd", "harness")) + driver_cpu
        wall = self._operator.sampler.now() - self.began
        foreign = cpu["busy"] - known
        counts = self._operator.counters.read()
        return {
            "wall_s": round(wall, 3),
            "operator_cpu_s": round(cpu["operator"], 3),
            "apiserver_cpu_s": round(cpu["apiserver"], 3),
            "foreign_cores": round(foreign / wall, 3),
            "stolen_cores": round(cpu["steal"] / wall, 3),
            "disturbed": foreign > FOREIGN * wall,
            "requests": self._requests.take(),
            "counts": {name: counts[name] - self._counts[name] for name in counts},
            "memory": memory(self._operator.pid),
        }
