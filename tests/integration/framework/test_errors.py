"""What a run that fails leads to, for its object and for the others."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, ClassVar

import pytest

from openclaw.api.builtin import ConfigMap
from openclaw.runtime import Context, Reconciler, Result, TerminalError
from openclaw.testing import Client
from tests.integration.framework.conftest import Serve
from tests.integration.framework.kinds import Absent, Probe, Widget, WidgetProbe, widget
from tests.integration.reliability.claws import condition
from tests.integration.reliability.managers import quiet
from tests.integration.reliability.waiting import eventually


def _metric(manager: Any, name: str) -> float:
    value = manager.metrics.registry.get_sample_value(name, {"controller": "widgets"})
    return float(value or 0)


async def test_a_terminal_error_is_told_and_taken_back(client: Client, namespace: str, serve: Serve) -> None:
    async def step(ctx: Context, obj: Widget) -> Result:
        if obj.spec.text == "bad":
            raise TerminalError("the text is bad: choose another", reason="BadText")
        return Result.done()

    probe = WidgetProbe(step)
    async with serve(probe) as manager:
        await client.create(widget("a", namespace, text="bad"))
        live = await client.wait_for(Widget, namespace, "a", lambda it: condition(it, "Stalled"))
        stalled = condition(live, "Stalled")
        assert (stalled["status"], stalled["reason"]) == ("True", "BadText")
        assert stalled["message"] == "the text is bad: choose another"
        assert stalled["observedGeneration"] == live["status"]["observedGeneration"] == 1

        def told(events: list[dict[str, Any]]) -> bool:
            return any(
                (it["regarding"]["name"], it["type"], it["reason"], it["note"])
                == ("a", "Warning", "BadText", "the text is bad: choose another")
                for it in events
            )

        await client.wait_list("Event.events.k8s.io", namespace, told)
        assert _metric(manager, "controller_runtime_terminal_reconcile_errors_total") == 1
        assert _metric(manager, "controller_runtime_reconcile_panics_total") == 0
        # No fast retry: nothing but a change makes it run.
        assert len(probe.runs["a"]) == 1

        await client.patch(Widget, namespace, "a", {"spec": {"text": "good"}})
        good = await client.wait_for(
            Widget, namespace, "a", lambda it: it["status"]["observedGeneration"] == 2
        )
        with pytest.raises(LookupError):
            condition(good, "Stalled")
        await eventually(lambda: quiet(manager), "the end of the work")
    assert len(probe.runs["a"]) == 2


async def test_a_defect_is_logged_with_its_traceback_and_the_others_go_on(
    client: Client, namespace: str, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async def step(ctx: Context, obj: Widget) -> Result:
        if obj.name == "bad" and len(probe.runs["bad"]) < 3:
            raise KeyError("missing")
        obj.status.seen = "yes"
        return Result.done()

    probe = WidgetProbe(step)
    async with serve(probe) as manager:
        for name in ("bad", "good"):
            await client.create(widget(name, namespace))
        for name in ("good", "bad"):
            await client.wait_for(Widget, namespace, name, lambda it: it["status"]["seen"] == "yes")
        assert _metric(manager, "controller_runtime_reconcile_panics_total") == 2
        assert _metric(manager, "controller_runtime_reconcile_errors_total") == 2
    failures = [record for record in caplog.records if record.getMessage() == "reconcile failed"]
    assert len(failures) == 2
    assert all(record.exc_info and record.exc_info[0] is KeyError for record in failures)


@pytest.mark.parametrize("what", ["cancelled", "none", "group", "timeout"])
async def test_whatever_a_run_does_its_worker_lives(
    client: Client, namespace: str, serve: Serve, what: str
) -> None:
    """One worker, and a run that ends in a strange way: the next one must find it."""

    async def step(ctx: Context, obj: Widget) -> Result:
        if len(probe.runs[obj.name]) == 1:
            match what:
                case "cancelled":
                    # As when a task that is awaited was cancelled by somebody else.
                    task = asyncio.ensure_future(asyncio.Event().wait())
                    task.cancel()
                    await task
                case "none":
                    return None  # type: ignore[return-value]
                case "group":
                    raise ExceptionGroup("both", [ValueError("one"), KeyError("other")])
                case "timeout":
                    async with asyncio.timeout(0):
                        await asyncio.Event().wait()
        obj.status.seen = "yes"
        return Result.done()

    class One(WidgetProbe, Reconciler[Widget]):
        concurrency = 1

    probe = One(step)
    async with serve(probe) as manager:
        await client.create(widget("a", namespace))
        await client.wait_for(Widget, namespace, "a", lambda it: it["status"]["seen"] == "yes")
        await eventually(lambda: quiet(manager), "the end of the work")
        assert _metric(manager, "controller_runtime_reconcile_errors_total") == 1


async def test_a_run_past_its_deadline_is_stopped(
    client: Client, namespace: str, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    stopped: list[str] = []

    async def step(ctx: Context, obj: Widget) -> Result:
        if not stopped:
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append(obj.name)
        obj.status.seen = "yes"
        return Result.done()

    class Hasty(WidgetProbe, Reconciler[Widget]):
        deadline = 0.2

    async with serve(Hasty(step)) as manager:
        await client.create(widget("a", namespace))
        await client.wait_for(Widget, namespace, "a", lambda it: it["status"]["seen"] == "yes")
        assert _metric(manager, "controller_runtime_reconcile_errors_total") == 1
        assert _metric(manager, "controller_runtime_reconcile_panics_total") == 0
    assert stopped == ["a"]
    (failure,) = [record for record in caplog.records if record.getMessage() == "reconcile failed"]
    assert "deadline" in failure.__dict__["fields"]["error"]
    assert "0.2 s" in failure.__dict__["fields"]["error"]


async def test_a_name_that_is_taken_is_not_taken_over(client: Client, namespace: str, serve: Serve) -> None:
    async def step(ctx: Context, obj: Widget) -> Result:
        await ctx.apply(ConfigMap(name="taken", data={"ours": "yes"}))
        return Result.done()

    class Owner(Probe[Widget], Reconciler[Widget]):
        owns: ClassVar = (ConfigMap,)

    theirs = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "taken"},
        "data": {"theirs": "yes"},
    }
    await client.create(theirs, namespace=namespace)
    async with serve(Owner(step)):
        await client.create(widget("a", namespace))
        live = await client.wait_for(Widget, namespace, "a", lambda it: condition(it, "Stalled"))
        assert condition(live, "Stalled")["reason"] == "NameTaken"
        assert f"ConfigMap {namespace}/taken exists" in condition(live, "Stalled")["message"]
        assert (await client.get("ConfigMap", namespace, "taken"))["data"] == {"theirs": "yes"}


async def test_events_that_cannot_be_sent_stop_nothing(client: Client, namespace: str, serve: Serve) -> None:
    async def step(ctx: Context, obj: Widget) -> Result:
        ctx.event("Half", "half of a pair: \ud800")
        ctx.event("", "no reason")
        ctx.event("Long", "ü" * 2000)
        ctx.event("Last", "all is well")
        obj.status.seen = "yes"
        return Result.done()

    async with serve(WidgetProbe(step)):
        await client.create(widget("a", namespace))
        await client.wait_for(Widget, namespace, "a", lambda it: it["status"]["seen"] == "yes")
        events = await client.wait_list(
            "Event.events.k8s.io", namespace, lambda items: any(it["reason"] == "Last" for it in items)
        )
        long = [it["note"] for it in events if it["reason"] == "Long"]
        assert len(long) == 1
        assert long[0].startswith("üüü")
        assert long[0].endswith("…")


async def test_a_controller_without_its_caches_does_not_cost_the_others_their_grace(
    client: Client, namespace: str, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    """Two controllers, the kind of one of which is not there: the runs of the other end in order."""
    going_on = asyncio.Event()

    async def step(ctx: Context, obj: Widget) -> Result:
        await going_on.wait()
        obj.status.seen = "yes"
        return Result.done()

    class Waiting(Probe[Absent], Reconciler[Absent]):
        """Never begins."""

    probe = WidgetProbe(step)
    async with serve(probe, Waiting(), synced=False) as manager:
        await client.create(widget("a", namespace))
        await eventually(lambda: probe.runs["a"], "a run")
        manager.stop()
        await eventually(lambda: manager.health.run("ready").text().count("stopping"), "the stop")
        going_on.set()
        await client.wait_for(Widget, namespace, "a", lambda it: it["status"]["seen"] == "yes")
    assert logging.WARNING not in {
        record.levelno for record in caplog.records if record.name == "openclaw.runtime.manager"
    }
