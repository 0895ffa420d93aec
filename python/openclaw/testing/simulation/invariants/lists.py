"""Where nothing goes wrong, nothing is listed again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from openclaw.testing.simulation.contracts import Invariant, Request, Violation, World

__all__ = ["ListsAreFew"]

_CALM_SECONDS: Final = 180.0
"""A list may hang for two minutes after what made it hang is over, and wait before it is tried again."""
_REASONS: Final = frozenset({"connecting to the API server", "slots gained", "the ring changed"})


class ListsAreFew(Invariant):
    """A shard lists when it starts, when it gains slots, and when something has gone wrong; else never.

    A watch that ends, or breaks, goes on from where it was: its position is that of the last event or
    bookmark, and so no older than what an API server remembers. A list costs the API server what a watch
    saves it, and all shards would send theirs together.
    """

    name: Final = "lists-are-few"

    def __init__(self) -> None:
        self._faults = 0
        self._calm_since = 0.0
        self._reasons: defaultdict[str, float] = defaultdict(float)

    def on_log(self, world: World, shard: str, record: Mapping[str, Any]) -> None:
        """Learn why a shard lists."""
        if record.get("message") in _REASONS:
            self._reasons[shard] = world.now()

    def on_turn(self, world: World) -> None:
        """Notice faults."""
        summary = getattr(world, "summary", None)
        faults = sum(summary.faults.values()) if summary is not None else 0
        if faults != self._faults:
            self._faults, self._calm_since = faults, world.now()

    def on_request(self, world: World, request: Request) -> None:
        """Judge a list."""
        if request.verb != "list" or request.resource.startswith("leases."):
            return  # each decision about slots is taken on a list of Leases
        calm = world.now() - max(self._calm_since, self._reasons[request.actor])
        if calm > _CALM_SECONDS:
            raise Violation(
                self.name,
                f"{request.actor} lists {request.resource}, and nothing has gone wrong for {calm:.0f} s",
            )
