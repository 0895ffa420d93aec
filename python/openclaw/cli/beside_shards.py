"""`openclaw run` without a shard's name, where shards of the same operator are at work."""

from __future__ import annotations

import argparse
import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from openclaw.cli.errors import CommandError

if TYPE_CHECKING:
    from openclaw.kube.transport import Transport

__all__ = ["refuse_beside_shards"]

_TIMEOUT_SECONDS: Final = 3.0
_RECENT_SECONDS: Final = 60.0
"""Much more than a Lease lasts: this machine's clock need not be the shards'."""


def refuse_beside_shards(options: argparse.Namespace) -> None:
    """Refuse to act on all objects where shards share them out: both would write, and neither sees the other.

    Where the Leases cannot be read, that is logged, and nothing is refused.

    Args:
        options: of `openclaw run`.

    Raises:
        CommandError: shards are at work.
    """
    group = options.shard_group or _name(options.target)
    found = None if group is None else asyncio.run(_look(options, group))
    if not found:
        return
    where, names = found
    raise CommandError(
        f"shards of {group!r} are at work in namespace {where}: {', '.join(names)}. Without --shard this "
        "process would act on the same objects beside them. Be one of them (--shard NAME --lease-namespace "
        f"{where}) or stop them; if they are of another operator, name yours with --shard-group"
    )


def _name(target: str | None) -> str | None:
    from openclaw.cli.target import name_of_target

    try:
        return name_of_target(target)
    except CommandError:
        return None  # shards of it would have been given a name that is not known here


async def _look(options: argparse.Namespace, group: str) -> tuple[str, list[str]] | None:
    from openclaw.api.builtin import Lease
    from openclaw.kube import Client, ConfigError, ConfigSource, KubeError
    from openclaw.kube.access import may
    from openclaw.kube.transport import Transport
    from openclaw.telemetry.logs import Log

    log = Log(__name__)
    try:
        async with Transport(ConfigSource(options.kubeconfig, options.context)) as transport:
            client = Client(transport, timeout=_TIMEOUT_SECONDS)
            own = options.lease_namespace or transport.namespace
            for namespace in (options.lease_namespace, own):
                if await may(client, "list", "leases", group=Lease.resource.group, namespace=namespace or ""):
                    return await _at_work(transport, group, namespace)
        log.info("whether shards of this operator are at work is not known: Leases may not be listed")
    except (ConfigError, KubeError) as error:
        log.debug("whether shards of this operator are at work is not known", error=str(error))
    return None


async def _at_work(transport: Transport, group: str, namespace: str | None) -> tuple[str, list[str]] | None:
    """A namespace with shards that are at work, and their names."""
    import orjson

    from openclaw.api.builtin import Lease
    from openclaw.kube.paths import collection_path
    from openclaw.sharding.leases import GROUP_LABEL, Leases
    from openclaw.sharding.overview import Overview

    response = await transport.request(
        "GET",
        collection_path(Lease.resource, namespace),
        query={"labelSelector": f"{GROUP_LABEL}={group}"},
        timeout=_TIMEOUT_SECONDS,
    )
    found: dict[str, list[str]] = {}
    for item in orjson.loads(response.body).get("items") or ():
        [shard] = Overview([Leases.record(item)], datetime.now(UTC)).shards
        recent = shard.renewed is not None and shard.renewed < _RECENT_SECONDS
        if recent and shard.state != "released":
            found.setdefault(item["metadata"]["namespace"], []).append(shard.name)
    return next(iter(sorted(found.items())), None)
