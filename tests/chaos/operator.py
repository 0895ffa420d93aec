"""The operator of the chaos test: `openclaw run tests/chaos/operator.py --shard NAME`."""

from __future__ import annotations

from typing import ClassVar

from openclaw.api import Conditions, ConfigMap, CustomResource, Field, Model
from openclaw.runtime import Context, Reconciler, Result


class Item(CustomResource, group="chaos.test.openclaw.dev", version="v1"):
    """A root with one child."""

    class Spec(Model):
        """What is wanted."""

        text: str = Field("", description="What the child holds.")

    class Status(Model):
        """What is there."""

        observed_generation: int | None = None
        conditions: Conditions = Conditions()
        seen: str = ""

    spec: Spec
    status: Status = Status()


class ItemReconciler(Reconciler[Item]):
    """Keeps the child in step, and says what it saw."""

    owns: ClassVar = (ConfigMap,)
    emits_events: ClassVar = False

    async def reconcile(self, ctx: Context, obj: Item) -> Result:
        """State the child, then the status."""
        await ctx.apply(ConfigMap(name=obj.name, data={"text": obj.spec.text}))
        obj.status.seen = obj.spec.text
        return Result.done()
