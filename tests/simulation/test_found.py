"""Bad days that once found a defect which no invariant names, kept as they were."""

from __future__ import annotations

from openclaw.testing.simulation.plan import Plan
from openclaw.testing.simulation.run import simulate
from tests.simulation.scenarios.more_held import HeldByOthers
from tests.simulation.scenarios.more_late import Late
from tests.simulation.scenarios.more_turned import TurnedBack
from tests.simulation.scenarios.openclaw import Alone
from tests.simulation.scenarios.sharding import One, Slow


def test_a_lease_that_meets_one_conflict_after_another_is_not_written_without_pause() -> None:
    """List and write went on as fast as the API server answered: some 600 a second."""
    outcome = simulate(One(), 7, Plan.parse("conflicts,4.565,30,-,1,1"))
    assert outcome.violation is None
    assert outcome.summary.faults["conflicts"] > 10
    assert outcome.summary.counts["requests"] < 1000


def test_a_name_that_is_a_new_object_in_another_slot_is_not_forgotten_with_the_former_one() -> None:
    """The former object's slot was handed over while its run went on; the new one waited in the queue."""
    assert simulate(Slow(), 1).violation is None


def test_a_child_whose_deletion_met_a_conflict_is_deleted_all_the_same() -> None:
    """A conflict was taken for another object of the name, and nobody looked again."""
    plan = "restart,13.277,77.465,0,0.031,512131606;conflicts,23.337,76.821,-,0.3,2651354130"
    assert simulate(Alone(), 213, Plan.parse(plan)).violation is None


def test_a_child_that_was_made_anew_while_a_write_was_on_its_way_is_no_invalid_one() -> None:
    """The API server calls another uid in a patch invalid; an Event told users to change something."""
    plan = "restart,1.847,18.224,1,0.3,52124239;broken-watches,24.404,10.617,-,0.1,910381267"
    assert simulate(Late(), 6, Plan.parse(plan)).violation is None


def test_a_status_whose_answer_was_lost_does_not_stay_when_what_it_says_turns_back() -> None:
    """The next run came to what its cache showed, wrote nothing, and no event ran the object again."""
    assert simulate(TurnedBack(), 1).violation is None


def test_what_a_finished_deletion_has_to_take_back_is_taken_back_though_a_write_is_lost() -> None:
    """Reconciling was put back with a new transition time, and stayed: the next run had nothing to do."""
    plan = "lost-requests,0.627,14.096,-,0.622,3409082189"
    assert simulate(HeldByOthers(), 3, Plan.parse(plan)).violation is None
