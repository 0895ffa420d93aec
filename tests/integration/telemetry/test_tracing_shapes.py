"""Which spans a run has: what is to be seen of each way that it can go."""

from __future__ import annotations

from typing import Any, ClassVar

from opentelemetry.trace import SpanKind, StatusCode

from openclaw.api.builtin import ConfigMap
from openclaw.kube.errors import Conflict
from openclaw.runtime import Context, Reconciler, Result, TerminalError
from openclaw.testing import Client
from tests.integration.framework.kinds import GROUP, Probe, Widget, WidgetProbe, widget
from tests.integration.reliability.managers import quiet
from tests.integration.reliability.waiting import eventually
from tests.integration.telemetry.conftest import Traced
from tests.integration.telemetry.recorded import Recorded, Shape, attributes, ids, links

RUN = "reconcile widgets/Widget"
SECRET = "hunter2hunter2"


class Owner(Probe[Widget], Reconciler[Widget]):
    """Has a ConfigMap that says what the spec says."""

    owns: ClassVar = (ConfigMap,)


async def keep_a_map(ctx: Context, obj: Any) -> Result:
    await ctx.apply(ConfigMap(name=f"{obj.name}-map", data={"text": obj.spec.text, "password": SECRET}))
    obj.status.seen = obj.spec.text
    return Result.done()


async def test_create_update_and_nothing_to_do(
    client: Client, namespace: str, traced: Traced, recorded: Recorded
) -> None:
    probe = Owner(keep_a_map)
    async with traced(probe, tracer=recorded.tracer) as manager:
        created = await client.create(widget("a", namespace, text="one"))
        await eventually(lambda: recorded.runs("a"), "the first run")
        await eventually(lambda: quiet(manager), "the end of the work")
        await client.patch(Widget, namespace, "a", {"spec": {"text": "two"}})
        await eventually(lambda: recorded.because("a", "Widget updated"), "the run for the change")
        await eventually(lambda: quiet(manager), "the end of the work")
        before = len(recorded.runs("a"))
        # A change of a child that is no drift.
        await client.patch("ConfigMap", namespace, "a-map", {"metadata": {"labels": {"theirs": "1"}}})
        await eventually(lambda: len(recorded.runs("a")) > before, "the run for the child")

    (create,), (update,) = recorded.because("a", "Widget added"), recorded.because("a", "Widget updated")
    noop = recorded.runs("a")[-1]
    status: Shape = ("status write", [("PATCH widgets/status", [])])
    assert recorded.shape(create) == (RUN, [("PATCH configmaps", []), status])
    assert recorded.shape(update) == (RUN, [("diff", []), ("PATCH configmaps", []), status])
    assert recorded.shape(noop) == (RUN, [("diff", [])])

    about = attributes(create)
    assert create.kind is SpanKind.CONSUMER
    assert about.pop("openclaw.queue_wait") >= 0
    assert about == {
        "openclaw.controller": "widgets",
        "openclaw.object.group": GROUP,
        "openclaw.object.version": "v1",
        "openclaw.object.kind": "Widget",
        "openclaw.object.namespace": namespace,
        "openclaw.object.name": "a",
        "openclaw.object.uid": created["metadata"]["uid"],
        "openclaw.object.generation": 1,
        "openclaw.object.resource_version": created["metadata"]["resourceVersion"],
        "openclaw.attempt": 1,
        "openclaw.reasons": ("Widget added",),
        "openclaw.priority": "change",
        "openclaw.result": "success",
        "openclaw.slot": about["openclaw.slot"],
    }
    call = recorded.child(create, "PATCH configmaps")
    assert call.kind is SpanKind.CLIENT
    assert attributes(call) == {
        "http.request.method": "PATCH",
        "http.response.status_code": 201,
        "openclaw.api.resource": "configmaps",
        "openclaw.api.namespace": namespace,
        "openclaw.api.name": "a-map",
    }
    changed = [
        (event.name, (event.attributes or {})["openclaw.path"])
        for event in recorded.child(update, "diff").events
    ]
    assert changed == [("changed", "~ data.text")]
    assert attributes(noop)["openclaw.reasons"] == ("ConfigMap updated",)
    assert not any(SECRET in span.to_json() for span in recorded.spans)


async def test_an_error_is_told_by_its_class_and_its_retry_is_linked_to_it(
    client: Client, namespace: str, traced: Traced, recorded: Recorded
) -> None:
    failures = 1

    async def step(ctx: Context, obj: Any) -> Result:
        nonlocal failures
        if failures:
            failures -= 1
            raise RuntimeError(f"no luck, password={SECRET}")
        return Result.done()

    async with traced(WidgetProbe(step), tracer=recorded.tracer):
        await client.create(widget("a", namespace))
        await eventually(lambda: len(recorded.runs("a")) == 2, "the retry")
    failed, retried = recorded.runs("a")
    assert failed.status.status_code is StatusCode.ERROR
    assert failed.status.description == "no luck, password=[redacted]"
    about = attributes(failed)
    assert (about["error.type"], about["openclaw.error_class"]) == ("RuntimeError", "transient")
    assert about["openclaw.result"] == "error"
    assert about["openclaw.requeue_delay"] > 0
    assert links(retried) == [("failed", ids(failed))]
    assert attributes(retried)["openclaw.attempt"] == 2
    assert retried.status.status_code is StatusCode.UNSET


async def test_a_conflict_is_no_failure_of_the_run_but_of_the_call(
    client: Client, namespace: str, traced: Traced, recorded: Recorded
) -> None:
    conflicts = 1

    async def step(ctx: Context, obj: Any) -> Result:
        nonlocal conflicts
        if conflicts:
            conflicts -= 1
            await ctx._client.merge_patch(
                Widget.resource, namespace, "a", {"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}}
            )
        return Result.done()

    async with traced(WidgetProbe(step), tracer=recorded.tracer):
        await client.create(widget("a", namespace))
        await eventually(lambda: len(recorded.runs("a")) == 2, "the run after the conflict")
    lost, again = recorded.runs("a")
    assert lost.status.status_code is StatusCode.UNSET
    assert attributes(lost)["openclaw.result"] == "requeue"
    assert attributes(lost)["error.type"] == Conflict.__name__
    call = recorded.child(lost, "PATCH widgets")
    assert call.status.status_code is StatusCode.ERROR
    assert attributes(call)["http.response.status_code"] == 409
    assert links(again) == [("conflict", ids(lost))]


async def test_a_terminal_error_writes_its_status_and_its_event(
    client: Client, namespace: str, traced: Traced, recorded: Recorded
) -> None:
    async def step(ctx: Context, obj: Any) -> Result:
        raise TerminalError("this cannot be", reason="Impossible")

    async with traced(WidgetProbe(step), tracer=recorded.tracer):
        await client.create(widget("a", namespace))
        await eventually(
            lambda: recorded.runs("a") and any(span.name == "event write" for span in recorded.spans),
            "the run and its event",
        )
        (failed,) = recorded.runs("a")
    name, children = recorded.shape(failed)
    # The event is sent in the background, meanwhile or after the run.
    assert (name, sorted(children)) == (
        RUN,
        [("event write", [("POST events", [])]), ("status write", [("PATCH widgets/status", [])])],
    )
    assert attributes(failed)["openclaw.error_class"] == "terminal"
    assert attributes(recorded.child(failed, "event write"))["openclaw.event.reason"] == "Impossible"


async def test_a_run_that_was_asked_for_is_linked_to_the_one_that_asked(
    client: Client, namespace: str, traced: Traced, recorded: Recorded
) -> None:
    async def step(ctx: Context, obj: Any) -> Result:
        return Result.after(0.05) if ctx.reasons == ("Widget added",) else Result.done()

    async with traced(WidgetProbe(step), tracer=recorded.tracer):
        await client.create(widget("a", namespace))
        await eventually(lambda: len(recorded.runs("a")) == 2, "the second run")
    first, second = recorded.runs("a")
    assert attributes(first)["openclaw.result"] == "requeue_after"
    assert attributes(first)["openclaw.requeue_delay"] == 0.05
    assert links(second) == [("requested", ids(first))]
    assert attributes(second)["openclaw.reasons"] == ("requested",)


async def test_a_finalizer_goes_on_and_comes_off_in_the_run_that_needs_it(
    client: Client, namespace: str, traced: Traced, recorded: Recorded
) -> None:
    class Careful(Probe[Widget], Reconciler[Widget]):
        finalizer: ClassVar = "telemetry.test.openclaw.dev/cleanup"

    async with traced(Careful(), tracer=recorded.tracer):
        await client.create(widget("a", namespace))
        await eventually(lambda: recorded.runs("a"), "the first run")
        await client.delete(Widget, namespace, "a")
        await client.wait_gone(Widget, namespace, "a")
        await eventually(lambda: len(recorded.runs("a")) >= 2, "the last run")
    first, last, *_ = recorded.runs("a")
    assert recorded.shape(first)[1][0] == ("PATCH widgets", [])
    assert recorded.shape(last) == (RUN, [("PATCH widgets", [])])


async def test_lists_and_the_start_have_traces_of_their_own_and_watches_none(
    client: Client, namespace: str, traced: Traced, recorded: Recorded
) -> None:
    await client.create(widget("a", namespace))
    async with traced(Owner(), tracer=recorded.tracer) as manager:
        await eventually(lambda: recorded.runs("a"), "the run")
        assert manager.informers[Widget.resource].listwatch.state.value == "watching"
    (listed,) = recorded.roots("list Widget")
    assert recorded.shape(listed) == ("list Widget", [("GET widgets", [])])
    (start,) = recorded.roots("start ")
    assert recorded.shape(start) == (
        "start widgets",
        [("cache wait Widget", []), ("cache wait ConfigMap", [])],
    )
    (run,) = recorded.runs("a")
    assert links(run) == [("Widget added", ids(listed))]
    assert {span.name for span in recorded.spans if span.kind is SpanKind.CLIENT} == {
        "GET widgets",
        "GET configmaps",
        "PATCH widgets/status",
    }
