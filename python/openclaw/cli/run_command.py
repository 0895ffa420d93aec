"""`openclaw run`: run controllers against a cluster."""

from __future__ import annotations

import argparse
from typing import Any

from openclaw.cli.errors import CommandError

__all__ = ["register"]


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "run",
        help="run controllers against a cluster",
        description="Runs controllers until SIGTERM. The cluster is that of --kubeconfig, $KUBECONFIG, "
        "~/.kube/config, or, in a pod, of its service account.",
    )
    parser.add_argument(
        "target",
        nargs="?",
        metavar="TARGET",
        help="a .py file or a module with Reconciler classes, or one of them as FILE_OR_MODULE:CLASS; "
        "by default the shipped OpenClaw operator",
    )
    parser.add_argument("--kubeconfig", metavar="PATH", help="the kubeconfig to use")
    parser.add_argument("--context", metavar="NAME", help="the context of the kubeconfig to use")
    parser.add_argument("--namespace", metavar="NAME", help="watch this namespace only (by default all)")
    parser.add_argument(
        "--metrics-address",
        metavar="HOST:PORT",
        default="127.0.0.1:8080",
        help="where to serve /metrics, /healthz and /readyz (default: %(default)s; 'none' serves nothing)",
    )
    parser.add_argument(
        "--debug-address",
        metavar="HOST:PORT",
        help="where to serve a page about what is going on, /debug; without a host, on loopback "
        "(by default nowhere)",
    )
    parser.add_argument(
        "--concurrency", type=_positive, metavar="N", help="most reconciles at once of each controller"
    )
    parser.add_argument(
        "--field-manager",
        default="openclaw",
        metavar="NAME",
        help="the name under which fields are owned (default: %(default)s). Under another one, fields that "
        "were stated before stay the old one's: what is wanted no more is not removed, see docs/running.md",
    )
    parser.add_argument(
        "--grace",
        type=_seconds,
        default=20.0,
        metavar="SECONDS",
        help="how long reconciles in flight may take to end after SIGTERM (default: %(default)s)",
    )
    parser.add_argument(
        "--log-format", choices=("auto", "json", "text"), default="auto", help="(default: %(default)s)"
    )
    parser.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="info",
        help="(default: %(default)s)",
    )
    parser.set_defaults(execute=execute)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not at least 0 seconds")
    return seconds


def execute(options: argparse.Namespace) -> int:
    """Run until stopped."""
    from openclaw.cli.target import load_reconcilers, make_reconcilers
    from openclaw.kube import ConfigError
    from openclaw.runtime import Manager, Options
    from openclaw.telemetry.server import Address, BindError

    serve = None if options.metrics_address == "none" else options.metrics_address
    try:
        if serve is not None:
            Address.parse(serve)
        settings = Options(
            kubeconfig=options.kubeconfig,
            context=options.context,
            namespace=options.namespace,
            metrics_address=serve,
            debug_address=options.debug_address,
            concurrency=options.concurrency,
            field_manager=options.field_manager,
            grace=options.grace,
            log_format=options.log_format,
            log_level=options.log_level,
        )
    except ValueError as error:
        raise CommandError(str(error), status=2) from error
    reconcilers = make_reconcilers(load_reconcilers(options.target))
    try:
        manager = Manager(*reconcilers, options=settings)
    except TypeError as error:
        raise CommandError(f"{error}; or run one of them, FILE_OR_MODULE:CLASS", status=2) from error
    try:
        manager.run_until_signal()
    except (ConfigError, BindError) as error:
        raise CommandError(str(error)) from error
    except ValueError as error:
        raise CommandError(str(error), status=2) from error
    return 0
