"""The context that travels with objects: `tracing.k8s.io/traceparent`."""

from __future__ import annotations

from typing import Any, ClassVar

from openclaw.api.builtin import ConfigMap
from openclaw.runtime import Context, Reconciler, Result
from openclaw.telemetry.spans import TRACEPARENT_ANNOTATION, parse_traceparent
from openclaw.telemetry.tracing import NO_TRACING, Tracer
from openclaw.testing import Client
from tests.integration.framework.kinds import Probe, Widget, widget
from tests.integration.reliability.managers import quiet
from tests.integration.reliability.waiting import eventually
from tests.integration.telemetry.conftest import Traced
from tests.integration.telemetry.recorded import Recorded, attributes, ids, links

REMOTE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Owner(Probe[Widget], Reconciler[Widget]):
    """Has a ConfigMap."""

    owns: ClassVar = (ConfigMap,)


async def keep_a_map(ctx: Context, obj: Any) -> Result:
    await ctx.apply(ConfigMap(name=f"{obj.name}-map", data={"text": obj.spec.text}))
    obj.status.seen = obj.spec.text
    return Result.done()


async def child(client: Client, namespace: str) -> dict[str, Any]:
    metadata: dict[str, Any] = (await client.get("ConfigMap", namespace, "a-map"))["metadata"]
    return metadata


async def run_until_quiet(traced: Traced, probe: Owner, tracer: Tracer, runs: int) -> None:
    async with traced(probe, tracer=tracer) as manager:
        await eventually(lambda: len(probe.runs["a"]) >= runs and quiet(manager), f"{runs} runs")


async def test_a_child_names_the_run_that_changed_it_last(
    client: Client, namespace: str, traced: Traced, recorded: Recorded
) -> None:
    root = widget("a", namespace, text="one")
    root["metadata"]["annotations"] = {TRACEPARENT_ANNOTATION: REMOTE}
    async with traced(Owner(keep_a_map), tracer=recorded.tracer) as manager:
        await client.create(root)
        await eventually(lambda: recorded.runs("a") and quiet(manager), "the first run")
        created = (await child(client, namespace))["annotations"][TRACEPARENT_ANNOTATION]
        await client.patch(Widget, namespace, "a", {"spec": {"text": "two"}})
        await eventually(
            lambda: recorded.because("a", "Widget updated") and quiet(manager), "the run for the change"
        )
        before = len(recorded.runs("a"))
        changed = (await child(client, namespace))["annotations"][TRACEPARENT_ANNOTATION]
        await client.patch("ConfigMap", namespace, "a-map", {"data": {"theirs": "1"}})
        await eventually(lambda: len(recorded.runs("a")) > before, "the run for the child")
        live = await client.get(Widget, namespace, "a")
    (first,), (second,) = recorded.because("a", "Widget added"), recorded.because("a", "Widget updated")
    third = recorded.runs("a")[-1]
    for value, run in ((created, first), (changed, second)):
        context = parse_traceparent(value)
        assert context is not None
        assert (context.trace_id, context.span_id) == ids(run)
        assert context.sampled
    remote = parse_traceparent(REMOTE)
    assert remote is not None
    theirs = (remote.trace_id, remote.span_id)
    assert links(first) == [("Widget added", theirs)]
    assert links(second) == [("Widget updated", theirs)]
    # What changed the child last was our own second run; the object still names who made it.
    assert links(third) == [("annotation", theirs), ("ConfigMap updated", ids(second))]
    assert live["metadata"]["annotations"] == {TRACEPARENT_ANNOTATION: REMOTE}, "the root is not ours to mark"


async def test_nothing_is_written_for_the_annotation_alone(
    client: Client, namespace: str, traced: Traced, recorded: Recorded
) -> None:
    await client.create(widget("a", namespace, text="one"))
    await run_until_quiet(traced, Owner(keep_a_map), recorded.tracer, 1)
    written = await child(client, namespace)
    assert TRACEPARENT_ANNOTATION in written["annotations"]

    # Another trace, and no tracing at all: nothing to do each time.
    for tracer in (Recorded().tracer, NO_TRACING, Recorded(lambda _id, _name: False).tracer):
        await run_until_quiet(traced, Owner(keep_a_map), tracer, 1)
        assert await child(client, namespace) == written

    # Somebody else changes it, or takes it away: that is none of our business either.
    for value in (REMOTE, None):
        await client.patch(
            "ConfigMap", namespace, "a-map", {"metadata": {"annotations": {TRACEPARENT_ANNOTATION: value}}}
        )
        left = await child(client, namespace)
        probe = Owner(keep_a_map)
        await run_until_quiet(traced, probe, Recorded().tracer, 1)
        assert await child(client, namespace) == left


async def test_a_write_without_tracing_takes_the_old_context_away(
    client: Client, namespace: str, traced: Traced, recorded: Recorded
) -> None:
    await client.create(widget("a", namespace, text="one"))
    await run_until_quiet(traced, Owner(keep_a_map), recorded.tracer, 1)
    await client.patch(Widget, namespace, "a", {"spec": {"text": "two"}})
    await run_until_quiet(traced, Owner(keep_a_map), NO_TRACING, 1)
    live = await client.get("ConfigMap", namespace, "a-map")
    assert live["data"] == {"text": "two"}
    assert TRACEPARENT_ANNOTATION not in live["metadata"].get("annotations", {})


async def test_triggers_that_are_folded_into_one_run_are_all_named(
    client: Client, namespace: str, traced: Traced, recorded: Recorded
) -> None:
    held = True

    async def step(ctx: Context, obj: Any) -> Result:
        return Result.after(300) if held else Result.done()

    async with traced(Owner(step), tracer=recorded.tracer) as manager:
        queue = manager.controllers[0].queue
        await client.create(widget("a", namespace, text="one"))
        await eventually(lambda: recorded.runs("a") and not queue.running, "the first run")
        held = False
        await client.patch(Widget, namespace, "a", {"spec": {"text": "two"}})
        await eventually(lambda: len(recorded.runs("a")) == 2, "the second run")
        assert queue.delayed == 0
    first, second = recorded.runs("a")
    assert attributes(second)["openclaw.reasons"] == ("requested", "Widget updated")
    root = (await client.get(Widget, namespace, "a"))["metadata"]
    assert TRACEPARENT_ANNOTATION not in root.get("annotations", {})
    assert links(second) == [("requested", ids(first))]
