from datetime import UTC, datetime
from typing import Any

import pytest

from openclaw.api.builtin import Deployment
from openclaw.controllers.openclaw.observed import Component, observe


def condition(type_: str, status: str, reason: str, message: str = "its words") -> dict[str, Any]:
    return {"type": type_, "status": status, "reason": reason, "message": message}


COMPLETE = condition("Progressing", "True", "NewReplicaSetAvailable")
UNDER_WAY = condition("Progressing", "True", "ReplicaSetUpdated")
STUCK = condition("Progressing", "False", "ProgressDeadlineExceeded")
UNNAMED = condition("Progressing", "False", "")
REFUSED = condition("ReplicaFailure", "True", "FailedCreate")
FINE_AGAIN = condition("ReplicaFailure", "False", "FailedCreate")


def deployment(
    pods: int = 0,
    *,
    updated: int | None = None,
    ready: int | None = None,
    available: int | None = None,
    conditions: tuple[dict[str, Any], ...] = (COMPLETE,),
    generation: int = 2,
    observed: int | None = 2,
    deleted: bool = False,
) -> Deployment:
    """`pods` pods, all of the current kind, ready and available unless said otherwise."""
    counts = {
        "replicas": pods,
        "updatedReplicas": pods if updated is None else updated,
        "readyReplicas": pods if ready is None else ready,
        "availableReplicas": (pods if ready is None else ready) if available is None else available,
        "observedGeneration": observed,
    }
    metadata: dict[str, Any] = {"name": "x", "generation": generation}
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    # The API leaves zeros out.
    status = {key: value for key, value in counts.items() if value}
    return Deployment({"metadata": metadata, "status": {**status, "conditions": list(conditions)}})


def rollout(pods: int, **counts: Any) -> Deployment:
    """A Deployment in the middle of an update."""
    return deployment(pods, conditions=(UNDER_WAY,), **counts)


def stuck(pods: int, **counts: Any) -> Deployment:
    """A Deployment whose update has taken too long."""
    return deployment(pods, conditions=(STUCK,), **counts)


SERVES, ROLLS, FAILS = "serves", "rolls", "fails"
BOTH = {SERVES, ROLLS}


def words(component: Component) -> set[str]:
    found = {SERVES: component.serving, ROLLS: component.rolling, FAILS: bool(component.failure)}
    return {word for word, holds in found.items() if holds}


@pytest.mark.parametrize(
    ("case", "wanted", "live", "settled", "expected"),
    [
        ("nothing there yet", 2, None, False, {ROLLS}),
        ("nothing there and nothing wanted", 0, None, False, BOTH),
        (
            "created, not observed",
            2,
            deployment(0, generation=1, observed=None, conditions=()),
            False,
            {ROLLS},
        ),
        ("complete", 2, deployment(2), False, {SERVES}),
        ("complete and settled", 2, deployment(2), True, {SERVES}),
        ("a change that is not observed", 2, deployment(2, generation=3), False, BOTH),
        # The old failure says nothing of the new spec.
        ("a change after a failure", 2, deployment(1, generation=3, conditions=(STUCK,)), False, {ROLLS}),
        (
            "rolling, all of the old still serve",
            4,
            rollout(5, updated=1),
            False,
            {SERVES, ROLLS},
        ),
        (
            "rolling, one down as allowed",
            4,
            rollout(5, updated=2, ready=3),
            False,
            {SERVES, ROLLS},
        ),
        ("rolling, too few", 4, rollout(5, updated=2, ready=2), False, {ROLLS}),
        (
            "all updated, the last one not ready",
            4,
            rollout(4, ready=3),
            False,
            {SERVES, ROLLS},
        ),
        ("ready, not yet available", 2, rollout(2, available=0), False, {ROLLS}),
        (
            "old pods still going",
            2,
            rollout(3, updated=2),
            False,
            {SERVES, ROLLS},
        ),
        (
            "all there, not yet called complete",
            2,
            rollout(2),
            False,
            {SERVES, ROLLS},
        ),
        # The Deployment controller goes on to say "complete" while it scales.
        ("scaling up", 4, deployment(4, ready=1), False, {ROLLS}),
        ("scaling up, pods not made yet", 4, deployment(1), False, {ROLLS}),
        ("scaling down", 1, deployment(3), False, BOTH),
        ("scaled to 0", 0, deployment(0), False, {SERVES}),
        ("scaling to 0", 0, deployment(2), False, BOTH),
        ("pods lost after it was complete", 2, deployment(2, ready=1), True, {FAILS}),
        ("all pods lost", 2, deployment(2, ready=0), True, {FAILS}),
        ("one of four lost, as an update might", 4, deployment(4, ready=3), True, {SERVES}),
        ("somebody else's change, not observed", 2, deployment(2, generation=3), True, {SERVES}),
        ("somebody else's change, just observed", 2, deployment(2, updated=1), True, BOTH),
        ("somebody else scales it", 2, deployment(3, ready=2), True, BOTH),
        (
            "somebody else restarts it",
            2,
            rollout(2, updated=1, ready=0),
            True,
            {ROLLS},
        ),
        (
            "stuck, the old still serve",
            2,
            deployment(3, updated=1, ready=2, conditions=(STUCK,)),
            False,
            {SERVES, FAILS},
        ),
        ("stuck from the beginning", 2, stuck(2, ready=0), False, {FAILS}),
        ("pods are refused", 2, deployment(0, conditions=(UNDER_WAY, REFUSED)), False, {FAILS}),
        ("pods were refused once", 2, deployment(2, conditions=(COMPLETE, FINE_AGAIN)), False, {SERVES}),
        ("being deleted", 2, deployment(2, deleted=True), False, {ROLLS}),
        ("being deleted, nothing wanted", 0, deployment(2, deleted=True), True, BOTH),
        ("no conditions at all", 1, deployment(1, conditions=()), False, {SERVES}),
    ],
)
def test_what_a_deployment_says(
    case: str, wanted: int, live: Deployment | None, settled: bool, expected: set[str]
) -> None:
    assert words(observe("frontend", wanted, live, settled=settled)) == expected, case


@pytest.mark.parametrize(
    ("live", "settled", "reason", "failure"),
    [
        (
            stuck(2, ready=0),
            False,
            "ProgressDeadlineExceeded",
            "worker: its words",
        ),
        (deployment(0, conditions=(STUCK, REFUSED)), False, "FailedCreate", "worker: its words"),
        (deployment(2, ready=1), True, "PodsUnavailable", "worker: 1 of 2 pods are available"),
        (
            deployment(2, conditions=(condition("Progressing", "False", ""),)),
            False,
            "Stuck",
            "worker: its words",
        ),
    ],
)
def test_a_failure_is_told_in_the_servers_words(
    live: Deployment, settled: bool, reason: str, failure: str
) -> None:
    component = observe("worker", 2, live, settled=settled)
    assert (component.reason, component.failure) == (reason, failure)


@pytest.mark.parametrize(
    ("wanted", "enough"), [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (7, 6), (8, 6), (100, 75), (1000, 750)]
)
def test_how_many_pods_are_enough(wanted: int, enough: int) -> None:
    # A rolling update's maxUnavailable of 25 %, rounded down: less is an outage.
    assert observe("frontend", wanted, deployment(wanted, ready=enough), settled=True).serving
    if enough:
        assert not observe("frontend", wanted, deployment(wanted, ready=enough - 1), settled=True).serving


def test_the_numbers_are_those_of_the_deployment() -> None:
    component = observe("frontend", 3, deployment(3, ready=2, available=1), settled=False)
    assert (component.ready, component.wanted, component.summary()) == (2, 3, "frontend 2/3")


def test_a_child_that_failed_makes_the_component_fail_and_leaves_the_rest() -> None:
    before = observe("frontend", 2, deployment(2), settled=False)
    after = before.failing("Forbidden", "exceeded quota")
    assert (after.reason, after.failure) == ("Forbidden", "frontend: exceeded quota")
    assert (after.ready, after.serving, after.rolling) == (before.ready, before.serving, before.rolling)


LACKING = {
    **condition("Available", "False", "MinimumReplicasUnavailable"),
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


@pytest.mark.parametrize(
    ("minutes", "deadline", "expected", "look_again"),
    [(9, None, {ROLLS}, 60.0), (10, None, {FAILS}, None), (9, 300, {FAILS}, None), (9, 1200, {ROLLS}, 660.0)],
)
def test_pods_that_never_come_fail_also_where_nobody_saw_them_lost(
    minutes: int, deadline: int | None, expected: set[str], look_again: float | None
) -> None:
    """The Deployment goes on to call itself complete, and no event ever tells that time has passed."""
    live = deployment(2, ready=0, conditions=(COMPLETE, LACKING))
    live.raw["spec"] = {} if deadline is None else {"progressDeadlineSeconds": deadline}
    now = datetime(2026, 1, 1, 0, minutes, tzinfo=UTC)
    component = observe("frontend", 2, live, settled=False, now=now)
    assert (words(component), component.look_again) == (expected, look_again)


@pytest.mark.parametrize(
    "live",
    [
        deployment(2, conditions=(COMPLETE, LACKING)),
        deployment(2, ready=0, conditions=(UNDER_WAY, LACKING)),
        deployment(1, ready=0, conditions=(COMPLETE, LACKING)),
        deployment(2, ready=0, conditions=(COMPLETE, {**LACKING, "lastTransitionTime": None})),
    ],
)
def test_what_serves_or_moves_has_no_deadline_of_ours(live: Deployment) -> None:
    component = observe("frontend", 2, live, settled=False, now=datetime(2026, 1, 2, tzinfo=UTC))
    assert (component.failure, component.look_again) == ("", None)


def test_what_is_not_observed_rolls_where_the_last_status_is_of_another_generation() -> None:
    """The run that changed the Deployment may have ended before its status was written."""
    unobserved = deployment(2, generation=3)
    assert words(observe("frontend", 2, unobserved, settled=True, told=False)) == BOTH
    # Once it is observed, its own numbers tell: pods that were lost before are no rollout.
    assert words(observe("frontend", 2, deployment(2, ready=0), settled=True, told=False)) == {FAILS}
