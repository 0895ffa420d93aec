"""Control plane, shards, load, Prometheus and Jaeger: started together, ended together."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import aiohttp

from openclaw.cli.shard_processes import shard_names
from openclaw.testing import places
from openclaw.testing.client import Client
from openclaw.testing.controlplane import ControlPlane
from openclaw.testing.errors import ControlPlaneError
from openclaw.testing.observe.backends import Prometheus
from openclaw.testing.observe.jaeger import Jaeger
from openclaw.testing.observe.load import NAMESPACE, Load
from openclaw.testing.processes import Processes
from openclaw.testing.rds import RDSStandIn, WallClock

__all__ = ["LEASE_NAMESPACE", "Observed"]

LEASE_NAMESPACE: Final = "openclaw-system"
_SPEED: Final = 60.0  # of the clock of the stand-in for RDS
_GRACE: Final = 10.0  # seconds
_POLL: Final = 0.1  # seconds
# The stand-in does in seconds what takes RDS minutes.
_QUICK: Final = {
    **{f"OPENCLAW_RDS_POLL_{phase}": "1s" for phase in ("CREATING", "MODIFYING", "AVAILABLE", "SLOW")},
    "OPENCLAW_RDS_SETTLE": "1s",
    "OPENCLAW_RDS_VISIBLE": "1s",
}
_TRACING: Final = """\
apiVersion: apiserver.config.k8s.io/v1
kind: TracingConfiguration
endpoint: 127.0.0.1:{port}
samplingRatePerMillion: 0
"""


@dataclass(frozen=True, slots=True)
class Observed:
    """What runs. Made by `running`.

    Attributes:
        plane: the control plane; its API server continues the operator's traces.
        client: of an administrator.
        prometheus: to be asked.
        jaeger: its `store` is to be asked; None where there is none, and then no traces.
        metrics: the addresses of the shards' `/metrics`, by the names of the shards.
        debug: the addresses of their `/debug.json`.
        rds: the stand-in for RDS.
        folder: with the logs: `operator.log`, `prometheus.log`, `jaeger.log`.
    """

    plane: ControlPlane
    client: Client
    prometheus: Prometheus
    jaeger: Jaeger | None
    metrics: dict[str, str]
    debug: dict[str, str]
    rds: RDSStandIn
    folder: Path
    _operator: _Operator

    @contextlib.asynccontextmanager
    async def one_more_shard(self) -> AsyncIterator[str]:
        """A shard that joins the others, and leaves them in order at the end of the block; its name."""
        (name,) = set(shard_names(len(self.metrics) + 1)) - set(self.metrics)
        self._operator.start(name, "--shard", name, "--metrics-address", "none")
        try:
            yield name
        finally:
            # Apart from the loop, on which the load goes on.
            await asyncio.to_thread(self._operator.end, name)

    @classmethod
    @contextlib.asynccontextmanager
    async def running(
        cls,
        *,
        shards: int = 3,
        claws: int = 30,
        traces: bool = True,
        crds: Path = Path("crds"),
        monitoring: Path = Path("deploy/monitoring"),
        timeout: float = 180.0,
    ) -> AsyncIterator[Observed]:
        """Start everything; at the end of the block it ends.

        Args:
            shards: how many.
            claws: how many OpenClaws are declared and changed.
            traces: start a Jaeger, too, which has the operator's traces as the API server continues them.
            crds: the folder of the CRDs.
            monitoring: the folder of the alerts.
            timeout: seconds within which each part must be ready.

        Raises:
            BinaryNotFoundError: Prometheus, Jaeger or the control plane is not on this machine.
            ControlPlaneError: a part does not come up; with the end of its log.
        """
        names = shard_names(shards)
        http, grpc, query, *others, prometheus_port = places.free_ports(6)
        jaeger = Jaeger(http, grpc, query, others) if traces else None
        first = _row_of_ports(2 * shards)
        metrics = {name: f"127.0.0.1:{first + number}" for number, name in enumerate(names)}
        debug = {name: f"127.0.0.1:{first + shards + number}" for number, name in enumerate(names)}
        prometheus = Prometheus(prometheus_port, metrics, monitoring / "alerts.yaml")
        folder = places.new_folder()
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            processes = Processes(folder)
            stack.callback(processes.stop)
            parts = _Parts(processes, timeout)
            environment = {name: text for name, text in os.environ.items() if not name.startswith("OTEL_")}
            processes.start("prometheus", prometheus.command(folder), environment)

            api_server_args = []
            if jaeger is not None:
                processes.start("jaeger", jaeger.command(folder), environment)
                tracing = folder / "tracing.yaml"
                tracing.write_text(_TRACING.format(port=grpc))
                api_server_args.append(f"--tracing-config-file={tracing}")
                environment |= {
                    "OTEL_EXPORTER_OTLP_ENDPOINT": jaeger.otlp_url,
                    "OTEL_BSP_SCHEDULE_DELAY": "500",
                }
            plane = await stack.enter_async_context(
                ControlPlane(
                    controller_manager=True,
                    scheduler=True,
                    nodes=1,
                    crds=sorted(crds.glob("*.yaml")),
                    api_server_args=api_server_args,
                    timeout=timeout,
                )
            )
            rds = await stack.enter_async_context(RDSStandIn(clock=WallClock(_SPEED)))
            client = await stack.enter_async_context(Client(plane.kubeconfig))
            for namespace in (LEASE_NAMESPACE, NAMESPACE):
                plane.create_namespace(namespace)
            if jaeger is not None:
                await parts.ready("jaeger", jaeger.store.ready)
            environment |= _QUICK | {f"AWS_ENDPOINT_URL_{name}": rds.url for name in ("RDS", "STS")}
            # As an administrator: the API server continues the traces of those only, see docs/tracing.md.
            operator = _Operator(processes, plane.kubeconfig, environment)
            addresses = ["--metrics-address", metrics[names[0]], "--debug-address", debug[names[0]]]
            operator.start("operator", "--shards", str(shards), *addresses)
            stack.callback(operator.end, "operator")
            for address in metrics.values():
                await parts.ready("operator", partial(_answers, f"http://{address}/readyz"))
            await parts.ready("prometheus", prometheus.ready)
            load = Load(client, rds, claws)
            await load.declare()
            changing = asyncio.create_task(load.change())
            stack.push_async_callback(_cancelled, changing)
            yield cls(plane, client, prometheus, jaeger, metrics, debug, rds, folder, operator)
            if changing.done():
                changing.result()  # it ends by an error only


class _Operator:
    """Starts and ends processes of the operator."""

    def __init__(self, processes: Processes, kubeconfig: Path, environment: Mapping[str, str]) -> None:
        self._processes = processes
        self._environment = environment
        self._command = [sys.executable, "-m", "openclaw.cli.main", "run", "--kubeconfig", str(kubeconfig)]
        self._command += ["--lease-namespace", LEASE_NAMESPACE, "--log-format", "json"]

    def start(self, name: str, *arguments: str) -> None:
        self._processes.start(name, [*self._command, *arguments], self._environment)

    def end(self, name: str) -> None:
        self._processes.end(name, grace=_GRACE)


class _Parts:
    """Waits for processes, and says why one does not come."""

    def __init__(self, processes: Processes, timeout: float) -> None:
        self._processes = processes
        self._timeout = timeout

    async def ready(self, name: str, check: Callable[[], Awaitable[bool]]) -> None:
        end = asyncio.get_running_loop().time() + self._timeout
        while not await check():
            running = self._processes.running(name)
            if not running or asyncio.get_running_loop().time() > end:
                log = self._processes.log_file(name).read_text(errors="replace")[-3000:]
                what = "is not ready" if running else "has ended"
                raise ControlPlaneError(f"{name} {what}; the end of its log:\n{log}")
            await asyncio.sleep(_POLL)


async def _answers(url: str) -> bool:
    try:
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return answer.status == 200  # noqa: PLR2004 - OK
    except (aiohttp.ClientError, TimeoutError):
        return False


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def _row_of_ports(count: int) -> int:
    """The first of `count` ports in a row that nobody listens on now.

    Raises:
        ControlPlaneError: none was found.
    """
    for first in places.free_ports(50):
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for number in range(count):
                probe = stack.enter_context(socket.socket())
                probe.bind(("127.0.0.1", first + number))
            return first
    raise ControlPlaneError(f"there are no {count} free ports in a row")
