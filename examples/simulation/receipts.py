"""An operator with a bug that tests of good days do not show, the mended one, and what finds it.

A Receipt gets one ConfigMap with a number, and its status says which. The hasty reconciler makes the
ConfigMap under a name drawn by lot, then writes the name down; where it dies in between, or the status is not
taken, it makes a second one. The mended one's name follows from the Receipt.

    python -m openclaw.testing.simulation --from examples.simulation.receipts --seeds 200
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from openclaw import ConfigMap, Context, CustomResource, Model, Reconciler, Result
from openclaw.testing.simulation.contracts import Invariant, Setting, Violation, World, Write


class Receipt(CustomResource, group="shop.example.com", version="v1"):
    """What was bought."""

    class Spec(Model):
        """What it says."""

        item: str

    class Status(Model):
        """What was done."""

        observed_generation: int | None = None
        number: str | None = None

    spec: Spec
    status: Status = Status()


class HastyReconciler(Reconciler[Receipt]):
    """Makes first, and writes down afterwards."""

    name: ClassVar = "receipts"
    owns: ClassVar = (ConfigMap,)

    def number(self, obj: Receipt) -> str:
        """The number that a Receipt gets."""
        return obj.status.number or f"{obj.name}-{random.getrandbits(32):08x}"

    async def reconcile(self, ctx: Context, obj: Receipt) -> Result:
        """One ConfigMap, and its name in the status."""
        number = self.number(obj)
        await ctx.apply(ConfigMap(name=number, data={"item": obj.spec.item}))
        obj.status.number = number
        return Result.done()


class CarefulReconciler(HastyReconciler):
    """The same, under a name that is the same each time."""

    def number(self, obj: Receipt) -> str:
        """Follows from the uid, which no second Receipt of the name has."""
        return f"{obj.name}-{obj.metadata.uid[:8]}"


class OneNumberEach(Invariant):
    """A Receipt has one ConfigMap at most."""

    name: Final = "one-number-each"

    def on_write(self, world: World, write: Write) -> None:
        """Count them when one is made."""
        if write.resource != "configmaps" or write.before is not None or write.after is None:
            return
        for owner in write.after["metadata"].get("ownerReferences", ()):
            mine = [
                it["metadata"]["name"]
                for it in world.cluster.list("configmaps")
                if owner in it["metadata"].get("ownerReferences", ())
            ]
            if len(mine) > 1:
                raise Violation(self.name, f"Receipt {owner['name']} has {mine}")


class Hasty:
    """Somebody buys a few things."""

    name = "receipts-hasty"
    reconciler: type[HastyReconciler] = HastyReconciler

    def setting(self) -> Setting:
        """Two shards."""
        return Setting(crds=[Receipt], reconcilers=lambda _world, _version: [self.reconciler()], shards=2)

    def invariants(self) -> Sequence[Invariant]:
        """Besides those that hold for every operator."""
        return [OneNumberEach()]

    async def users(self, world: World) -> None:
        """Buy, now and then."""
        for number in range(world.chance.randint(1, 6)):
            body: dict[str, Any] = {
                "apiVersion": "shop.example.com/v1",
                "kind": "Receipt",
                "metadata": {"name": f"receipt-{number}"},
                "spec": {"item": world.chance.choice(("tea", "bread", "apples"))},
            }
            await world.user.create(body, namespace="default")
            await world.sleep(world.chance.random() * 20)

    async def unwell(self, world: World) -> str | None:
        """Each has its number."""
        for receipt in world.cluster.list("receipts.shop.example.com"):
            if not receipt.get("status", {}).get("number"):
                return f"{receipt['metadata']['name']} has no number"
        return None


class Careful(Hasty):
    """The same with the mended reconciler."""

    name = "receipts-careful"
    reconciler = CarefulReconciler


SCENARIOS: Final = (Hasty, Careful)
