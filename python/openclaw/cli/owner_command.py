"""`openclaw owner`: which shard acts on an object, and why."""

from __future__ import annotations

import argparse
import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from openclaw.cli.errors import CommandError

if TYPE_CHECKING:
    from openclaw.api.kinds import ResourceKind
    from openclaw.sharding.overview import Overview

__all__ = ["explain", "register"]


def register(commands: Any) -> None:
    """Add the command to the parser."""
    from openclaw.cli.group import add_group_arguments

    parser = commands.add_parser(
        "owner",
        help="say which shard acts on an object, and why",
        description="Says which slot an object has and which shard acts on it, since when. Exit status 1 "
        "when it is not exactly one.",
    )
    parser.add_argument("kind", metavar="KIND", help="a kind that the operator is for, such as openclaw")
    parser.add_argument(
        "object", metavar="NAMESPACE/NAME", help="the object; NAME alone for a cluster-scoped one"
    )
    parser.add_argument(
        "--target", metavar="TARGET", help="the operator, as for `openclaw run`; by default the shipped one"
    )
    add_group_arguments(parser)
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Say it."""
    from openclaw.cli.target import load_reconcilers

    roots = [reconciler.root.resource for reconciler in load_reconcilers(options.target)]
    kind = _kind(options.kind, roots)
    namespace, _, name = options.object.rpartition("/")
    if not name or bool(namespace) != kind.namespaced:
        wanted = "NAMESPACE/NAME" if kind.namespaced else "NAME: it is in no namespace"
        raise CommandError(f"{options.object!r}: a {kind.kind} is named by {wanted}", status=2)
    return asyncio.run(_show(options, kind, namespace or None, name))


def _kind(word: str, roots: list[ResourceKind]) -> ResourceKind:
    for kind in roots:
        if word.lower() in {kind.kind.lower(), kind.plural, kind.qualified}:
            return kind
    known = ", ".join(sorted(kind.kind for kind in roots))
    raise CommandError(f"{word!r} is no kind that the operator is for; those are: {known}", status=2)


async def _show(options: argparse.Namespace, kind: ResourceKind, namespace: str | None, name: str) -> int:
    import orjson

    from openclaw._core import slot
    from openclaw.cli.group import find_overview
    from openclaw.kube import ConfigError, ConfigSource, KubeError
    from openclaw.kube.paths import object_path
    from openclaw.kube.transport import Transport

    try:
        async with Transport(ConfigSource(options.kubeconfig, options.context)) as transport:
            answer = await transport.request("GET", object_path(kind, namespace, name))
            overview = await find_overview(transport, options.group, options.lease_namespace)
    except (ConfigError, KubeError) as error:
        raise CommandError(str(error)) from error
    number = slot(orjson.loads(answer.body)["metadata"]["uid"])
    print(explain(overview, number, datetime.now(UTC)))
    return 0 if len(overview.actors(number)) == 1 else 1


def explain(overview: Overview, slot: int, now: datetime) -> str:
    """Who acts on a slot, in words."""
    from openclaw.cli.shards_command import age

    owner = overview.ring.owner(slot)
    actors = overview.actors(slot)
    if not actors:
        if owner is None:
            return f"slot {slot} -> nobody: no shard is live"
        return (
            f"slot {slot} -> nobody yet: the ring gives it to {owner}, which has not begun; the object waits"
        )
    if len(actors) > 1:
        names = " and ".join(shard.name for shard in actors)
        return f"slot {slot} -> {names}, as their Leases say; no write of one that lost its fence is sent"
    [actor] = actors
    text = f"slot {slot} -> {actor.name}"
    tenure = actor.tenures.get(slot)
    if tenure is not None:
        text += f", since {age((now - tenure.since).total_seconds())}"
        text += f" (from {tenure.former}, " if tenure.former else " (unowned before, "
        text += f"begun {tenure.gap_seconds * 1000:.0f} ms after it was free)"
    if owner not in (actor.name, None):
        text += f"; the ring gives it to {owner}, which is about to take it over"
    return text
