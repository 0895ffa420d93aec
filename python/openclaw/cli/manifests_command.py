"""`openclaw manifests`: write CRDs, roles and the deployment from the types, or check them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from openclaw.cli.errors import CommandError

__all__ = ["register"]


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "manifests",
        help="write CRDs, roles and the deployment from the types",
        description="Writes crds/ and deploy/ from the resource types and what the controllers declare. "
        "The same types give the same bytes.",
    )
    parser.add_argument(
        "target",
        nargs="?",
        metavar="TARGET",
        help="as for `openclaw run`; by default the shipped operator",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail when a file is not as it would be written"
    )
    parser.add_argument(
        "--output", type=Path, default=Path(), metavar="DIR", help="where to write (default: this folder)"
    )
    parser.add_argument(
        "--image", default="openclaw:latest", help="the operator's image (default: %(default)s)"
    )
    parser.add_argument(
        "--operator-namespace",
        default="openclaw-system",
        metavar="NAME",
        help="where the operator runs (default: %(default)s)",
    )
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Write or check."""
    from openclaw import manifests
    from openclaw.cli.target import load_reconcilers

    files = manifests.generate(
        load_reconcilers(options.target), image=options.image, namespace=options.operator_namespace
    )
    if options.check:
        differences = manifests.check(files, options.output)
        for difference in differences:
            print(difference)
        if differences:
            raise CommandError("generated files are not current; run `openclaw manifests` and commit them")
        print(f"{len(files)} generated files are current")
        return 0
    manifests.write(files, options.output)
    for path in sorted(files):
        print(f"wrote {options.output / path}")
    return 0
