"""The first run of an object, in which the finalizer goes on."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from openclaw.api import CustomResource, Model
from openclaw.runtime import Context, Reconciler, Result
from openclaw.testing.cluster.cluster import FakeCluster


class Mark(CustomResource, group="firstrun.example.com", version="v1"):
    class Spec(Model):
        text: str = ""

    spec: Spec = Spec()


class Marker(Reconciler[Mark]):
    finalizer: ClassVar = "firstrun.example.com/marker"

    def __init__(self) -> None:
        self.attempts: list[int] = []
        self.done = asyncio.Event()

    async def reconcile(self, ctx: Context, obj: Mark) -> Result:
        self.attempts.append(ctx.attempt)
        await ctx.annotate({"firstrun.example.com/mark": "1"})
        assert obj.annotations["firstrun.example.com/mark"] == "1"
        self.done.set()
        return Result.done()

    async def finalize(self, ctx: Context, obj: Mark) -> Result:
        return Result.done()


async def test_a_mark_in_the_run_that_sets_the_finalizer_is_on_the_newest_state() -> None:
    async with FakeCluster(crds=[Mark], controllers=False) as cluster:
        marker = Marker()
        async with cluster.running(marker):
            await cluster.client().create(Mark.from_dict({"metadata": {"name": "m", "namespace": "default"}}))
            await asyncio.wait_for(marker.done.wait(), 10)
        stored = cluster.get("marks.firstrun.example.com", "default", "m")
    assert stored is not None
    assert stored["metadata"]["finalizers"] == [Marker.finalizer]
    assert marker.attempts[0] == 1
    assert len(marker.attempts) == 1, "no conflict with the write of the finalizer"
