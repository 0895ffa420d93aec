"""`openclaw run`: run controllers against a cluster."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from openclaw.cli.errors import CommandError

if TYPE_CHECKING:
    from openclaw.sharding import ShardOptions

__all__ = ["register"]

_PASSED_ON: Final = (
    "kubeconfig",
    "context",
    "namespace",
    "concurrency",
    "field_manager",
    "grace",
    "log_format",
    "log_level",
    "shard_group",
    "lease_namespace",
    "hold",
)


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
        "by default the shipped operators: OpenClaw, and RDSInstance where the extra aws is installed",
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
    _add_shard_arguments(parser)
    parser.set_defaults(execute=execute)


def _add_shard_arguments(parser: argparse.ArgumentParser) -> None:
    shards = parser.add_argument_group("shards", "The objects are shared out among the shards of a group.")
    which = shards.add_mutually_exclusive_group()
    which.add_argument(
        "--shard",
        metavar="NAME",
        help="be one of several shards, under this name: unique in the group, the same after a restart, "
        "such as a StatefulSet's pod name (by default act on all objects, alone)",
    )
    which.add_argument(
        "--shards", type=_positive, metavar="N", help="run N shards on this machine, each in a process"
    )
    shards.add_argument(
        "--shard-group",
        metavar="NAME",
        help="the operator's name, which its shards share (default: TARGET's)",
    )
    shards.add_argument(
        "--lease-namespace",
        metavar="NAME",
        help="where the shards' Leases are (default: the pod's namespace, or that of the context)",
    )
    shards.add_argument(
        "--hold",
        type=_seconds,
        default=90.0,
        metavar="SECONDS",
        help="how long the slots of a pod that restarts wait for it (default: %(default)s)",
    )


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


def _tell_missing(options: argparse.Namespace) -> None:
    """Say which of the shipped operators is not run, and why."""
    from openclaw.controllers import missing_extras
    from openclaw.telemetry.logs import Log, configure

    configure(level=options.log_level, format=options.log_format)
    for reconciler, extra in missing_extras().items():
        Log(__name__).info(
            "not run: its extra is not installed",
            kind=reconciler.root.resource.kind,
            extra=f"openclaw[{extra}]",
        )


def execute(options: argparse.Namespace) -> int:
    """Run until stopped."""
    from openclaw.cli.beside_shards import refuse_beside_shards
    from openclaw.cli.shard_processes import run_shards
    from openclaw.cli.target import load_reconcilers, make_reconcilers
    from openclaw.kube import ConfigError
    from openclaw.runtime import Manager, Options
    from openclaw.sharding import NameTaken
    from openclaw.telemetry.logs import configure
    from openclaw.telemetry.server import Address, BindError

    if options.shards is not None:
        load_reconcilers(options.target)  # what is wrong with it is said once, not by each
        configure(level=options.log_level, format=options.log_format)
        return run_shards(options.shards, lambda number, name: _of_shard(options, number, name))
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
            shard=_shard(options),
        )
    except ValueError as error:
        raise CommandError(str(error), status=2) from error
    reconcilers = make_reconcilers(load_reconcilers(options.target, to_run=True))
    if options.target is None:
        _tell_missing(options)
    try:
        manager = Manager(*reconcilers, options=settings)
    except TypeError as error:
        raise CommandError(f"{error}; or run one of them, FILE_OR_MODULE:CLASS", status=2) from error
    if settings.shard is None:
        configure(level=options.log_level, format=options.log_format)
        refuse_beside_shards(options)
    try:
        manager.run_until_signal()
    except (ConfigError, BindError, NameTaken) as error:
        raise CommandError(str(error)) from error
    except ValueError as error:
        raise CommandError(str(error), status=2) from error
    return 0


def _shard(options: argparse.Namespace) -> ShardOptions | None:
    from openclaw.cli.target import name_of_target
    from openclaw.sharding import ShardOptions

    if options.shard is None:
        return None
    return ShardOptions(
        name=options.shard,
        group=options.shard_group or name_of_target(options.target),
        namespace=options.lease_namespace,
        hold_seconds=options.hold,
    )


def _of_shard(options: argparse.Namespace, number: int, name: str) -> list[str]:
    """The arguments of one of several shards: those that were given, and addresses of its own."""
    arguments = [] if options.target is None else [options.target]
    arguments += ["--shard", name, "--metrics-address", _beside(options.metrics_address, number)]
    if options.debug_address is not None:
        arguments += ["--debug-address", _beside(options.debug_address, number)]
    for flag in _PASSED_ON:
        value = getattr(options, flag)
        if value is not None:
            arguments += [f"--{flag.replace('_', '-')}", str(value)]
    return arguments


def _beside(address: str, number: int) -> str:
    """The address `number` ports on; any free port, and no address, stay what they are."""
    host, colon, port = address.rpartition(":")
    if not port.isdecimal() or int(port) == 0:
        return address
    return f"{host}{colon}{int(port) + number}"
