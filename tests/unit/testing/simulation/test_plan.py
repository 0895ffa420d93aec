"""Plans of faults: drawn, printed, read again."""

from __future__ import annotations

import random

import pytest

from openclaw.testing.simulation.plan import KINDS, Plan, PlannedFault, draw_plan

_SYSTEMATIC = {"crash-at-request", "stale-from-event", "missed-event", "forgotten-event"}


def _drawn(shards: int, **more: object) -> set[str]:
    plans = [draw_plan(random.Random(seed), shards, **more) for seed in range(400)]  # type: ignore[arg-type]
    return {fault.kind for plan in plans for fault in plan.faults}


def test_every_kind_is_drawn_but_those_of_systematic_runs() -> None:
    assert _drawn(3) == KINDS.keys() - _SYSTEMATIC
    assert _drawn(0) == KINDS.keys() - _SYSTEMATIC - {"scale", "lost-lease-writes", "drift"}


def test_faults_of_the_system_outside_are_drawn_by_their_names() -> None:
    drawn = _drawn(1, external=["away", "slow"])
    assert {"external:away", "external:slow"} < drawn
    assert _drawn(1, external=["away"], only=frozenset({"external:away", "crash"})) == {
        "external:away",
        "crash",
    }


def test_a_seed_draws_the_same_plan_again_and_some_days_are_quiet() -> None:
    plans = [draw_plan(random.Random(seed), 3) for seed in range(100)]
    assert plans == [draw_plan(random.Random(seed), 3) for seed in range(100)]
    assert 0 < sum(not plan.faults for plan in plans) < 50


def test_what_is_printed_can_be_read_again() -> None:
    for seed in range(50):
        plan = draw_plan(random.Random(seed), 3, external=["away"])
        again = Plan.parse(str(plan))
        assert str(again) == str(plan)
        assert list(again.faults) == list(plan.faults)
    assert Plan.parse("none") == Plan()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("crash,1,2,0,1", "'crash,1,2,0,1' is no fault"),
        ("crash,1,x,0,1,5", "'crash,1,x,0,1,5' is no fault"),
        ("crush,1,2,0,1,5", "'crush' is no kind of fault"),
    ],
)
def test_what_is_no_plan_is_told(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Plan.parse(f"pause,1,2,0,1,5;{text}")


def test_a_plan_is_described_for_people() -> None:
    plan = Plan(
        [PlannedFault("pause", 1.5, 20.0, 2, 1.0, 0), PlannedFault("external:away", 2, 3, -1, 0.5, 1)]
    )
    one, two = plan.describe()
    assert "pause of shard 2 for 20 s" in one
    assert "a fault of the system outside" in two
    assert plan.without([plan.faults[0]]).faults == [plan.faults[1]]
