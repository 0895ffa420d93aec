"""One component in one run, with a context that answers as told."""

from typing import Any, cast

import pytest

from openclaw.api.builtin import Deployment, Service
from openclaw.controllers.openclaw.attempt import Attempt
from openclaw.kube import Conflict, Forbidden, KubeError, TooManyRequests, Unauthorized, Unreachable
from openclaw.runtime import Applied, Context, NotControlled
from tests.unit.controllers.claws import claw

NAME = "web-worker"
COMPLETE = {
    "observedGeneration": 1,
    "replicas": 2,
    "updatedReplicas": 2,
    "readyReplicas": 2,
    "availableReplicas": 2,
}


def live(**status: Any) -> dict[str, Any]:
    metadata = {"name": NAME, "namespace": "shop", "generation": 1}
    return {"metadata": metadata, "spec": {"replicas": 2}, "status": {**COMPLETE, **status}}


class Answers:
    """As much of a context as an attempt needs: each kind is applied, or fails with its error."""

    def __init__(self, outcome: str = "unchanged", **errors: Exception) -> None:
        self.errors = errors
        self.outcome = outcome

    async def apply_with_outcome(self, desired: Deployment | Service) -> Applied:
        if error := self.errors.get(desired.resource.kind):
            raise error
        if isinstance(desired, Deployment):
            return Applied(live(), cast("Any", self.outcome))
        return Applied(desired.to_dict(), cast("Any", self.outcome))

    def owned(self, kind: type[Deployment]) -> list[Deployment]:
        return [Deployment(live())] if kind is Deployment else []


async def attempt(context: Answers) -> Attempt:
    made = Attempt(cast("Context", context), claw(), "worker", 2)
    await made.deployment(Deployment(name=NAME))
    await made.apply(Service(name=NAME))
    return made


async def test_what_is_applied_and_complete_is_well() -> None:
    seen = (await attempt(Answers())).component(NAME, was_rolling=False)
    assert (seen.serving, seen.rolling, seen.failure) == (True, False, "")


@pytest.mark.parametrize("error", [Unreachable("reset"), Unauthorized(401), TooManyRequests(429)])
async def test_a_deployment_that_may_yet_be_applied_is_on_its_way_and_degrades_nothing(
    error: KubeError,
) -> None:
    made = await attempt(Answers(Deployment=error))
    seen = made.component(NAME, was_rolling=False)
    assert (seen.rolling, seen.failure, made.errors) == (True, "", [error])


@pytest.mark.parametrize(
    "error", [Forbidden(403, "Forbidden", "exceeded quota"), NotControlled("exceeded quota")]
)
async def test_a_deployment_that_is_refused_fails_and_is_not_on_its_way(error: Exception) -> None:
    made = await attempt(Answers(Deployment=error))
    seen = made.component(NAME, was_rolling=True)
    assert (seen.rolling, seen.failure) == (False, "worker: exceeded quota")


async def test_another_child_that_is_refused_leaves_the_deployment_to_speak_for_itself() -> None:
    refused = Forbidden(403, "Forbidden", "no services here")
    seen = (await attempt(Answers(Service=refused))).component(NAME, was_rolling=False)
    assert (seen.serving, seen.rolling, seen.failure) == (True, False, "worker: no services here")


async def test_a_refusal_is_told_also_behind_what_may_pass() -> None:
    context = Answers(
        Deployment=Unreachable("reset"), Service=Forbidden(403, "Forbidden", "no services here")
    )
    made = await attempt(context)
    assert made.component(NAME, was_rolling=False).failure == "worker: no services here"
    assert len(made.errors) == 2


async def test_a_conflict_ends_the_run() -> None:
    with pytest.raises(Conflict):
        await attempt(Answers(Deployment=Conflict(409, "Conflict")))


async def test_what_a_former_object_of_the_name_left_behind_is_not_there() -> None:
    """Else an Ingress that is about to go would be told as the endpoint, and its Service as reachable."""
    made = Attempt(cast("Context", Answers("terminating")), claw(), "worker", 2)
    assert await made.apply(Service(name=NAME)) is None
    made = Attempt(cast("Context", Answers("unchanged")), claw(), "worker", 2)
    assert await made.apply(Service(name=NAME)) == Service(name=NAME)
