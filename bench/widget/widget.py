"""The benchmark's operator on openclaw: a Widget becomes a ConfigMap, and says so in its status.

The same job as the operators on controller-runtime, kube-rs and kopf beside which it is measured. The
harness finds it by `peer.json`; it counts in the 64-byte file that `$BENCH_COUNTERS` names.
"""

import mmap
import os
import struct
from pathlib import Path

from openclaw import (
    Condition,
    Conditions,
    ConfigMap,
    Context,
    CustomResource,
    Field,
    Manager,
    Model,
    Options,
    Reconciler,
    Result,
)

RECONCILES, WRITES, ERRORS = range(3)


class Counters:
    """Little-endian 64-bit words in a file that the harness reads."""

    def __init__(self) -> None:
        path = os.environ.get("BENCH_COUNTERS")
        if path:
            with Path(path).open("r+b") as file:
                self._memory = mmap.mmap(file.fileno(), 64)
        else:
            self._memory = mmap.mmap(-1, 64)
        self._values = [0] * 8

    def add(self, slot: int, count: int = 1) -> None:
        """Count."""
        self._values[slot] += count
        struct.pack_into("<Q", self._memory, slot * 8, self._values[slot])


class Widget(CustomResource, group="bench.example.com", version="v1"):
    """The benchmark's object."""

    class Spec(Model):
        """What the ConfigMap is made of."""

        image: str
        replicas: int
        config: dict[str, str] = Field(default_factory=dict)

    class Status(Model):
        """Written by the operator; `heartbeat`, which the load driver writes, is not ours."""

        ready: bool | None = None
        observed_generation: int | None = None
        conditions: Conditions = Conditions()


class WidgetReconciler(Reconciler[Widget]):
    """Keeps the ConfigMap of each Widget."""

    owns = (ConfigMap,)
    emits_events = False

    def __init__(self) -> None:
        self.counters = Counters()

    async def reconcile(self, ctx: Context, obj: Widget) -> Result:
        """State the ConfigMap and the status."""
        spec = obj.spec
        lines = "".join(f"{key}={value}\n" for key, value in sorted(spec.config.items()))
        await ctx.apply(
            ConfigMap(
                name=f"{obj.name}-config",
                labels={"app.kubernetes.io/managed-by": "widget-operator"},
                data={"image": spec.image, "replicas": str(spec.replicas), "config.properties": lines},
            ),
            exact=("data",),
        )
        obj.status.ready = True
        obj.status.conditions.set(
            Condition(
                type="Ready",
                status="True",
                reason="ConfigMapApplied",
                message="the ConfigMap matches the spec",
            )
        )
        self.counters.add(WRITES, len(ctx.changes))
        self.counters.add(RECONCILES)
        return Result.done()


if __name__ == "__main__":
    concurrency = int(os.environ.get("BENCH_CONCURRENCY", "10"))
    Manager(WidgetReconciler(), options=Options(concurrency=concurrency)).run()
