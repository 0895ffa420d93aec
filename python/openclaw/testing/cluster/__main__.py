"""`python -m openclaw.testing.cluster`: a cluster in memory for other processes, until Ctrl-C."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from openclaw.testing.crdfiles import crd_files

_PROGRAM = "python -m openclaw.testing.cluster"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_PROGRAM,
        description="Serves a Kubernetes API in memory on loopback, says how to reach it, and runs until "
        "Ctrl-C. Nothing of it is kept. Deployments, StatefulSets and Jobs get pods, which become Ready.",
    )
    parser.add_argument(
        "--crds",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        metavar="FILE",
        help="files of CustomResourceDefinitions to install, or folders of them",
    )
    parser.add_argument("--rbac", action="store_true", help="users may do only what Roles grant them")
    parser.add_argument("--port", type=int, default=0, help="default: any that is free")
    parser.add_argument("--nodes", type=int, default=1, metavar="N", help="default: %(default)s")
    parser.add_argument(
        "--startup-seconds",
        type=float,
        default=0.0,
        metavar="S",
        help="how long a pod takes to become Ready (default: at once)",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        metavar="DIR",
        help="where kubeconfigs and certificates are kept (default: a folder that goes at the end)",
    )
    parser.add_argument("--audit-log", type=Path, metavar="FILE", help="gets each request as a line")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve a cluster until SIGINT or SIGTERM; returns the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        crds = crd_files(options.crds)
    except ValueError as error:
        parser.error(f"--crds: {error}")
    try:
        asyncio.run(_serve(options, crds))
    except ModuleNotFoundError as error:
        sys.stderr.write(f"error: {error.name} is missing: install openclaw[testing]\n")
        return 1
    return 0


async def _serve(options: argparse.Namespace, crds: Sequence[Path]) -> None:
    from openclaw.testing.cluster.cluster import FakeCluster
    from openclaw.testing.cluster.http import ClusterServer
    from openclaw.testing.cluster.workloads import Workloads

    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    workloads = Workloads(startup_seconds=options.startup_seconds, nodes=options.nodes)
    async with (
        FakeCluster(
            crds=crds, rbac=options.rbac, workloads=workloads, audit_log=options.audit_log
        ) as cluster,
        ClusterServer(cluster, port=options.port, folder=options.folder) as server,
    ):
        _say(_instructions(server.url, server.kubeconfig, crds))
        await ended.wait()


def _instructions(url: str, kubeconfig: Path, crds: Sequence[Path]) -> str:
    installed = [f"Installed: {', '.join(map(str, crds))}", ""] if crds else []
    return "\n".join(
        [
            f"Ready: {url}",
            "",
            *installed,
            "In another terminal:",
            "",
            f"    export KUBECONFIG={kubeconfig}",
            "    kubectl get namespaces",
            "    openclaw run TARGET",
            "",
            "Ctrl-C here ends it, and nothing of it is kept.",
        ]
    )


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
