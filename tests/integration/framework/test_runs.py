"""When a reconciler runs, and when it does not."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, ClassVar

import pytest

from openclaw.api.builtin import ConfigMap, Secret
from openclaw.runtime import Context, Reconciler, Result, Watch, index
from openclaw.testing import Client
from tests.integration.framework.conftest import Serve
from tests.integration.framework.kinds import Probe, Widget, WidgetProbe, widget
from tests.integration.reliability.managers import quiet
from tests.integration.reliability.waiting import eventually


class Owner(Probe[Widget], Reconciler[Widget]):
    """Has ConfigMaps."""

    owns: ClassVar = (ConfigMap,)


class Referrer(Probe[Widget], Reconciler[Widget]):
    """Is about Secrets that others make."""

    indexes: ClassVar = (index("spec.secrets[*]"),)
    watches: ClassVar = (Watch(Secret, "spec.secrets[*]"),)


async def test_only_what_the_triggers_name_leads_to_a_run(
    client: Client, namespace: str, serve: Serve
) -> None:
    probe = WidgetProbe()
    async with serve(probe) as manager:
        await client.create(widget("a", namespace))
        await eventually(lambda: len(probe.runs["a"]) == 1, "the first run")
        await client.patch(
            "Widget.framework.test.openclaw.dev",
            namespace,
            "a",
            {"status": {"seen": "x"}},
            subresource="status",
        )
        await client.patch(Widget, namespace, "a", {"metadata": {"labels": {"a": "b"}}})
        await client.patch(Widget, namespace, "a", {"metadata": {"annotations": {"a": "b"}}})
        # Events come in order: once this one has run, the others have led to nothing.
        await client.patch(Widget, namespace, "a", {"spec": {"text": "new"}})
        await eventually(lambda: len(probe.runs["a"]) >= 2, "the run for the change")
        await client.delete(Widget, namespace, "a")
        await eventually(lambda: len(manager.informers[Widget.resource].cache) == 0, "the deletion")
        await eventually(lambda: quiet(manager), "the end of the work")
    assert probe.runs["a"] == [("Widget added",), ("Widget updated",)]


async def test_a_change_of_a_secret_runs_those_that_name_it(
    client: Client, namespace: str, serve: Serve
) -> None:
    probe = Referrer()
    async with serve(probe) as manager, client.namespace() as elsewhere:
        await client.create(widget("one", namespace, secrets=["a"]))
        await client.create(widget("two", namespace, secrets=["a", "b"]))
        await client.create(widget("none", namespace))
        await eventually(lambda: len(probe.runs) == 3, "the first runs")
        for place, name in ((namespace, "a"), (namespace, "b"), (namespace, "c"), (elsewhere, "a")):
            secret = {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": name},
                "stringData": {"k": "1"},
            }
            await client.create(secret, namespace=place)
        await client.patch("Secret", namespace, "b", {"stringData": {"k": "2"}})
        await client.delete("Secret", namespace, "b")
        await eventually(lambda: ("Secret deleted",) in probe.runs["two"], "the run for the deletion")
        await eventually(lambda: quiet(manager), "the end of the work")
    assert probe.runs["none"] == [("Widget added",)]
    assert probe.runs["one"] == [("Widget added",), ("Secret added",)]
    assert set(probe.runs["two"]) >= {("Widget added",), ("Secret deleted",)}


async def test_what_was_asked_to_run_later_runs_without_an_event(
    client: Client, namespace: str, serve: Serve
) -> None:
    async def again(ctx: Context, obj: Widget) -> Result:
        return Result.after(0.05) if len(probe.runs["a"]) < 3 else Result.done()

    probe = WidgetProbe(again)
    async with serve(probe) as manager:
        await client.create(widget("a", namespace))
        await eventually(lambda: len(probe.runs["a"]) == 3, "three runs")
        await eventually(lambda: quiet(manager), "the end of the work")
    assert probe.runs["a"] == [("Widget added",), ("requested",), ("requested",)]


async def test_a_change_comes_before_what_was_asked_to_run_much_later(
    client: Client, namespace: str, serve: Serve
) -> None:
    async def in_an_hour(ctx: Context, obj: Widget) -> Result:
        return Result.after(3600) if obj.spec.text == "" else Result.done()

    probe = WidgetProbe(in_an_hour)
    async with serve(probe) as manager:
        await client.create(widget("a", namespace))
        await eventually(lambda: len(probe.runs["a"]) == 1, "the first run")
        await client.patch(Widget, namespace, "a", {"spec": {"text": "now"}})
        await eventually(lambda: len(probe.runs["a"]) == 2, "the run for the change")
        # What was asked for then is no longer waited for.
        await eventually(lambda: quiet(manager), "the end of the work")


async def test_children_that_change_run_their_root_and_own_writes_do_not(
    client: Client, namespace: str, serve: Serve
) -> None:
    async def step(ctx: Context, obj: Widget) -> Result:
        await ctx.apply(ConfigMap(name=f"{obj.name}-map", data={"text": obj.spec.text}))
        obj.status.seen = obj.spec.text
        return Result.done()

    probe = Owner(step)
    async with serve(probe) as manager:
        for name in ("a", "b"):
            await client.create(widget(name, namespace, text="one"))
            await client.wait_for(Widget, namespace, name, lambda it: it["status"]["seen"] == "one")
        await client.patch("ConfigMap", namespace, "a-map", {"data": {"text": "changed", "other": "kept"}})
        await client.wait_for("ConfigMap", namespace, "a-map", lambda it: it["data"]["text"] == "one")
        await client.delete("ConfigMap", namespace, "b-map")
        await client.wait_for("ConfigMap", namespace, "b-map", lambda it: it["data"]["text"] == "one")
        await eventually(lambda: quiet(manager), "the end of the work")
        left = await client.get("ConfigMap", namespace, "a-map")
        assert left["data"] == {"text": "one", "other": "kept"}
    # An event that overtakes the answer to the write that it is about may lead to one more run each.
    assert ("ConfigMap updated",) in probe.runs["a"]
    assert ("ConfigMap deleted",) in probe.runs["b"]
    assert max(len(runs) for runs in probe.runs.values()) <= 4


async def test_one_run_of_an_object_at_a_time_and_no_more_than_allowed(
    client: Client, namespace: str, serve: Serve
) -> None:
    running: Counter[str] = Counter()
    seen: dict[str, int] = {"most of one": 0, "most of all": 0}
    last: dict[str, str] = {}

    async def step(ctx: Context, obj: Widget) -> Result:
        running[obj.name] += 1
        seen["most of one"] = max(seen["most of one"], running[obj.name])
        seen["most of all"] = max(seen["most of all"], running.total())
        for _ in range(20):
            await asyncio.sleep(0)
        await ctx.read(Widget, obj.name)
        last[obj.name] = obj.spec.text
        running[obj.name] -= 1
        return Result.done()

    class Few(WidgetProbe, Reconciler[Widget]):
        concurrency = 3

    probe = Few(step)
    names = [f"w{number}" for number in range(8)]
    async with serve(probe) as manager:
        for name in names:
            await client.create(widget(name, namespace))

        async def storm(name: str) -> None:
            for turn in range(40):
                await client.patch(Widget, namespace, name, {"spec": {"text": str(turn)}})

        await asyncio.gather(*map(storm, names))
        await eventually(lambda: last == dict.fromkeys(names, "39"), "the last change of each")
        await eventually(lambda: quiet(manager), "the end of the work")
    assert seen == {"most of one": 1, "most of all": 3}


@pytest.mark.timeout(180)
async def test_a_run_sees_what_the_last_one_wrote(client: Client, namespace: str, serve: Serve) -> None:
    """Thousands of runs, on the watch's heels, of what each reads in the cache and raises by one."""
    goal, roots = 125, 16
    written: dict[str, int] = {}
    stale: list[str] = []

    async def step(ctx: Context, obj: Widget) -> Result:
        live = ctx.get(ConfigMap, f"{obj.name}-count")
        count = int(live.data["count"]) if live is not None else 0
        expected = written.get(obj.name, 0)
        if count != expected:
            stale.append(f"{obj.name}: {count} in the cache, {expected} written")
        # After a conflict the run begins again: what it wrote last may not have got as far as the status.
        if ctx.attempt == 1 and obj.status.seen != (str(expected) if expected else ""):
            stale.append(f"{obj.name}: status {obj.status.seen!r}, {expected} written")
        if count >= goal:
            return Result.done()
        answer = await ctx.apply(ConfigMap(name=f"{obj.name}-count", data={"count": str(count + 1)}))
        written[obj.name] = int(answer.data["count"])
        obj.status.seen = str(count + 1)
        return Result.after(1e-6)

    probe = Owner(step)
    async with serve(probe) as manager:
        names = [f"w{number}" for number in range(roots)]
        for name in names:
            await client.create(widget(name, namespace))

        async def disturb(name: str) -> None:
            turn = 0
            while written.get(name, 0) < goal:
                turn += 1
                await client.patch(Widget, namespace, name, {"spec": {"text": str(turn)}})
                await client.patch(
                    "ConfigMap",
                    namespace,
                    f"{name}-count",
                    {"metadata": {"annotations": {"turn": str(turn)}}},
                )
                await asyncio.sleep(0.05)

        await eventually(lambda: len(written) == roots, "the first write of each")
        await asyncio.gather(*map(disturb, names[:4]))
        await eventually(lambda: set(written.values()) == {goal}, "the goal", timeout=60)
        await eventually(lambda: quiet(manager), "the end of the work")
    assert stale == []
    total = sum(len(runs) for runs in probe.runs.values())
    assert total >= goal * roots


async def test_reads_go_past_the_cache(client: Client, namespace: str, serve: Serve) -> None:
    found: list[Any] = []

    async def step(ctx: Context, obj: Widget) -> Result:
        found.append(await ctx.read(ConfigMap, "there"))
        found.append(await ctx.read(ConfigMap, "not-there"))
        with pytest.raises(LookupError, match="ConfigMap is not cached here"):
            ctx.get(ConfigMap, "there")
        return Result.done()

    class Reader(WidgetProbe, Reconciler[Widget]):
        reads: ClassVar = (ConfigMap,)

    await client.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "there"}, "data": {"a": "b"}},
        namespace=namespace,
    )
    async with serve(Reader(step)):
        await client.create(widget("a", namespace))
        await eventually(lambda: len(found) == 2, "the reads")
    assert found[0].data == {"a": "b"}
    assert found[1] is None
