"""Entry point of the `openclaw` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version

from openclaw.cli import (
    demo_command,
    demo_rds_command,
    manifests_command,
    owner_command,
    run_command,
    shards_command,
    top_command,
)
from openclaw.cli.errors import CommandError

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="openclaw",
        description="Kubernetes operators in Python with a Rust core.",
        epilog="`openclaw COMMAND --help` tells more of a command.",
    )
    parser.add_argument("--version", action="version", version=f"openclaw {version('openclaw')}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    for command in (
        run_command,
        shards_command,
        owner_command,
        top_command,
        manifests_command,
        demo_command,
        demo_rds_command,
    ):
        command.register(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status: 0 success, 1 failure, 2 wrong usage."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.execute(options)
    except CommandError as error:
        print(f"openclaw {options.command}: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())
