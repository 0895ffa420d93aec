"""What is to be seen of calls to an external system: answered, refused, lost, and held back."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from openclaw.controllers.rds.reconciler import RDSInstanceReconciler
from openclaw.providers.resilience.settings import ResilienceSettings
from openclaw.testing.rds import OUTAGE, THROTTLE, Fault, LoseAnswer, Outcome, Refuse
from tests.integration.rds.conftest import rds, world
from tests.integration.rds.world import PASSWORD, REGION, World, phase, quick_settings
from tests.integration.reliability.waiting import eventually
from tests.integration.telemetry.conftest import Traced
from tests.integration.telemetry.recorded import Recorded, attributes, ids, links

__all__ = ["rds", "world"]  # fixtures

CONNECT = "aws-rds connect"


def calls(recorded: Recorded, run: ReadableSpan) -> list[ReadableSpan]:
    found = [span for span in recorded.children(run) if span.name.startswith("aws-rds ")]
    return [span for span in found if span.name != CONNECT]


def external(span: ReadableSpan) -> dict[str, Any]:
    prefix = "openclaw.external."
    return {name.removeprefix(prefix): it for name, it in attributes(span).items() if name.startswith(prefix)}


def ended_as(recorded: Recorded, result: str) -> list[tuple[ReadableSpan, list[ReadableSpan]]]:
    """The runs whose last call ended so, and their calls."""
    found = [(run, calls(recorded, run)) for run in recorded.roots()]
    return [(run, made) for run, made in found if made and external(made[-1])["result"] == result]


def without_secrets(world: World, recorded: Recorded) -> bool:
    told = [span.to_json() for span in recorded.spans]
    return not any(secret in text for text in told for secret in (PASSWORD, world.key.secret))


async def first_run(world: World, traced: Traced, recorded: Recorded, outcome: Outcome) -> ReadableSpan:
    """The run whose create ends so."""
    world.rds.faults.add(Fault(outcome, operation="CreateDBInstance", account=world.account.id))
    async with traced(RDSInstanceReconciler(quick_settings()), tracer=recorded.tracer):
        await world.create()
        if isinstance(outcome, Refuse) and outcome != OUTAGE:
            await world.until(phase("Failed"))
        else:
            await world.available()
    return recorded.runs("orders")[0]


def failed_create(world: World, run: ReadableSpan, recorded: Recorded, result: str) -> ReadableSpan:
    """The only call of the run, whose attributes are as they should be."""
    (call,) = calls(recorded, run)
    assert (call.name, call.kind) == ("aws-rds create", SpanKind.CLIENT)
    assert call.status.status_code is StatusCode.ERROR
    assert external(call) == {
        "provider": "aws-rds",
        "operation": "create",
        "account": world.account.id,
        "region": REGION,
        "result": result,
        "breaker": "closed",
    }
    # What had to be written and waited for before it, and what is said of it.
    names = [name for name, _ in recorded.shape(run)[1]]
    before = ["PATCH rdsinstances", CONNECT, "password digest", "PATCH rdsinstances"]
    assert names[:5] == [*before, call.name]
    assert "status write" in names
    assert external(recorded.child(run, CONNECT)) == {
        name: external(call)[name] for name in ("provider", "account", "region")
    }
    return call


@pytest.mark.parametrize("outcome", [OUTAGE, LoseAnswer()], ids=["outage", "lost"])
async def test_a_call_that_fails_fails_the_run_and_the_retry_is_linked_to_it(
    world: World, traced: Traced, recorded: Recorded, outcome: Outcome
) -> None:
    failed = await first_run(world, traced, recorded, outcome)
    call = failed_create(world, failed, recorded, "transient")
    assert failed.status.status_code is StatusCode.ERROR
    assert failed.status.description == call.status.description
    about = attributes(failed)
    assert about["error.type"] == attributes(call)["error.type"] == "ExternalTransient"
    assert (about["openclaw.result"], about["openclaw.error_class"]) == ("error", "transient")
    again = recorded.because("orders", "failed")[0]
    assert CONNECT not in {name for name, _ in recorded.shape(again)[1]}
    assert links(again) == [("failed", ids(failed))]
    # It looks before it asks once more.
    assert calls(recorded, again)[0].name == "aws-rds get"
    assert without_secrets(world, recorded)


async def test_a_call_that_is_refused_for_good_has_failed_and_the_run_has_not(
    world: World, traced: Traced, recorded: Recorded
) -> None:
    refused = await first_run(world, traced, recorded, Refuse("InvalidParameterValue", "No such thing."))
    call = failed_create(world, refused, recorded, "invalid")
    assert call.status.description == "InvalidParameterValue: No such thing."
    assert attributes(call)["error.type"] == "ExternalInvalid"
    # The phase Failed is an outcome like others: there is nothing to be tried again.
    assert refused.status.status_code is StatusCode.UNSET
    assert "openclaw.error_class" not in attributes(refused)


async def test_a_wait_that_is_asked_for_is_told_and_what_it_holds_back_is_seen(
    world: World, traced: Traced, recorded: Recorded
) -> None:
    async with traced(RDSInstanceReconciler(quick_settings()), tracer=recorded.tracer):
        with world.rds.faults.always(THROTTLE, account=world.account.id) as fault:
            await world.create("orders")
            await eventually(fault.reached.is_set, "the call")
            # Of the same account: it is not sent while the account is left alone.
            await world.create("bills")
            held_back = await eventually(lambda: ended_as(recorded, "held_back"), "a call that is not sent")
    throttled = recorded.runs("orders")[0]
    (call,) = calls(recorded, throttled)
    assert (external(call)["result"], external(call)["breaker"]) == ("throttled", "closed")
    assert call.status.status_code is StatusCode.ERROR
    about = attributes(throttled)
    assert throttled.status.status_code is StatusCode.UNSET
    assert about["openclaw.error_class"] == "throttled"
    assert about["openclaw.requeue_delay"] >= external(call)["throttle_wait"] > 0
    for run, calls_of in held_back:
        assert attributes(run)["openclaw.error_class"] == "throttled"
        assert external(calls_of[-1])["throttle_wait"] > 0


async def test_an_open_breaker_is_seen_on_the_call_that_it_stops(
    world: World, traced: Traced, recorded: Recorded
) -> None:
    async with traced(RDSInstanceReconciler(quick_settings()), tracer=recorded.tracer):
        await world.create()
        await world.available()
        with world.rds.faults.always(OUTAGE, account=world.account.id):
            await world.change(allocatedStorage=40)
            stopped = await eventually(lambda: ended_as(recorded, "breaker_open"), "a call that is stopped")
    run, its_calls = stopped[0]
    assert attributes(run)["openclaw.error_class"] == "transient"
    assert run.status.status_code is StatusCode.ERROR
    assert external(its_calls[-1])["breaker"] == "open"
    # Those before it were made, and failed.
    made = [external(it) for run in recorded.runs("orders") for it in calls(recorded, run)]
    failed = [it for it in made if it["result"] == "transient"]
    assert len(failed) >= ResilienceSettings().breaker_failures
    assert {it["breaker"] for it in made if it["result"] == "success"} == {"closed"}
