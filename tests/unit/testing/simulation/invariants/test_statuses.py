"""A status names its generation: what is a violation of it, and what is not."""

from typing import Any

import pytest

from openclaw.testing.simulation.contracts import Violation
from openclaw.testing.simulation.invariants import StatusNamesItsGeneration
from tests.unit.testing.simulation.invariants.worlds import declared, status_write, thing, world, write

THEN, LATER = "2026-12-01T00:00:00Z", "2026-12-01T00:01:00Z"


def ready(
    status: str = "True", *, observed: int = 2, since: str | None = THEN, reason: str = "It"
) -> dict[str, Any]:
    return {
        "observedGeneration": observed,
        "conditions": [
            {
                "type": "Ready",
                "status": status,
                "reason": reason,
                "message": "",
                "observedGeneration": observed,
                **({"lastTransitionTime": since} if since else {}),
            }
        ],
    }


GOOD = ready()
TWICE = {**GOOD, "conditions": GOOD["conditions"] * 2}
NEWER_CONDITION = {**GOOD, "conditions": ready(observed=3)["conditions"]}
OLDER_CONDITION = {**GOOD, "conditions": ready(observed=1, reason="Other")["conditions"]}


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (None, ready(observed=3), "claims generation 3"),
        (GOOD, ready(observed=1), "went back"),
        (GOOD, {"conditions": GOOD["conditions"]}, "lost its observedGeneration"),
        (None, NEWER_CONDITION, "condition Ready claims generation 3"),
        (GOOD, OLDER_CONDITION, "condition Ready went back"),
        (None, TWICE, "twice"),
        (None, ready(since=None), "lacks"),
        (None, ready(reason=""), "lacks"),
        (GOOD, ready(since=LATER), "lastTransitionTime went"),
    ],
)
def test_what_a_status_must_not_be(before: dict[str, Any] | None, after: dict[str, Any], says: str) -> None:
    it = status_write(thing(status=before), thing(status=after))
    with pytest.raises(Violation, match=says):
        StatusNamesItsGeneration(declared()).on_write(world(), it)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, GOOD),
        (ready(observed=1), GOOD),
        (GOOD, ready("False", since=LATER)),
        (GOOD, ready(reason="Other")),
        (GOOD, {"observedGeneration": 2}),
    ],
)
def test_what_it_may_be(before: dict[str, Any] | None, after: dict[str, Any]) -> None:
    it = status_write(thing(status=before), thing(status=after))
    StatusNamesItsGeneration(declared()).on_write(world(), it)


def test_a_condition_that_turns_after_a_while_and_keeps_its_time_is_found() -> None:
    invariant = StatusNamesItsGeneration(declared())
    invariant.on_write(world(), status_write(thing(), thing(status=GOOD), at=100))
    with pytest.raises(Violation, match="stayed"):
        invariant.on_write(world(), status_write(thing(status=GOOD), thing(status=ready("False")), at=1000))


def test_another_object_of_the_name_begins_anew() -> None:
    it = status_write(
        thing(uid="former", status=ready(observed=2)), thing(generation=1, status=ready(observed=1))
    )
    StatusNamesItsGeneration(declared()).on_write(world(), it)


def test_status_and_spec_are_written_apart() -> None:
    invariant = StatusNamesItsGeneration(declared())
    with pytest.raises(Violation, match="by a write of the object itself"):
        invariant.on_write(world(), write(thing(), thing(status=GOOD), verb="patch"))
    with pytest.raises(Violation, match="changed the spec"):
        invariant.on_write(world(), status_write(thing(), {**thing(status=GOOD), "spec": {}}))


def test_what_users_write_is_theirs() -> None:
    it = status_write(thing(), thing(status=ready(observed=9)), actor="user")
    StatusNamesItsGeneration(declared()).on_write(world(), it)
