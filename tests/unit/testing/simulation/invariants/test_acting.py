"""At most one shard acts: what is a violation of it, and what is not."""

import pytest

from openclaw.testing.simulation.contracts import Violation
from openclaw.testing.simulation.invariants import OneShardActs
from tests.unit.testing.simulation.invariants.worlds import (
    SLOT,
    FakeWorld,
    act,
    child,
    declared,
    thing,
    world,
    write,
)


def test_two_shards_that_may_write_for_one_slot_are_found() -> None:
    with pytest.raises(Violation, match="blue and green may both write"):
        OneShardActs(declared()).on_turn(world(acts=[act("blue", 1), act("green", 2)]))


def test_two_objects_of_one_slot_are_not_acted_on_by_two_shards_either() -> None:
    with pytest.raises(Violation, match="slot"):
        OneShardActs(declared()).on_turn(world(acts=[act("blue", 1, name="a"), act("green", 2, name="b")]))


def test_one_that_is_behind_its_fence_is_no_other() -> None:
    OneShardActs(declared()).on_turn(world(acts=[act("blue", 1, fenced=False), act("green", 2)]))


def test_other_slots_are_others_business() -> None:
    OneShardActs(declared()).on_turn(world(acts=[act("blue", 1, number=1), act("green", 2, number=2)]))


def test_a_late_write_after_another_has_begun_is_found() -> None:
    invariant = OneShardActs(declared())
    it = world(acts=[act("green", 50)])
    invariant.on_turn(it)
    with pytest.raises(Violation, match="blue wrote configmaps default/a"):
        invariant.on_write(it, write(None, child()))


def test_a_late_write_after_another_has_written_is_found_although_its_run_has_ended() -> None:
    invariant = OneShardActs(declared())
    it = world()
    invariant.on_write(it, write(None, child(), actor="green"))
    with pytest.raises(Violation, match="on which green acts"):
        invariant.on_write(it, write(thing(), thing(generation=3), verb="patch"))


def test_a_run_that_began_before_the_other_ones_does_not_make_its_write_right() -> None:
    invariant = OneShardActs(declared())
    it = FakeWorld(acts=[act("blue", 10, fenced=False), act("green", 50)])
    invariant.on_turn(it)  # type: ignore[arg-type]
    with pytest.raises(Violation):
        invariant.on_write(it, write(None, child()))  # type: ignore[arg-type]


def test_a_slot_that_comes_back_may_be_written_again() -> None:
    invariant = OneShardActs(declared())
    it = FakeWorld()
    invariant.on_write(it, write(None, child(), actor="blue", at=10))  # type: ignore[arg-type]
    it.acting(act("green", 50))
    invariant.on_write(it, write(None, child(), actor="green", at=51))  # type: ignore[arg-type]
    it.acting(act("blue", 90))
    invariant.on_write(it, write(None, child(), actor="blue", at=91))  # type: ignore[arg-type]


def test_what_is_no_root_and_no_child_belongs_to_no_slot() -> None:
    invariant = OneShardActs(declared())
    it = world(acts=[act("green", 50)])
    invariant.on_turn(it)
    invariant.on_write(it, write(None, child(owner=None)))
    invariant.on_write(it, write(None, child(), actor="user"))


def test_who_has_gained_a_slot_may_write_there_and_nobody_else() -> None:
    invariant = OneShardActs(declared())
    it = world(acts=[act("blue", 50)])
    invariant.on_turn(it)
    gained = {"message": "slots gained", "slots": str(SLOT)}
    later = world()
    invariant.on_log(later, "green", gained)
    invariant.on_write(later, write(child(), child(labels={}), actor="green"))
    with pytest.raises(Violation, match="blue wrote configmaps default/a"):
        invariant.on_write(later, write(child(), child(labels={}), actor="blue"))
