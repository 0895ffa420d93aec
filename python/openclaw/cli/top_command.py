"""`openclaw top`: shards, queues, rates, latencies, the slowest and the failing objects, again and again."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from openclaw.cli.errors import CommandError
from openclaw.cli.shards_command import aligned
from openclaw.cli.shards_command import render as render_shards

if TYPE_CHECKING:
    from openclaw.cli.top_reading import Reading

__all__ = ["register", "render"]

_SHOWN: Final = 10
_ERROR_WIDTH: Final = 100


def register(commands: Any) -> None:
    """Add the command to the parser."""
    from openclaw.cli.group import add_group_arguments

    parser = commands.add_parser(
        "top",
        help="watch the shards of an operator at work",
        description="Shows what the shards say of themselves in their Leases, and, of those whose addresses "
        "are given, rates, latencies, the slowest runs and the objects that fail. On a terminal it goes on "
        "until Ctrl-C; elsewhere, and with --once, it looks once.",
    )
    add_group_arguments(parser)
    parser.add_argument(
        "--metrics",
        type=_addresses,
        default=[],
        metavar="HOST:PORT,…",
        help="the addresses of the shards' /metrics (openclaw run --metrics-address)",
    )
    parser.add_argument(
        "--debug",
        type=_addresses,
        default=[],
        metavar="HOST:PORT,…",
        help="the addresses of their debug pages (openclaw run --debug-address)",
    )
    parser.add_argument(
        "--interval",
        type=_interval,
        default=2.0,
        metavar="SECONDS",
        help="between two looks (default: %(default)s)",
    )
    parser.add_argument("--once", action="store_true", help="print one look and end")
    parser.set_defaults(execute=execute)


def _addresses(text: str) -> list[str]:
    from openclaw.telemetry.listener import Address

    try:
        return [
            str(Address.parse(part.strip(), flag="an address")) for part in text.split(",") if part.strip()
        ]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _interval(text: str) -> float:
    seconds = float(text)
    if not 0.1 <= seconds <= 3600:  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"{text} is not between 0.1 and 3600 seconds")
    return seconds


def execute(options: argparse.Namespace) -> int:
    """Look once, or until Ctrl-C."""
    return asyncio.run(_watch(options, live=sys.stdout.isatty() and not options.once))


async def _watch(options: argparse.Namespace, *, live: bool) -> int:
    from openclaw.cli.group import find_overview
    from openclaw.cli.top_reading import Endpoint, combine, read_endpoints
    from openclaw.kube import ConfigError, ConfigSource, KubeError
    from openclaw.kube.transport import Transport

    show = _screen() if live else print
    before: list[Endpoint] = []
    try:
        async with Transport(ConfigSource(options.kubeconfig, options.context)) as transport:
            while True:
                overview, now = await asyncio.gather(
                    find_overview(transport, options.group, options.lease_namespace),
                    read_endpoints(options.metrics, options.debug),
                )
                reading = combine(overview, now, before)
                # At the first look there is nothing to take a rate of: look twice.
                if live or before or not options.metrics:
                    show(render(reading, datetime.now(UTC)))
                if not live and (before or not options.metrics):
                    return 0 if not overview.unowned and not overview.contested else 1
                before = now
                await asyncio.sleep(options.interval)
    except (ConfigError, KubeError) as error:
        raise CommandError(str(error)) from error


def _screen() -> Any:
    """Shows a text in place of the one before."""

    def show(text: str) -> None:
        # Home, each line cleared to its end, then what was below: no flicker.
        lines = "".join(f"{line}\x1b[K\n" for line in text.splitlines())
        sys.stdout.write(f"\x1b[H{lines}\x1b[J")
        sys.stdout.flush()

    sys.stdout.write("\x1b[2J")
    return show


def render(reading: Reading, now: datetime) -> str:
    """A look as text: the shards, the controllers, the slowest runs, the objects that fail."""
    parts = [render_shards(reading.overview, now)]
    if reading.controllers:
        heading = ("CONTROLLER", "RUNS/S", "ERRORS/S", "P50", "P99", "WAIT P99", "QUEUE", "RUNNING")
        rows: list[Sequence[str]] = [heading]
        rows += [
            (
                it.name,
                _rate(it.rate),
                _rate(it.errors),
                _seconds(it.p50),
                _seconds(it.p99),
                _seconds(it.wait_p99),
                str(it.depth),
                str(it.busy),
            )
            for it in reading.controllers
        ]
        parts.append("\n".join(aligned(rows, left=1)))
    if reading.slowest:
        rows = [("SLOWEST", "CONTROLLER", "FOR")]
        rows += [(it.object, it.controller, _seconds(it.seconds)) for it in reading.slowest[:_SHOWN]]
        parts.append("\n".join(aligned(rows, left=2)))
    if reading.failing:
        rows = [("FAILING", "CONTROLLER", "ERROR", "ATTEMPTS")]
        rows += [
            (it.object, it.controller, _short(it.error), str(it.attempt)) for it in reading.failing[:_SHOWN]
        ]
        if len(reading.failing) > _SHOWN:
            rows.append((f"and {len(reading.failing) - _SHOWN} more", "", "", ""))
        parts.append("\n".join(aligned(rows, left=3)))
    if reading.problems:
        parts.append("\n".join(f"! {problem}" for problem in reading.problems))
    return "\n\n".join(parts)


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    if value == float("inf"):
        return "longer"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def _short(text: str) -> str:
    """One line, without what a terminal would obey."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= _ERROR_WIDTH else f"{line[: _ERROR_WIDTH - 1]}…"
