"""What a manager is doing right now, for the debug page: queues, runs, caches, watches, last errors."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from openclaw.runtime.controller import Controller
from openclaw.runtime.informer import Informer
from openclaw.sharding.membership import Membership

__all__ = ["inspect_runtime"]

_KEYS_SHOWN: Final = 50


def inspect_runtime(
    controllers: Iterable[Controller], informers: Iterable[Informer], membership: Membership | None = None
) -> dict[str, Any]:
    """A picture as JSON values; seconds are rounded to milliseconds."""
    now = time.monotonic()
    controllers, informers = list(controllers), list(informers)
    return {
        **({} if membership is None else _ring(membership)),
        "controllers": [_controller(controller) for controller in controllers],
        "running": [
            {"controller": controller.name, "object": str(key), "seconds": round(now - since, 3)}
            for controller in controllers
            for key, since in sorted(controller.running.items(), key=lambda item: item[1])
        ],
        "waiting": [
            {"controller": controller.name, "object": str(key), "due_in_seconds": round(due, 3)}
            for controller in controllers
            for key, due in controller.queue.waiting(_KEYS_SHOWN)
        ],
        "last_errors": [
            {
                "controller": controller.name,
                "object": str(key),
                "at": last.at.isoformat(timespec="milliseconds"),
                "class": last.error_class,
                "attempt": last.attempt,
                "error": last.error,
            }
            for controller in controllers
            for key, last in controller.last_errors.latest_first()[:_KEYS_SHOWN]
        ],
        "caches": [_cache(informer) for informer in informers],
        "watches": [_watch(informer, now) for informer in informers],
    }


def _controller(controller: Controller) -> dict[str, Any]:
    queue = controller.queue
    return {
        "name": controller.name,
        "kind": controller.reconciler.root.resource.kind,
        "workers": controller.concurrency,
        "running": len(controller.running),
        "ready": len(queue),
        "delayed": queue.delayed,
    }


def _ring(membership: Membership) -> dict[str, Any]:
    report = membership.view.report()
    ring = membership.ring
    return {
        "ring": {
            "id": report.ring,
            "shard": membership.options.name,
            "fence_seconds": round(membership.view.standing().fence_seconds, 3),
            "unowned": report.unowned,
            "contested": report.contested,
            "problems": report.problems,
        },
        "shards": [
            {
                "name": shard.name,
                "state": shard.state or "unreadable",
                "void": shard.void,
                "ring": shard.ring,
                "share": len(ring.share(shard.name)),
                "acts": str(shard.acts),
                "holds": str(shard.holds),
            }
            for shard in report.shards
        ],
    }


def _cache(informer: Informer) -> dict[str, Any]:
    stats: Mapping[str, int] = informer.cache.stats()
    return {
        "kind": informer.kind.qualified,
        "scope": informer.scope,
        "foreign": informer.foreign,
        "server_filters": informer.server_filters,
        **stats,
    }


def _watch(informer: Informer, now: float) -> dict[str, Any]:
    watch = informer.listwatch
    since = watch.disconnected_since
    received = watch.last_received
    return {
        "kind": informer.kind.qualified,
        "state": watch.state.value,
        "synced": informer.synced,
        "seconds_since_received": None if received is None else round(now - received, 3),
        "seconds_disconnected": None if since is None else round(now - since, 3),
        "last_error": watch.last_error,
    }
