"""A status speaks of the generation that it names, and of no other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from openclaw.testing.simulation.contracts import Invariant, Violation, World, Write
from openclaw.testing.simulation.invariants.declared import Declared, conditions_of, describe

__all__ = ["StatusNamesItsGeneration"]

Object = Mapping[str, Any]

_TURN_SECONDS: Final = 300.0
"""A run's deadline, the retries of its write, and clocks that are set apart."""


class StatusNamesItsGeneration(Invariant):
    """What the API conventions ask of a status, at each write of one by a shard.

    - `observedGeneration`, of the status and of each condition, is never above `metadata.generation`, and
      never goes back.
    - One condition of each type; each has a reason and a `lastTransitionTime`, which changes with `status`
      and only then.
    - Status is written through its subresource, and nothing else by that.

    Whether what the status claims is so can only be known by kind: see a scenario's own invariants.
    """

    name: Final = "status-names-its-generation"

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._turned: dict[tuple[str, str], float] = {}

    def on_write(self, world: World, write: Write) -> None:
        """Compare the status before and after."""
        before, after = write.before, write.after
        if after is None or not self._declared.is_root(write.resource):
            return
        if not self._declared.by_shard(world, write):
            return
        where = describe(write.resource, after)
        same = before is not None and before["metadata"]["uid"] == after["metadata"]["uid"]
        if write.subresource != "status":
            if before is not None and before.get("status") != after.get("status"):
                raise Violation(self.name, f"{where}: the status was changed by a write of the object itself")
            return
        if before is not None and before.get("spec") != after.get("spec"):
            raise Violation(self.name, f"{where}: a write of the status changed the spec")
        generation = after["metadata"]["generation"]
        self._check_generation(
            where,
            generation,
            (before or {}).get("status") if same else None,
            after.get("status") or {},
        )
        self._check_conditions(where, generation, conditions_of(before) if same else {}, after)
        self._check_turns(where, write.at, conditions_of(before) if same else {}, after)

    def _check_generation(
        self, where: str, generation: int, before: Object | None, after: Object, what: str = "status"
    ) -> None:
        observed = after.get("observedGeneration")
        was = (before or {}).get("observedGeneration")
        if observed is None:
            if was is not None:
                raise Violation(self.name, f"{where}: {what} lost its observedGeneration {was}")
            return
        if observed > generation:
            raise Violation(
                self.name, f"{where}: {what} claims generation {observed}, the object has {generation}"
            )
        if was is not None and observed < was:
            raise Violation(self.name, f"{where}: {what} went back from generation {was} to {observed}")

    def _check_conditions(
        self, where: str, generation: int, before: Mapping[str, Object], after: Object
    ) -> None:
        told = (after.get("status") or {}).get("conditions") or ()
        types = [it["type"] for it in told]
        if len(set(types)) != len(types):
            raise Violation(self.name, f"{where}: conditions of one type twice: {types}")
        for condition in told:
            kind = condition["type"]
            was = before.get(kind)
            if was == condition:
                continue
            self._check_generation(where, generation, was, condition, f"condition {kind}")
            since = condition.get("lastTransitionTime")
            if not since or not condition.get("reason"):
                raise Violation(self.name, f"{where}: condition {kind} lacks a reason or a transition time")
            if was is None:
                continue
            turned = was["status"] != condition["status"]
            if not turned and was.get("lastTransitionTime") != since:
                raise Violation(
                    self.name,
                    f"{where}: condition {kind} stayed {was['status']}, its lastTransitionTime went from "
                    f"{was.get('lastTransitionTime')} to {since}",
                )

    def _check_turns(self, where: str, now: float, before: Mapping[str, Object], after: Object) -> None:
        uid = after["metadata"]["uid"]
        for kind, condition in conditions_of(after).items():
            was = before.get(kind)
            if was is not None and was["status"] == condition["status"]:
                continue
            last = self._turned.get((uid, kind))
            since = condition["lastTransitionTime"]
            long_ago = last is not None and now - last > _TURN_SECONDS
            if was is not None and long_ago and since == was["lastTransitionTime"]:
                raise Violation(
                    self.name, f"{where}: condition {kind} turned, its lastTransitionTime stayed {since}"
                )
            self._turned[uid, kind] = now
