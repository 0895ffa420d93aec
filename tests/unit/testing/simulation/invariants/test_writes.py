"""Needless writes and fights: what is a violation, and what is not."""

from typing import Any

import pytest

from openclaw.testing.simulation.contracts import Violation
from openclaw.testing.simulation.invariants import NoNeedlessWrites
from tests.unit.testing.simulation.invariants.worlds import (
    THINGS,
    FakeWorld,
    child,
    declared,
    request,
    thing,
    write,
)


class Bench:
    """A world with one child, and the invariant."""

    def __init__(self) -> None:
        self.world = FakeWorld(objects={"configmaps": [child()], THINGS: [thing(status={"seen": 1})]})
        self.invariant = NoNeedlessWrites(declared())

    def sends(self, **facts: Any) -> None:
        self.invariant.on_request(self.world, request(**facts))  # type: ignore[arg-type]

    def says(self, message: str) -> None:
        self.invariant.on_log(self.world, "blue", {"message": message})  # type: ignore[arg-type]

    def rests(self, at: float) -> None:
        self.world.at = at
        self.invariant.at_rest(self.world)  # type: ignore[arg-type]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_the_second_write_that_changes_nothing_is_needless(bench: Bench) -> None:
    bench.sends()
    with pytest.raises(Violation, match="changed nothing"):
        bench.sends()


def test_another_verb_for_the_same_state_is_no_better(bench: Bench) -> None:
    bench.sends(verb="patch")
    with pytest.raises(Violation, match="changed nothing"):
        bench.sends(verb="apply")


def test_the_status_of_a_child_is_no_part_of_its_state_and_that_of_a_root_is(bench: Bench) -> None:
    bench.sends()
    bench.world.objects["configmaps"] = [{**child(resourceVersion="10"), "status": {"ready": 1}}]
    with pytest.raises(Violation, match="changed nothing"):
        bench.sends()
    bench.sends(resource=THINGS)
    bench.world.objects[THINGS] = [thing(status={"seen": 2})]
    bench.sends(resource=THINGS)


def test_a_write_that_changes_nothing_after_one_s_own_is_needless_unless_somebody_else_has_written(
    bench: Bench,
) -> None:
    bench.sends(changed=True)
    theirs = write(child(), child(labels={}), actor="cluster")
    bench.invariant.on_write(bench.world, theirs)  # type: ignore[arg-type]
    bench.sends()
    bench.sends(changed=True)
    with pytest.raises(Violation, match="changed nothing"):
        bench.sends()


def test_a_write_that_comes_after_its_run_has_failed_tells_the_shard_nothing(bench: Bench) -> None:
    bench.says("reconcile failed")
    bench.sends(changed=True, at=bench.world.at + 1)
    bench.sends()


@pytest.mark.parametrize(
    "message", ["connecting to the API server", "slots gained", "reconcile failed", "waiting as asked"]
)
def test_a_shard_that_cannot_know_may_write_again(bench: Bench, message: str) -> None:
    bench.sends()
    bench.says(message)
    bench.sends()


def test_what_others_changed_what_was_refused_and_what_another_shard_writes_is_no_repetition(
    bench: Bench,
) -> None:
    bench.sends()
    bench.sends(actor="green")
    bench.sends(code=409)
    bench.sends(changed=True)
    bench.sends(verb="get")
    bench.world.objects["configmaps"] = [{**child(), "data": {"ours": "2"}}]
    bench.sends()


def test_a_fight_is_found(bench: Bench) -> None:
    for number in range(59):
        bench.sends(changed=True, at=number / 10)
    with pytest.raises(Violation, match=r"60 times within 5\.9 s"):
        bench.sends(changed=True, at=5.9)


def test_many_writes_in_the_course_of_time_are_none(bench: Bench) -> None:
    for number in range(200):
        bench.sends(changed=True, at=number / 5)


def test_a_write_at_rest_is_found_unless_others_have_written(bench: Bench) -> None:
    bench.sends(resource="leases.coordination.k8s.io", changed=True, at=199)
    bench.rests(200)
    bench.sends(changed=True, at=180)
    bench.rests(220)
    with pytest.raises(Violation, match="still writes at rest"):
        bench.rests(200)
    bench.invariant.on_write(
        bench.world,  # type: ignore[arg-type]
        write(child(), child(labels={}), actor="cluster", at=179),
    )
    bench.rests(200)
