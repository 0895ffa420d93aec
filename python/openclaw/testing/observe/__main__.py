"""`python -m openclaw.testing.observe`: an operator to look at, until Ctrl-C."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from openclaw.testing.binaries import look_up
from openclaw.testing.errors import ControlPlaneError
from openclaw.testing.observe.load import FAILING, NAMESPACE, REFUSED
from openclaw.testing.observe.stack import LEASE_NAMESPACE, Observed


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m openclaw.testing.observe",
        description="Starts a control plane, shards under load, Prometheus and Jaeger, and says where "
        "they are. Run it from the project's folder.",
    )
    parser.add_argument("--shards", type=int, default=3, metavar="N", help="(default: %(default)s)")
    parser.add_argument(
        "--claws", type=int, default=30, metavar="N", help="how many OpenClaws (default: %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=float, metavar="SECONDS", help="end after so long (by default at Ctrl-C)"
    )
    parser.add_argument(
        "--jaeger", action=argparse.BooleanOptionalAction, default=True, help="with a Jaeger (default: yes)"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGINT, SIGTERM or the end of the time; returns the exit status."""
    options = _parser().parse_args(arguments)
    if not Path("deploy/monitoring/alerts.yaml").is_file():
        sys.stderr.write("error: run it from the project's folder, where deploy/monitoring is\n")
        return 2
    try:
        asyncio.run(_observe(options))
    except ControlPlaneError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


async def _observe(options: argparse.Namespace) -> None:
    up, stop = asyncio.Event(), asyncio.Event()
    running = asyncio.create_task(_until(up, stop, options))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        # Before everything is up there is nothing to wait for.
        loop.add_signal_handler(number, lambda: stop.set() if up.is_set() else running.cancel())
    try:
        await running
    except asyncio.CancelledError:
        _say("Ended before everything was up.")


async def _until(up: asyncio.Event, stop: asyncio.Event, options: argparse.Namespace) -> None:
    _say(f"Starting Prometheus, {'Jaeger, ' * options.jaeger}a control plane and the shards …")
    async with Observed.running(
        shards=options.shards, claws=options.claws, traces=options.jaeger
    ) as observed:
        up.set()
        _say(_instructions(observed))
        try:
            await asyncio.wait_for(stop.wait(), options.seconds)
        except TimeoutError:
            _say(f"{options.seconds:g} s are over.")
        _say("Ending …")


def _instructions(observed: Observed) -> str:
    kubectl = look_up("kubectl") or "kubectl"
    debug = ",".join(observed.debug.values())
    metrics = ",".join(observed.metrics.values())
    return "\n".join(
        [
            "",
            f"Jaeger      {_jaeger(observed)}",
            f"Prometheus  {observed.prometheus.url}/api/v1/query?query=sum+by+(pod)+(openclaw_shard_slots)",
            f"Alerts      {observed.prometheus.url}/api/v1/alerts",
            *(
                f"Metrics     http://{address}/metrics  ({name})"
                for name, address in observed.metrics.items()
            ),
            *(f"Debug page  http://{address}/debug  ({name})" for name, address in observed.debug.items()),
            f"Logs        {observed.folder}",
            "",
            "In another terminal:",
            "",
            f"    export KUBECONFIG={observed.plane.kubeconfig}",
            f"    openclaw top --debug {debug} --metrics {metrics}",
            f"    openclaw shards --lease-namespace {LEASE_NAMESPACE}",
            f"    {kubectl} get openclaws,rdsinstances -n {NAMESPACE}",
            *_ask_jaeger(observed),
            "",
            f"OpenClaw {FAILING} and RDSInstance {REFUSED} fail, so that there is something to find.",
            "Ctrl-C here ends everything, and nothing of it is kept. docs/observing.md says what to look at.",
            "",
        ]
    )


def _ask_jaeger(observed: Observed) -> list[str]:
    if observed.jaeger is None:
        return []
    return [f"    python -m openclaw.testing.observe.show {observed.jaeger.store.url} {NAMESPACE}/{FAILING}"]


def _jaeger(observed: Observed) -> str:
    if observed.jaeger is None:
        return "not asked for, so there are no traces (--no-jaeger)"
    return observed.jaeger.store.url


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
