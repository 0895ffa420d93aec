"""The same loads for each number of shards."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from bench.shards.group import Group
from bench.shards.meter import Meter
from bench.shards.moved import names
from bench.shards.plane import Plane
from bench.shards.sizes import SINGLETON, Sizes
from openclaw._core import Ring, slot

Result = dict[str, Any]

SETTLED: Final = "settled"
"""The namespace of the Widgets that are right when a group starts."""
LOADS: Final = ("create", "bump", "storm", "trickle", "idle")
_AFTER_START: Final = 2.0


def populate(plane: Plane, sizes: Sizes) -> Result:
    """Have the operator that is not sharded make the settled Widgets right.

    Returns:
        What starts cost on the way: over nothing, alone and as one shard, and over a third of the Widgets.
        What memory an object takes is the difference of starts over some and over more: a start over nothing
        lacks what the first object brings along.
    """
    third = sizes.settled // 3
    found = {"empty": {str(count): _start(plane, count, f"empty-{count}") for count in (SINGLETON, 1)}}
    _settle(plane, third, 0)
    found["third"] = _start(plane, SINGLETON, "third") | {"objects": third}
    _settle(plane, sizes.settled - third, third)
    return found


def _settle(plane: Plane, n: int, start: int) -> None:
    group = Group(plane, SINGLETON, f"settle-{start}")
    try:
        group.wait_settled()
        plane.drive("create", SETTLED, n=n, start=start, timeout="10m")
    finally:
        group.stop()


def _start(plane: Plane, count: int, leases: str) -> Result:
    """A start, and a moment of rest."""
    group = Group(plane, count, leases)
    try:
        with Meter(group, from_start=True) as meter:
            group.wait_settled()
            time.sleep(_AFTER_START)
        return meter.result
    finally:
        group.stop()


class Course:
    """All loads for one group.

    Args:
        plane: where the settled Widgets are.
        count: how many shards.
        sizes: how much is done.
        revision: a number that no group before had; the specs are brought to it and those after it.
    """

    def __init__(self, plane: Plane, count: int, sizes: Sizes, revision: int) -> None:
        self._plane, self._count, self._sizes = plane, count, sizes
        self._revision = revision
        self._name = f"shards-{count}"

    def run(self) -> Result:
        """Start the group over the settled Widgets, put the loads on it, stop it."""
        group = Group(self._plane, self._count, self._name)
        try:
            with Meter(group, from_start=True) as meter:
                group.wait_settled()
                time.sleep(_AFTER_START)
            result: Result = {"shards": self._count, "start": meter.result, "objects": self._objects(group)}
            for _ in range(self._sizes.repeats):
                for name in LOADS[:-1]:
                    result.setdefault(name, []).append(self._measured(group, name))
            result["idle"] = [self._measured(group, "idle")]
            created = range(self._sizes.repeats)
            result["problems"] = sum(
                self._plane.drive("verify", f"{self._name}-{n}", n=self._sizes.created)["problems"]
                for n in created
            )
        finally:
            group.stop()
        for n in created:
            self._plane.empty(f"{self._name}-{n}")
        return result

    def _measured(self, group: Group, name: str) -> Result:
        load: Callable[[], Result] = getattr(self, f"_{name}")
        with Meter(group) as meter:
            load_result = load()
            time.sleep(self._sizes.tail)
        return meter.result | {"load": load_result}

    def _create(self) -> Result:
        self._made = getattr(self, "_made", -1) + 1
        return self._plane.drive("create", f"{self._name}-{self._made}", n=self._sizes.created, timeout="5m")

    def _bump(self) -> Result:
        n = self._sizes.bumped
        return self._plane.drive("bump", SETTLED, n=n, revision=self._next(), timeout="5m")

    def _storm(self) -> Result:
        return self._storms(self._sizes.patches)

    def _trickle(self) -> Result:
        return self._storms(self._sizes.trickle, rate=self._sizes.pace)

    def _storms(self, patches: int, **flags: float) -> Result:
        flags |= {"n": self._sizes.settled, "revision": self._next()}
        return self._plane.drive("storm", SETTLED, patches=patches, **flags)

    def _next(self) -> int:
        self._revision += 1
        return self._revision

    def _idle(self) -> Result:
        time.sleep(self._sizes.idle)
        return {}

    def _objects(self, group: Group) -> list[int]:
        """Widgets of each shard."""
        uids = self._plane.uids()
        if self._count == SINGLETON:
            return [len(uids)]
        ring = Ring(names(self._count))
        owners = [ring.owner(slot(uid)) for uid in uids]
        return [owners.count(shard.name) for shard in group.shards]
