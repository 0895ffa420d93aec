from typing import cast

import pytest

from openclaw.api.conditions import Available, Condition, Degraded, Progressing
from openclaw.api.openclaw import OpenClaw
from openclaw.controllers.openclaw.conditions import speaks_of_this_generation, state_conditions, was_rolling
from openclaw.controllers.openclaw.observed import Component
from openclaw.kube import Unreachable
from openclaw.runtime import Context, NotControlled
from tests.unit.controllers.claws import claw


class Events:
    """As much of a context as conditions need."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def event(self, reason: str, note: str, *, type: str = "Normal") -> None:
        assert note
        self.told.append((type, reason))


def part(name: str, *, serving: bool = True, rolling: bool = False, failure: str = "") -> Component:
    reason = "FailedCreate" if failure else ""
    return Component(
        name, 2, 2 if serving else 0, serving, rolling, f"{name}: {failure}" if failure else "", reason
    )


def state(
    obj: OpenClaw, frontend: Component, worker: Component, error: Exception | None = None
) -> list[tuple[str, str]]:
    """State the conditions; the events that were told."""
    events = Events()
    obj.status.conditions.speak_of(obj.metadata.generation)
    state_conditions(cast("Context", events), obj, (frontend, worker), error=error)
    return events.told


def stated(obj: OpenClaw, condition_type: str) -> Condition:
    condition = obj.status.conditions.get(condition_type)
    assert condition is not None
    return condition


def shown(obj: OpenClaw) -> tuple[str, str, str]:
    kinds = (Available, Progressing, Degraded)
    available, progressing, degraded = (stated(obj, kind).status for kind in kinds)
    return available, progressing, degraded


GOOD = (part("frontend"), part("worker"))


def test_all_is_well() -> None:
    obj = claw()
    assert state(obj, *GOOD) == [("Normal", "Available")]
    assert shown(obj) == ("True", "False", "False")
    assert stated(obj, Available).message == "frontend 2/2, worker 2/2 ready"
    assert state(obj, *GOOD) == [], "said once"


def test_a_first_rollout_is_no_outage_worth_an_event() -> None:
    obj = claw()
    assert state(obj, part("frontend", serving=False, rolling=True), part("worker", rolling=True)) == []
    assert shown(obj) == ("False", "True", "False")
    assert stated(obj, Available).message == "frontend not available (frontend 0/2, worker 2/2 ready)"
    assert stated(obj, Progressing).reason == "RollingOut"


def test_one_component_that_fails_makes_the_whole_degraded_and_the_message_says_which() -> None:
    obj = claw()
    state(obj, *GOOD)
    told = state(obj, part("frontend"), part("worker", failure="exceeded quota"))
    assert told == [("Warning", "Degraded")]
    assert shown(obj) == ("True", "False", "True")
    degraded = stated(obj, Degraded)
    assert (degraded.reason, degraded.message) == ("FailedCreate", "worker: exceeded quota")
    assert state(obj, *GOOD) == [("Normal", "Recovered")]
    assert shown(obj) == ("True", "False", "False")


@pytest.mark.parametrize(
    ("error", "frontend", "told"),
    [
        (NotControlled("taken"), "", []),
        (NotControlled("taken"), "exceeded quota", [("Warning", "Degraded")]),
        (Unreachable("refused"), "", [("Warning", "Degraded")]),
    ],
)
def test_what_the_runtime_tells_is_not_told_twice(
    error: Exception, frontend: str, told: list[tuple[str, str]]
) -> None:
    obj = claw()
    state(obj, *GOOD)
    assert state(obj, part("frontend", failure=frontend), part("worker", failure="taken"), error) == told
    assert shown(obj)[2] == "True"
    assert state(obj, *GOOD) == [("Normal", "Recovered")]


def test_both_failures_are_told() -> None:
    obj = claw()
    state(obj, part("frontend", failure="one", serving=False), part("worker", failure="two", serving=False))
    assert stated(obj, Degraded).message == "frontend: one; worker: two"
    assert "frontend and worker not available" in stated(obj, Available).message


def test_an_outage_is_an_event() -> None:
    obj = claw()
    state(obj, *GOOD)
    told = state(obj, part("frontend", serving=False, failure="gone"), part("worker"))
    assert told == [("Warning", "Degraded"), ("Warning", "Unavailable")]
    assert state(obj, *GOOD) == [("Normal", "Recovered"), ("Normal", "Available")]


def test_no_transition_without_a_change() -> None:
    obj = claw()
    state(obj, *GOOD)
    before = list(obj.status.conditions)
    state(obj, *GOOD)
    assert list(obj.status.conditions) == before


@pytest.mark.parametrize(
    ("frontend", "worker", "reason"),
    [(True, True, "RollingOut"), (True, False, "FrontendRollingOut"), (False, True, "WorkerRollingOut")],
)
def test_the_next_run_reads_which_component_rolled(frontend: bool, worker: bool, reason: str) -> None:
    obj = claw()
    assert was_rolling(obj, "frontend"), "nothing is known of it yet"
    state(obj, part("frontend", rolling=frontend), part("worker", rolling=worker))
    assert stated(obj, Progressing).reason == reason
    assert (was_rolling(obj, "frontend"), was_rolling(obj, "worker")) == (frontend, worker)


def test_nothing_rolled_once_it_was_complete() -> None:
    obj = claw()
    state(obj, *GOOD)
    assert not was_rolling(obj, "frontend")
    assert not was_rolling(obj, "worker")


def test_a_status_of_another_generation_is_told_apart() -> None:
    """A run that ended between the write of the Deployment and that of the status has left it so."""
    obj = claw()
    assert not speaks_of_this_generation(obj)
    state(obj, *GOOD)
    assert speaks_of_this_generation(obj)
    obj.metadata.generation += 1
    assert not speaks_of_this_generation(obj)
    assert not was_rolling(obj, "frontend")
