"""`openclaw demo-rds`: an RDSInstance lives its life on a real control plane, against a stand-in for RDS."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from openclaw.cli.errors import CommandError

__all__ = ["register"]


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "demo-rds",
        help="show a database outside of the cluster made, changed and deleted, without AWS",
        description="Starts etcd, kube-apiserver, kube-controller-manager and a stand-in for Amazon RDS on "
        "loopback, runs the operator under its generated role, and shows an RDSInstance from its creation to "
        "its final snapshot. Ends by itself; the exit status is not 0 if anything does not come about.",
    )
    parser.add_argument(
        "--keep",
        action="store_true",
        help="leave everything running at the end, until Ctrl-C, and say how to use it",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="how long each step may take (default: %(default)s)",
    )
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Run the demo."""
    try:
        from openclaw.cli.demo_rds_story import DemoFailure, tell
        from openclaw.testing.errors import BinaryNotFoundError, ControlPlaneError
    except ModuleNotFoundError as error:
        raise CommandError(f"{error.name} is missing: install openclaw[aws,demo]") from error
    try:
        asyncio.run(tell(keep=options.keep, timeout=options.timeout))
    except (DemoFailure, BinaryNotFoundError, ControlPlaneError) as error:
        raise CommandError(str(error)) from error
    return 0
