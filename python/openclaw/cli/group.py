"""Finding the shards of an operator from outside: its Leases, in whichever namespace they are."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

import orjson

from openclaw.api.builtin import Lease
from openclaw.cli.errors import CommandError
from openclaw.kube.paths import collection_path
from openclaw.kube.transport import Transport
from openclaw.sharding.leases import GROUP_LABEL, Leases
from openclaw.sharding.overview import Overview

__all__ = ["add_group_arguments", "find_overview"]


def add_group_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments by which a group is found."""
    parser.add_argument("--kubeconfig", metavar="PATH", help="the kubeconfig to use")
    parser.add_argument("--context", metavar="NAME", help="the context of the kubeconfig to use")
    parser.add_argument(
        "--group",
        metavar="NAME",
        default="openclaw",
        help="the operator's name, see `openclaw run --shard-group` (default: %(default)s)",
    )
    parser.add_argument(
        "--lease-namespace", metavar="NAME", help="where its Leases are (default: wherever there are some)"
    )


async def find_overview(transport: Transport, group: str, namespace: str | None) -> Overview:
    """What the Leases of a group say.

    Raises:
        CommandError: there are none, or in more than one namespace.
        KubeError: they could not be read.
    """
    response = await transport.request(
        "GET",
        collection_path(Lease.resource, namespace),
        query={"labelSelector": f"{GROUP_LABEL}={group}"},
    )
    items: Iterable[dict[str, Any]] = orjson.loads(response.body).get("items") or ()
    found: dict[str, list[dict[str, Any]]] = {}
    for item in items:
        found.setdefault(item["metadata"]["namespace"], []).append(item)
    if not found:
        where = f"in namespace {namespace}" if namespace else "in any namespace"
        raise CommandError(
            f"there is no Lease of a shard of {group!r} {where}: does it run as shards "
            "(`openclaw run --shard`), and is its name right (--group)?"
        )
    if len(found) > 1:
        names = ", ".join(sorted(found))
        raise CommandError(
            f"there are shards of {group!r} in several namespaces ({names}): name one with --lease-namespace"
        )
    return Overview(Leases.record(item) for item in next(iter(found.values())))
