"""`python -m openclaw.testing`: a control plane to play with, until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from openclaw.testing.crdfiles import crd_files
from openclaw.testing.errors import ControlPlaneError

_PROGRAM = "python -m openclaw.testing"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_PROGRAM,
        description="Starts a real etcd and kube-apiserver on loopback, says how to reach them, and runs "
        "until Ctrl-C. Nothing of it is kept.",
    )
    parser.add_argument(
        "--controllers",
        action="store_true",
        help="run kube-controller-manager: garbage collection, Deployments and their pods, and so on",
    )
    parser.add_argument(
        "--nodes",
        type=_count,
        default=0,
        metavar="N",
        help="so many node stand-ins, on which pods become Ready without containers (default: %(default)s)",
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
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is not at least 0")
    return number


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a control plane until SIGINT or SIGTERM; returns the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        crds = crd_files(options.crds)
    except ValueError as error:
        parser.error(f"--crds: {error}")
    try:
        from openclaw.testing.controlplane import ControlPlane
    except ModuleNotFoundError as error:
        sys.stderr.write(f"error: {error.name} is missing: install openclaw[testing]\n")
        return 1
    try:
        _say("Starting a control plane …")
        with ControlPlane(controller_manager=options.controllers, nodes=options.nodes, crds=crds) as plane:
            _say(_instructions(plane.url, plane.kubeconfig, crds))
            _wait()
    except ControlPlaneError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except KeyboardInterrupt:
        _say("\nThe control plane has ended.")
    return 0


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _wait() -> None:
    """Until a signal's handler raises.

    Not `signal.pause`: a signal that comes right before it, after Python has looked for one, would be missed.
    """
    reader, writer = socket.socketpair()
    with reader, writer:
        writer.setblocking(False)
        former = signal.set_wakeup_fd(writer.fileno())
        try:
            while True:
                reader.recv(1)
        finally:
            signal.set_wakeup_fd(former)


def _instructions(url: str, kubeconfig: Path, crds: Sequence[Path]) -> str:
    from openclaw.testing.binaries import look_up

    installed = [f"Installed: {', '.join(map(str, crds))}", ""] if crds else []
    kubectl = look_up("kubectl") or "kubectl"
    return "\n".join(
        [
            f"Ready: {url}",
            "",
            *installed,
            "In another terminal:",
            "",
            f"    export KUBECONFIG={kubeconfig}",
            f"    {kubectl} get namespaces",
            "    openclaw run TARGET",
            "",
            "Ctrl-C here ends it, and nothing of it is kept.",
        ]
    )


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _interrupt)
    sys.exit(main())
