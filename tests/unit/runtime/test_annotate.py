"""Annotations of the root, written before something is done outside."""

from typing import Any, cast

import orjson
import pytest

from openclaw.api.openclaw import OpenClaw
from openclaw.kube.errors import Conflict
from openclaw.runtime.apply import Applier
from openclaw.runtime.context import Context
from openclaw.runtime.informer import Informer
from openclaw.runtime.queue import Key
from openclaw.telemetry.logs import Log
from tests.unit.runtime.one_object import OneObject


class Harness:
    def __init__(self, **metadata: Any) -> None:
        self.api = OneObject(**metadata)
        self.obj = self.api.read()
        informer = Informer(self.api, OpenClaw.resource, field_manager="openclaw")
        informer.put(orjson.dumps(self.api.live))
        self.cache = informer.cache
        kinds = {OpenClaw.resource: informer}
        self.ctx = Context(
            self.obj,
            key=Key("shop", "web"),
            reasons=(),
            attempt=1,
            reconcile_id="r",
            applier=Applier(self.api.client, kinds, {}),
            client=self.api.client,
            informers=kinds,
            reads=(),
            recorder=None,
            log=Log("test"),
        )

    def cached(self) -> dict[str, Any]:
        return cast("dict[str, Any]", orjson.loads(self.cache.get("shop", "web") or b"{}"))


async def test_a_mark_is_on_the_server_in_the_cache_and_on_the_object() -> None:
    run = Harness(annotations={"a": "1", "b": "2"})
    await run.ctx.annotate({"a": None, "c": "3"})
    assert run.api.live["metadata"]["annotations"] == {"b": "2", "c": "3"}
    assert run.cached()["metadata"]["annotations"] == {"b": "2", "c": "3"}
    assert run.obj.metadata.annotations == {"b": "2", "c": "3"}
    assert run.obj.metadata.resource_version == run.api.live["metadata"]["resourceVersion"]


async def test_what_is_so_already_is_not_sent() -> None:
    run = Harness(annotations={"a": "1"})
    await run.ctx.annotate({"a": "1", "b": None})
    assert run.api.sent == []


async def test_on_an_old_state_nothing_is_marked() -> None:
    run = Harness()
    run.api.change({"metadata": {"annotations": {"b": "others"}}})
    with pytest.raises(Conflict):
        await run.ctx.annotate({"a": "1"})
    assert run.api.live["metadata"]["annotations"] == {"b": "others"}
    assert run.obj.metadata.annotations == {}


async def test_marks_follow_each_other() -> None:
    run = Harness()
    await run.ctx.annotate({"a": "1"})
    await run.ctx.annotate({"a": "2"})
    assert run.api.live["metadata"]["annotations"] == {"a": "2"}


async def test_what_was_done_outside_is_written_on_a_newer_state_too() -> None:
    run = Harness()
    run.api.change({"metadata": {"annotations": {"b": "others"}}})
    await run.ctx.annotate({"a": "1"}, insist=True)
    assert run.api.live["metadata"]["annotations"] == {"a": "1", "b": "others"}
    assert run.cached()["metadata"]["annotations"] == {"a": "1", "b": "others"}
    # The status that this run writes is based on what it read, which is no longer so.
    assert run.obj.metadata.resource_version != run.api.live["metadata"]["resourceVersion"]
