"""`openclaw demo`: the operator at work on this machine, on a cluster in memory or a real control plane."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any

from openclaw.cli.errors import CommandError

__all__ = ["register"]


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "demo",
        help="show the operator at work on this machine",
        description="Serves a Kubernetes API in memory on loopback, runs the operator as three shards under "
        "its generated role, and shows declared OpenClaw objects become Deployments, Services and Ingresses, "
        "a shard die and another take over. Ends by itself; the exit status is not 0 if anything does not "
        "converge.",
    )
    parser.add_argument(
        "--control-plane",
        choices=("memory", "real"),
        default="memory",
        help="memory: an API server in memory, which needs nothing. real: etcd, kube-apiserver, "
        "kube-controller-manager and kube-scheduler, see make control-plane (default: %(default)s)",
    )
    parser.add_argument(
        "--keep",
        action="store_true",
        help="leave everything running at the end, until Ctrl-C, and say how to use it",
    )
    parser.add_argument(
        "--samples",
        type=Path,
        default=Path("examples/openclaw"),
        metavar="DIR",
        help="the samples to apply (default: %(default)s)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="how long each step may take to converge (default: %(default)s)",
    )
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Run the demo."""
    if not options.samples.is_dir():
        raise CommandError(
            f"no samples in {options.samples}: run it from the project's folder, or name them with --samples",
            status=2,
        )
    try:
        from openclaw.cli.demo_story import DemoFailure, tell
        from openclaw.testing.errors import BinaryNotFoundError, ControlPlaneError
    except ModuleNotFoundError as error:
        raise CommandError(f"{error.name} is missing: install openclaw[demo]") from error
    try:
        asyncio.run(
            tell(
                options.samples,
                keep=options.keep,
                timeout=options.timeout,
                in_memory=options.control_plane == "memory",
            )
        )
    except (DemoFailure, BinaryNotFoundError, ControlPlaneError) as error:
        raise CommandError(str(error)) from error
    return 0
