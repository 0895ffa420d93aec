from __future__ import annotations

import asyncio

import pytest

from openclaw.kube.errors import Conflict, NotFound, ServiceUnavailable, TooManyRequests, Unreachable
from openclaw.testing.cluster.faults import Fault, RequestInfo, WatchFault
from tests.unit.kube.virtual_time import virtual_time
from tests.unit.testing.cluster.asking import CONFIG_MAPS, Asking, asked, watching


def once(ask: Asking, verb: str, fault: Fault) -> None:
    """The next request of this verb has this fault."""

    def hook(info: RequestInfo) -> Fault | None:
        if info.verb != verb:
            return None
        stop()
        return fault

    stop = ask.cluster.faults.at_requests(hook)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault.unavailable(), ServiceUnavailable),
        (Fault.broken(), ServiceUnavailable),
        (Fault.throttle(7), TooManyRequests),
        (Fault(lose_request=True), Unreachable),
        (Fault(hang=True), Unreachable),
    ],
)
@virtual_time
async def test_refused_before_the_effect(fault: Fault, error: type[Exception]) -> None:
    async with asked() as ask:
        once(ask, "create", fault)
        with pytest.raises(error) as caught:
            await ask.config_map("a")
        if isinstance(caught.value, TooManyRequests):
            assert caught.value.retry_after == 7
        with pytest.raises(NotFound):
            await ask.get(f"{CONFIG_MAPS}/a")
        await ask.config_map("a")


@pytest.mark.parametrize("fault", [Fault(lose_answer=True), Fault(lose_answer=True, hang=True)])
@virtual_time
async def test_the_answer_is_lost_after_the_effect(fault: Fault) -> None:
    async with asked() as ask:
        once(ask, "create", fault)
        with pytest.raises(Unreachable):
            await ask.config_map("a")
        assert (await ask.get(f"{CONFIG_MAPS}/a"))["metadata"]["name"] == "a"


@virtual_time
async def test_delays_are_on_the_loops_clock() -> None:
    loop = asyncio.get_running_loop()
    async with asked() as ask:
        once(ask, "create", Fault(delay=3, answer_delay=4))
        began = loop.time()
        making = asyncio.create_task(ask.config_map("a"))
        await asyncio.sleep(2)
        assert ask.cluster.get("configmaps", "default", "a") is None
        await asyncio.sleep(2)
        assert ask.cluster.get("configmaps", "default", "a") is not None
        assert not making.done()
        await making
        assert loop.time() - began == pytest.approx(7)


@virtual_time
async def test_a_conflict_in_the_servers_words() -> None:
    async with asked() as ask:
        await ask.config_map("a")
        ask.cluster.faults.at_requests(
            lambda info: Fault.conflict(info) if info.verb == "patch" and info.name == "a" else None
        )
        with pytest.raises(Conflict, match='configmaps "a": the object has been modified'):
            await ask.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "v"}})
        ask.cluster.faults.clear()
        await ask.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "v"}})


@virtual_time
async def test_lists_and_gets_from_the_past() -> None:
    async with asked() as ask:
        await ask.config_map("a")
        past = ask.cluster.store.revision
        await ask.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "v"}})
        await ask.config_map("b")
        stop = ask.cluster.faults.at_requests(lambda info: None if info.writes else Fault(past=past))
        listed = await ask.get(CONFIG_MAPS)
        assert [item["metadata"]["name"] for item in listed["items"]] == ["a"]
        assert listed["metadata"]["resourceVersion"] == str(past)
        assert "data" not in await ask.get(f"{CONFIG_MAPS}/a")
        stop()
        assert len((await ask.get(CONFIG_MAPS))["items"]) == 2


@virtual_time
async def test_a_plan_sees_who_asks_for_what() -> None:
    seen: list[RequestInfo] = []
    async with asked() as ask:

        def look(info: RequestInfo) -> None:
            seen.append(info)

        ask.cluster.faults.at_requests(look)
        await ask.config_map("a")
        await ask.send(
            "PATCH",
            f"{CONFIG_MAPS}/a",
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
            content_type="application/apply-patch+yaml",
            fieldManager="m",
        )
        async with watching(ask):
            pass
        assert [(one.verb, one.resource, one.name, one.writes) for one in seen] == [
            ("create", "configmaps", "", True),
            ("apply", "configmaps", "a", True),
            ("watch", "configmaps", "", False),
        ]


@virtual_time
async def test_events_are_dropped_repeated_and_held_back() -> None:
    faults = {
        "drop": WatchFault(drop=True),
        "twice": WatchFault(repeat=1),
        "late": WatchFault(lag=30),
    }
    loop = asyncio.get_running_loop()
    async with asked() as ask:
        ask.cluster.faults.at_events(lambda _, change, __: faults.get(change.entry.obj["metadata"]["name"]))
        position = str(ask.cluster.store.revision)
        async with watching(ask, resourceVersion=position) as events:
            for name in ("drop", "twice", "plain"):
                await ask.config_map(name)
            assert await events.named(3) == [("ADDED", "twice"), ("ADDED", "twice"), ("ADDED", "plain")]
            began = loop.time()
            await ask.config_map("late")
            await ask.config_map("behind")
            assert await events.named(2) == [("ADDED", "late"), ("ADDED", "behind")]
            assert loop.time() - began == pytest.approx(30)


@pytest.mark.parametrize("fault", [WatchFault(end=True), WatchFault(expire=True), WatchFault(cut=True)])
@virtual_time
async def test_watches_end_badly(fault: WatchFault) -> None:
    async with asked() as ask:
        ask.cluster.faults.at_events(lambda _, __, ___: fault)
        async with watching(ask, resourceVersion=str(ask.cluster.store.revision)) as events:
            await ask.config_map("a")
            if fault.cut:
                with pytest.raises(Unreachable):
                    await events.next()
                return
            assert await events.named(1) == [("ADDED", "a")]
            if fault.expire:
                kind, body = await events.next()
                assert (kind, body["code"]) == ("ERROR", 410)
            assert await events.ended()


@virtual_time
async def test_only_one_watch_is_hit() -> None:
    async with asked() as ask:
        position = str(ask.cluster.store.revision)
        async with (
            watching(ask, resourceVersion=position) as one,
            watching(ask, resourceVersion=position) as other,
        ):
            first = ask.cluster.server.watching.open[0]
            ask.cluster.faults.at_events(lambda watch, _, __: WatchFault(drop=watch is first))
            await ask.config_map("a")
            ask.cluster.faults.clear()
            await ask.config_map("b")
            assert await one.named(1) == [("ADDED", "b")]
            assert await other.named(2) == [("ADDED", "a"), ("ADDED", "b")]
