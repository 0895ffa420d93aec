"""Watching the Leases of a group: what another shard publishes is known at once, not at the next list."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import orjson

from openclaw.kube.backoff import Backoff
from openclaw.kube.errors import KubeError, status_error
from openclaw.sharding.leases import LeaseRecord, Leases
from openclaw.telemetry.logs import Log

__all__ = ["watch_leases"]

log = Log(__name__)

_WATCH_SECONDS: Final = 240.0
_IDLE_SECONDS: Final = 30.0


async def watch_leases(leases: Leases, told: Callable[[LeaseRecord], None], lost: Callable[[], None]) -> None:
    """Tell of each Lease that is there or changes, for ever; never raises but when cancelled.

    A watch that is away costs time, and nothing else: lists decide. Each shard renews every few seconds, so
    one that says nothing for half a minute is dead.

    Args:
        leases: of the group.
        told: called with each Lease that is there, is new or has changed.
        lost: called when one was deleted, or the watch may have missed something: a list should look.
    """
    backoff = Backoff(0.2, 10.0)
    while True:
        try:
            async with leases.watching(_WATCH_SECONDS, _IDLE_SECONDS) as chunks:
                rest = b""
                async for chunk in chunks:
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        _take(leases, line, told, lost)
                    backoff.reset()
        except KubeError as error:
            log.debug("the watch of the shards' Leases broke", error=str(error))
        except Exception:
            log.exception("the watch of the shards' Leases failed")
        await asyncio.sleep(backoff.next())
        lost()


def _take(leases: Leases, line: bytes, told: Callable[[LeaseRecord], None], lost: Callable[[], None]) -> None:
    if not line.strip():
        return
    event: dict[str, Any] = orjson.loads(line)
    match event["type"]:
        case "ADDED" | "MODIFIED":
            told(leases.record(event["object"]))
        case "DELETED":
            lost()
        case "ERROR":
            raise status_error(event["object"], request="WATCH leases")
