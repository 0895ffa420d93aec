"""A kind that is nearly nothing, so that many of them are cheap: a Grain becomes a ConfigMap."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from openclaw import Conditions, ConfigMap, Context, CustomResource, Field, Model, Reconciler, Result
from openclaw.api.conditions import Available

__all__ = ["Grain", "GrainReconciler", "HeldGrainReconciler", "SlowGrainReconciler"]


class GrainSpec(Model):
    """What it says."""

    text: str = Field(min_length=1, max_length=20, description="What the ConfigMap says.")


class GrainStatus(Model):
    """What was done."""

    observed_generation: int | None = None
    said: str | None = Field(None, description="What the ConfigMap says.")
    conditions: Conditions = Conditions()


class Grain(CustomResource, group="simulation.example.com", version="v1"):
    """Something small."""

    spec: GrainSpec
    status: GrainStatus = GrainStatus()


class GrainReconciler(Reconciler[Grain]):
    """Keeps the ConfigMap in step."""

    owns: ClassVar = (ConfigMap,)

    async def reconcile(self, ctx: Context, obj: Grain) -> Result:
        """State it, and say what it says."""
        live = await ctx.apply(ConfigMap(name=obj.name, data={"text": obj.spec.text}), exact=["data"])
        obj.status.said = live.data["text"]
        obj.status.conditions.set(Available(when=True))
        return Result.done()


class HeldGrainReconciler(GrainReconciler):
    """The same with a finalizer: a Grain goes only once its ConfigMap is seen to be gone."""

    finalizer: ClassVar = "simulation.example.com/grain"

    async def finalize(self, ctx: Context, obj: Grain) -> Result:
        """Delete the ConfigMap, and wait until it is gone."""
        if await ctx.delete(ConfigMap, obj.name):
            return Result.after(2.0)
        return Result.done()


class SlowGrainReconciler(GrainReconciler):
    """The same, which takes its time before it writes: what befalls a shard mostly finds it in a run."""

    seconds: ClassVar = 4.0

    async def reconcile(self, ctx: Context, obj: Grain) -> Result:
        """Wait, then as ever."""
        await asyncio.sleep(self.seconds)
        return await super().reconcile(ctx, obj)
