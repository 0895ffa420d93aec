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
        "--name",
        metavar="NAME",
        help="the operator's name, also in the names of its roles (default: that of TARGET's file or "
        "module; openclaw for the shipped operator)",
    )
    parser.add_argument("--image", help="the operator's image (default: NAME:latest)")
    parser.add_argument(
        "--run-target",
        metavar="TEXT",
        help="TARGET as `openclaw run` finds it inside the image, from its working folder (default: TARGET)",
    )
    parser.add_argument(
        "--operator-namespace", metavar="NAME", help="where the operator runs (default: NAME-system)"
    )
    parser.add_argument(
        "--watch-namespace",
        metavar="NAME",
        help="the only namespace in which it watches: a Role there instead of a ClusterRole (default: all)",
    )
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Write or check."""
    from openclaw import manifests
    from openclaw.api import SchemaError
    from openclaw.cli.target import load_reconcilers, name_of_target

    target = options.target if options.run_target is None else options.run_target
    try:
        name = options.name or name_of_target(options.target)
        files = manifests.generate(
            load_reconcilers(options.target),
            image=options.image or f"{name}:latest",
            name=name,
            namespace=options.operator_namespace,
            watch_namespace=options.watch_namespace,
            arguments=("run",) if target is None else ("run", target),
        )
    except (manifests.ManifestError, SchemaError) as error:
        raise CommandError(str(error), status=2) from error
    if options.check:
        differences = manifests.check(files, options.output)
        for difference in differences:
            print(difference)
        if differences:
            raise CommandError("generated files are not current; run `openclaw manifests` and commit them")
        print(f"{len(files)} generated files are current")
        return 0
    try:
        changes = manifests.write(files, options.output)
    except (manifests.ManifestError, OSError) as error:
        raise CommandError(str(error)) from error
    for path, change in changes.items():
        print(f"{change} {options.output / path}")
    return 0
