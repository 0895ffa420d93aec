"""What people see of runs that fail: on the object, in its events, in the log."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from io import StringIO
from typing import Any, ClassVar

import pytest

from openclaw.api import Condition
from openclaw.api.builtin import ConfigMap, Secret
from openclaw.runtime import Context, Reconciler, Result, TerminalError
from openclaw.telemetry.formats import JsonFormatter
from openclaw.testing import Client
from tests.integration.framework.conftest import Serve
from tests.integration.framework.kinds import Probe, Widget, WidgetProbe, widget
from tests.integration.reliability.claws import condition
from tests.integration.reliability.managers import quiet
from tests.integration.reliability.waiting import eventually

FINALIZER = "framework.test.openclaw.dev/failing"


class Keeper(Probe[Widget], Reconciler[Widget]):
    """Has something to undo."""

    finalizer = FINALIZER


def warnings_of(events: list[dict[str, Any]], name: str = "a") -> list[tuple[str, str, str]]:
    return [
        (it["action"], it["reason"], it["note"])
        for it in events
        if it["regarding"]["name"] == name and it["type"] == "Warning"
    ]


async def test_a_finalize_that_has_given_up_is_told(client: Client, namespace: str, serve: Serve) -> None:
    async def finalize(ctx: Context, obj: Widget) -> Result:
        if obj.spec.text == "bad":
            raise TerminalError("the account is closed: open it", reason="AccountClosed")
        return Result.done()

    async with serve(Keeper(finalize_step=finalize)):
        await client.create(widget("a", namespace, text="bad"))
        await client.wait_for(Widget, namespace, "a", lambda it: FINALIZER in it["metadata"]["finalizers"])
        await client.delete(Widget, namespace, "a")
        live = await client.wait_for(Widget, namespace, "a", lambda it: condition(it, "Stalled"))
        stalled = condition(live, "Stalled")
        assert (stalled["status"], stalled["reason"]) == ("True", "AccountClosed")
        assert stalled["message"] == "the account is closed: open it"
        assert stalled["observedGeneration"] == live["metadata"]["generation"]
        said = ("Finalize", "AccountClosed", "the account is closed: open it")
        await client.wait_list("Event.events.k8s.io", namespace, lambda it: said in warnings_of(it))
        await client.patch(Widget, namespace, "a", {"spec": {"text": "good"}})
        await client.wait_gone(Widget, namespace, "a")


@pytest.mark.parametrize("what", ["reconcile", "finalize"])
async def test_a_failure_that_lasts_is_told_once_and_taken_back(
    client: Client, namespace: str, serve: Serve, what: str
) -> None:
    failures = 0

    async def step(ctx: Context, obj: Widget) -> Result:
        nonlocal failures
        if obj.spec.text == "bad":
            failures += 1
            raise KeyError(f"at {id(ctx):#x}, try {ctx.attempt * 100_000}, password=hunter2")
        obj.status.seen = "yes"
        return Result.done()

    operator = Keeper(step) if what == "reconcile" else Keeper(finalize_step=step)
    async with serve(operator) as manager:
        await client.create(widget("a", namespace, text="bad"))
        if what == "finalize":
            await client.wait_for(
                Widget, namespace, "a", lambda it: FINALIZER in it["metadata"]["finalizers"]
            )
            await client.delete(Widget, namespace, "a")
        live = await client.wait_for(Widget, namespace, "a", lambda it: condition(it, "Reconciling"))
        assert failures == 5
        said = condition(live, "Reconciling")
        assert (said["status"], said["reason"]) == ("True", "ReconcileError")
        assert said["message"].startswith("failing, and tried again: KeyError: ")
        assert "hunter2" not in json.dumps(live["status"])
        with pytest.raises(LookupError):
            condition(live, "Stalled")

        await eventually(lambda: failures >= 7, "more failures")
        again = await client.get(Widget, namespace, "a")
        assert again["metadata"]["resourceVersion"] == live["metadata"]["resourceVersion"]
        events = await client.wait_list("Event.events.k8s.io", namespace, lambda it: warnings_of(it) != [])
        assert {(action, reason) for action, reason, _ in warnings_of(events)} == {
            (what.capitalize(), "ReconcileError")
        }
        assert "hunter2" not in json.dumps(events)

        await client.patch(Widget, namespace, "a", {"spec": {"text": "good"}})
        if what == "finalize":
            await client.wait_gone(Widget, namespace, "a")
            return
        live = await client.wait_for(Widget, namespace, "a", lambda it: it["status"]["seen"] == "yes")
        assert [it["type"] for it in live["status"].get("conditions", [])] == []
        await eventually(lambda: quiet(manager), "the end of the work")


async def test_a_failure_that_passes_is_not_told(client: Client, namespace: str, serve: Serve) -> None:
    async def step(ctx: Context, obj: Widget) -> Result:
        if len(probe.runs["a"]) < 5:
            raise OSError("the other side is away")
        obj.status.seen = "yes"
        return Result.done()

    probe = WidgetProbe(step)
    async with serve(probe) as manager:
        await client.create(widget("a", namespace))
        live = await client.wait_for(Widget, namespace, "a", lambda it: it["status"]["seen"] == "yes")
        assert live["status"].get("conditions", []) == []
        await eventually(lambda: quiet(manager), "the end of the work")
    assert warnings_of(await client.list("Event.events.k8s.io", namespace)) == []


async def test_a_reconcilers_own_reconciling_is_its_own(client: Client, namespace: str, serve: Serve) -> None:
    async def step(ctx: Context, obj: Widget) -> Result:
        if obj.spec.text == "one":
            obj.status.conditions.set(Condition(type="Reconciling", status="True", reason="Mine"))
        obj.status.seen = obj.spec.text
        return Result.done()

    async with serve(WidgetProbe(step)):
        await client.create(widget("a", namespace, text="one"))
        await client.wait_for(Widget, namespace, "a", lambda it: it["status"]["seen"] == "one")
        await client.patch(Widget, namespace, "a", {"spec": {"text": "two"}})
        live = await client.wait_for(Widget, namespace, "a", lambda it: it["status"]["seen"] == "two")
        assert condition(live, "Reconciling")["reason"] == "Mine"


@pytest.mark.parametrize("kind", [Secret, ConfigMap])
async def test_a_read_that_is_not_declared_names_what_to_declare(
    client: Client, namespace: str, serve: Serve, kind: type[Secret | ConfigMap]
) -> None:
    failures: list[LookupError] = []

    class Reader(Probe[Widget], Reconciler[Widget]):
        owns: ClassVar = (ConfigMap,)

    async def step(ctx: Context, obj: Widget) -> Result:
        assert await ctx.read(Widget, obj.name) is not None
        try:
            await ctx.read(kind, "x")
        except LookupError as error:
            failures.append(error)
        return Result.done()

    async with serve(Reader(step)):
        await client.create(widget("a", namespace))
        await eventually(lambda: failures, "a run")
    assert re.match(f"{kind.__name__} is not declared in reads \\(declared are: none\\)", str(failures[0]))


@pytest.fixture
def lines() -> Iterator[StringIO]:
    """What the controllers log, as JSON lines, with the context of the moment at which they log it."""
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("openclaw.controller")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield stream
    logger.setLevel(logging.NOTSET)
    logger.removeHandler(handler)


@pytest.mark.parametrize("error", [KeyError("page"), TerminalError("page"), OSError("page")], ids=repr)
async def test_the_end_of_a_run_can_be_joined_with_it(
    client: Client, namespace: str, serve: Serve, lines: StringIO, error: Exception
) -> None:
    async def step(ctx: Context, obj: Widget) -> Result:
        ctx.log.info("in the run")
        raise error

    async with serve(WidgetProbe(step)):
        await client.create(widget("a", namespace))
        await eventually(lambda: "reconcile failed" in lines.getvalue(), "a failure")
    said = [json.loads(line) for line in lines.getvalue().splitlines()]
    within = next(it for it in said if it["message"] == "in the run")
    failed = next(it for it in said if it["message"] == "reconcile failed")
    joined = ("controller", "kind", "namespace", "name", "generation", "resourceVersion", "reconcileID")
    assert {key: failed[key] for key in joined} == {key: within[key] for key in joined}
    assert failed["kind"] == "Widget"
    assert "field.error" not in failed
    assert failed["error"].count("page") == 1
