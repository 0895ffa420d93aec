from __future__ import annotations

import asyncio

import pytest

from openclaw.kube.errors import BadRequest, Invalid, Unreachable
from tests.unit.kube.virtual_time import virtual_time
from tests.unit.testing.cluster.asking import CONFIG_MAPS, asked, watching


@virtual_time
async def test_a_watch_goes_on_from_where_it_left_off() -> None:
    async with asked() as ask:
        first = await ask.config_map("a")
        await ask.config_map("b")
        await ask.merge(f"{CONFIG_MAPS}/b", {"data": {"k": "v"}})
        await ask.delete(f"{CONFIG_MAPS}/a")
        async with watching(ask, resourceVersion=first["metadata"]["resourceVersion"]) as events:
            assert await events.named(3) == [("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "a")]
            await ask.config_map("c")
            kind, obj = await events.next()
            assert (kind, obj["metadata"]["name"]) == ("ADDED", "c")
            assert (obj["kind"], obj["apiVersion"]) == ("ConfigMap", "v1")


@virtual_time
async def test_without_a_position_it_begins_with_what_is_there() -> None:
    async with asked() as ask:
        await ask.config_map("a")
        for position in ({}, {"resourceVersion": "0"}):
            async with watching(ask, **position) as events:
                assert await events.named(1) == [("ADDED", "a")]
                await ask.merge(f"{CONFIG_MAPS}/a", {"data": {"k": str(position)}})
                assert await events.named(1) == [("MODIFIED", "a")]


@virtual_time
async def test_initial_events_end_with_a_bookmark() -> None:
    async with asked() as ask:
        await ask.config_map("a")
        await ask.config_map("b")
        query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        async with watching(ask, allowWatchBookmarks="true", **query) as events:
            assert await events.named(2) == [("ADDED", "a"), ("ADDED", "b")]
            kind, bookmark = await events.next()
            assert kind == "BOOKMARK"
            assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
            assert bookmark["metadata"]["resourceVersion"] == str(ask.cluster.store.revision)
            await ask.config_map("c")
            assert await events.named(1) == [("ADDED", "c")]


@virtual_time
async def test_selectors_turn_changes_into_comings_and_goings() -> None:
    async with asked() as ask:
        revision = str(ask.cluster.store.revision)
        async with watching(ask, resourceVersion=revision, labelSelector="in=yes") as events:
            await ask.config_map("a")
            await ask.merge(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"in": "yes"}}})
            await ask.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "v"}})
            left = await ask.merge(f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"in": "no"}}, "data": None})
            await ask.delete(f"{CONFIG_MAPS}/a")
            assert await events.named(2) == [("ADDED", "a"), ("MODIFIED", "a")]
            kind, gone = await events.next()
            assert kind == "DELETED"
            # The last state that was selected, at the position of the change.
            assert gone["metadata"]["labels"] == {"in": "yes"}
            assert gone["data"] == {"k": "v"}
            assert gone["metadata"]["resourceVersion"] == left["metadata"]["resourceVersion"]
            await ask.config_map("b", labels={"in": "yes"})
            assert await events.named(1) == [("ADDED", "b")]


@virtual_time
async def test_a_watch_of_a_namespace_and_of_a_name() -> None:
    async with asked() as ask:
        revision = str(ask.cluster.store.revision)
        async with (
            watching(ask, "/api/v1/configmaps", resourceVersion=revision) as everywhere,
            watching(ask, resourceVersion=revision, fieldSelector="metadata.name=b") as one,
            watching(ask, f"/api/v1/watch{CONFIG_MAPS.removeprefix('/api/v1')}/b") as old,
        ):
            await ask.post("/api/v1/namespaces/kube-system/configmaps", {"metadata": {"name": "b"}})
            await ask.config_map("a")
            await ask.config_map("b")
            assert await everywhere.named(3) == [("ADDED", "b"), ("ADDED", "a"), ("ADDED", "b")]
            for events in (one, old):
                kind, obj = await events.next()
                assert (kind, obj["metadata"]["name"], obj["metadata"]["namespace"]) == (
                    "ADDED",
                    "b",
                    "default",
                )


@virtual_time
async def test_a_deletion_carries_its_own_position_and_the_last_state() -> None:
    async with asked() as ask:
        made = await ask.config_map("a", labels={"k": "v"})
        async with watching(ask, resourceVersion=made["metadata"]["resourceVersion"]) as events:
            await ask.delete(f"{CONFIG_MAPS}/a")
            kind, obj = await events.next()
            assert kind == "DELETED"
            assert obj["metadata"]["labels"] == {"k": "v"}
            assert int(obj["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


@virtual_time
async def test_a_position_that_has_not_come_is_waited_for() -> None:
    async with asked() as ask:
        later = str(ask.cluster.store.revision + 2)
        async with watching(ask, resourceVersion=later) as events:
            for name in ("a", "b", "c"):
                await ask.config_map(name)
            assert await events.named(1) == [("ADDED", "c")]


@virtual_time
async def test_a_forgotten_position_is_told_by_an_event() -> None:
    async with asked() as ask:
        first = await ask.config_map("a")
        await ask.config_map("b")
        ask.cluster.compact()
        async with watching(ask, resourceVersion=first["metadata"]["resourceVersion"]) as events:
            kind, status = await events.next()
            assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
            assert await events.ended()


@virtual_time
async def test_bookmarks_come_each_minute_and_before_the_end() -> None:
    loop = asyncio.get_running_loop()
    async with asked() as ask:
        began = loop.time()
        query = {"resourceVersion": "1", "timeoutSeconds": "100"}
        async with watching(ask, allowWatchBookmarks="true", **query) as events:
            at = []
            for _ in range(2):
                kind, obj = await events.next()
                assert kind == "BOOKMARK"
                assert (obj["kind"], obj["apiVersion"]) == ("ConfigMap", "v1")
                assert obj["metadata"]["resourceVersion"] == str(ask.cluster.store.revision)
                at.append(round(loop.time() - began))
            assert at == [60, 98]
            assert await events.ended()
            assert round(loop.time() - began) == 100


@virtual_time
async def test_no_bookmarks_unless_asked_for() -> None:
    async with (
        asked() as ask,
        watching(ask, resourceVersion="1", timeoutSeconds="200") as events,
    ):
        assert await events.ended()


@virtual_time
async def test_watches_of_others_share_what_was_encoded() -> None:
    async with asked() as ask:
        revision = str(ask.cluster.store.revision)
        async with (
            watching(ask, resourceVersion=revision) as one,
            watching(ask, resourceVersion=revision, labelSelector="!x") as other,
        ):
            await ask.config_map("a")
            assert await one.next() == await other.next()
            [change] = ask.cluster.store.collection(("", "configmaps")).changes[-1:]
            assert len(change.encoded) == 1


@virtual_time
async def test_what_may_not_be_asked_of_a_watch() -> None:
    refused = [
        ({"sendInitialEvents": "true"}, "requires setting resourceVersionMatch"),
        ({"resourceVersionMatch": "NotOlderThan"}, "forbidden for watch unless sendInitialEvents"),
        ({"sendInitialEvents": "true", "resourceVersionMatch": "Exact"}, "supported values"),
    ]
    async with asked() as ask:
        for query, text in refused:
            with pytest.raises(Invalid) as caught:
                async with watching(ask, **query):
                    pass
            assert text in str(caught.value)
        with pytest.raises(BadRequest):
            async with watching(ask, labelSelector="a=b=c"):
                pass
        assert ask.cluster.server.watching.open == []


@virtual_time
async def test_a_cut_watch_raises_and_a_silent_one_too() -> None:
    async with asked() as ask:
        async with watching(ask, resourceVersion="1") as events:
            ask.cluster.cut_watches()
            with pytest.raises(Unreachable):
                await events.next()
        query = {"watch": "true", "resourceVersion": str(ask.cluster.store.revision)}
        async with ask.transport.stream(CONFIG_MAPS, query=query, idle_timeout=30) as chunks:
            with pytest.raises(Unreachable, match="nothing was received"):
                await anext(chunks)
        assert ask.cluster.server.watching.open == []
