"""`openclaw shards`: the ring, and what each shard does."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from openclaw.cli.errors import CommandError

if TYPE_CHECKING:
    from openclaw.sharding.overview import Overview, ShardView

__all__ = ["age", "aligned", "register", "render"]


def register(commands: Any) -> None:
    """Add the command to the parser."""
    from openclaw.cli.group import add_group_arguments

    parser = commands.add_parser(
        "shards",
        help="show the shards of an operator and what each holds",
        description="Shows the ring, the slots that each shard acts on, and what it says of itself. Exit "
        "status 1 when a slot is unowned or contested.",
    )
    add_group_arguments(parser)
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="(default: table)")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Show the group once."""
    return asyncio.run(_show(options))


async def _show(options: argparse.Namespace) -> int:
    from openclaw.cli.group import find_overview
    from openclaw.kube import ConfigError, ConfigSource, KubeError
    from openclaw.kube.transport import Transport

    try:
        async with Transport(ConfigSource(options.kubeconfig, options.context)) as transport:
            overview = await find_overview(transport, options.group, options.lease_namespace)
    except (ConfigError, KubeError) as error:
        raise CommandError(str(error)) from error
    if options.output == "json":
        import orjson

        print(orjson.dumps(as_json(overview), option=orjson.OPT_INDENT_2).decode())
    else:
        print(render(overview, datetime.now(UTC)))
    return 0 if not overview.unowned and not overview.contested else 1


def render(overview: Overview, now: datetime) -> str:
    """The group as a table; what is wrong, and what it means, below."""
    live = sum(shard.live for shard in overview.shards)
    unowned, contested = overview.unowned, overview.contested
    head = (
        f"RING {overview.ring.id}  256 slots  {live} shard{'' if live == 1 else 's'}  "
        f"unowned {len(unowned)}  contested {len(contested)}"
    )
    rows: list[Sequence[str]] = [
        ("SHARD", "STATE", "SLOTS", "OBJECTS", "QUEUE", "RUNNING", "RECONCILES/S", "LEASE", "SINCE")
    ]
    rows += [_row(shard, now) for shard in overview.shards]
    lines = [head, *aligned(rows, left=2)]
    if contested:
        lines.append(f"! slots {contested} are acted on by more than one shard, as their Leases say")
    if unowned:
        lines.append(f"! slots {unowned} are acted on by nobody: their objects wait")
    lines += [
        f"! {shard.name} is silent: others take its slots over"
        for shard in overview.shards
        if shard.state == "silent"
    ]
    lines += [f"! {name} follows another ring; it may be about to change" for name in overview.dissenters]
    lines += [
        f"! {name} is there for {covers}, others are not: some objects may be nobody's"
        for name, covers in overview.differing.items()
    ]
    return "\n".join(lines)


def _row(shard: ShardView, now: datetime) -> Sequence[str]:
    return (
        shard.name,
        shard.state,
        str(len(shard.acts)),
        _count(shard.objects),
        _count(shard.queue),
        _count(shard.running),
        "-" if shard.rate is None else f"{shard.rate:.1f}",
        "-" if shard.renewed is None else f"{shard.renewed:.0f} s",
        "-" if shard.since is None else age((now - shard.since).total_seconds()),
    )


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}".replace(",", " ")


def aligned(rows: Sequence[Sequence[str]], *, left: int) -> list[str]:
    """Columns as wide as their widest cell; all but the first `left` to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def age(seconds: float) -> str:
    """A span as kubectl writes it: 8s, 12m, 4h2m, 3d4h."""
    whole = max(0, int(seconds))
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if whole < 120:  # noqa: PLR2004 - kubectl's own steps
        return f"{whole}s"
    if hours < 3:  # noqa: PLR2004
        return f"{minutes}m"
    if days < 2:  # noqa: PLR2004
        return f"{hours}h{minutes % 60}m" if minutes % 60 and hours < 8 else f"{hours}h"  # noqa: PLR2004
    return f"{days}d{hours % 24}h" if hours % 24 and days < 8 else f"{days}d"  # noqa: PLR2004


def as_json(overview: Overview) -> dict[str, Any]:
    """The group as JSON values, for scripts."""
    return {
        "ring": overview.ring.id,
        "slots": 256,
        "unowned": str(overview.unowned),
        "contested": str(overview.contested),
        "shards": [
            {
                "name": shard.name,
                "state": shard.state,
                "ring": shard.ring,
                "acts": str(shard.acts),
                "holds": str(shard.holds),
                "objects": shard.objects,
                "queue": shard.queue,
                "running": shard.running,
                "reconcilesPerSecond": shard.rate,
                "secondsSinceRenewal": shard.renewed,
                "covers": shard.covers,
                "since": None if shard.since is None else shard.since.isoformat(timespec="seconds"),
            }
            for shard in overview.shards
        ],
    }
