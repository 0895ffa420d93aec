"""Lists without a reason, and writes that are told to be invalid."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from openclaw.testing.simulation.contracts import Violation, World
from openclaw.testing.simulation.invariants import ListsAreFew, WritesAreValid
from tests.unit.testing.simulation.invariants.worlds import (
    THINGS,
    FakeWorld,
    declared,
    request,
    thing,
    world,
    write,
)


class Summed(FakeWorld):
    """A world that counts its faults."""

    def __init__(self) -> None:
        super().__init__()
        self.summary = SimpleNamespace(faults=Counter[str]())


class Bench:
    def __init__(self) -> None:
        self.world = Summed()
        self.invariant = ListsAreFew()

    def later(self, seconds: float) -> None:
        self.world.at += seconds
        self.invariant.on_turn(cast("World", self.world))

    def says(self, message: str) -> None:
        self.invariant.on_log(cast("World", self.world), "blue", {"message": message})

    def lists(self, **facts: Any) -> None:
        self.invariant.on_request(cast("World", self.world), request(verb="list", **facts))


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize("message", ["connecting to the API server", "slots gained"])
def test_a_shard_lists_when_it_starts_and_when_it_gains_slots(bench: Bench, message: str) -> None:
    bench.later(1000)
    bench.says(message)
    bench.later(10)
    bench.lists()
    bench.later(1000)
    with pytest.raises(Violation, match="nothing has gone wrong for 1010 s"):
        bench.lists()


def test_a_shard_lists_after_a_fault_and_leases_at_any_time(bench: Bench) -> None:
    bench.later(1000)
    bench.lists(resource="leases.coordination.k8s.io")
    bench.world.summary.faults["compaction"] += 1
    bench.later(10)
    bench.lists()


def test_an_event_or_a_condition_that_tells_of_an_invalid_write_is_found() -> None:
    invariant = WritesAreValid(declared())
    event = {
        "metadata": {"name": "a.1", "namespace": "default"},
        "reason": "Invalid",
        "note": "no such field",
    }
    with pytest.raises(Violation, match="no such field"):
        invariant.on_write(world(), write(None, event, resource="events"))
    stalled = {"type": "Stalled", "status": "True", "reason": "Invalid", "message": "two controllers"}
    with pytest.raises(Violation, match="two controllers"):
        invariant.on_write(world(), write(thing(), thing(status={"conditions": [stalled]}), resource=THINGS))
    invariant.on_write(world(), write(None, {**event, "reason": "Conflict"}, resource="events"))
    invariant.on_write(world(), write(None, event, resource="events", actor="somebody"))
