"""The kinds of these tests, and a reconciler that is told what to do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from openclaw.api import Conditions, CustomResource, Field, Model
from openclaw.manifests.crd import custom_resource_definition
from openclaw.runtime import Context, Reconciler, Result
from openclaw.testing import Client

GROUP = "framework.test.openclaw.dev"


class Widget(CustomResource, group=GROUP, version="v1"):
    """A root in a namespace."""

    class Spec(Model):
        """What is wanted."""

        text: str = Field("", description="Any text.")
        secrets: list[str] = Field(default_factory=list, description="Names of Secrets.")

    class Status(Model):
        """What is there."""

        observed_generation: int | None = None
        conditions: Conditions = Conditions()
        seen: str = ""

    spec: Spec
    status: Status = Status()


class Gadget(CustomResource, group=GROUP, version="v1"):
    """Another root in a namespace."""

    class Spec(Model):
        """What is wanted."""

        text: str = Field("", description="Any text.")

    class Status(Model):
        """What is there."""

        observed_generation: int | None = None

    spec: Spec
    status: Status = Status()


class Fleet(CustomResource, group=GROUP, version="v1", scope="Cluster"):
    """A root in no namespace."""

    class Spec(Model):
        """What is wanted."""

        namespace: str = Field(description="Where the children go.")

    class Status(Model):
        """What is there."""

        observed_generation: int | None = None

    spec: Spec
    status: Status = Status()


class Absent(CustomResource, group=GROUP, version="v1"):
    """A kind whose definition is not installed."""

    class Spec(Model):
        """What is wanted."""

        text: str = Field("", description="Any text.")

    class Status(Model):
        """What is there."""

        observed_generation: int | None = None

    spec: Spec
    status: Status = Status()


R = TypeVar("R", bound=CustomResource)
Step = Callable[[Context, Any], Awaitable[Result]]


async def nothing(ctx: Context, obj: Any) -> Result:
    """A reconcile that finds all well."""
    return Result.done()


class Probe(Reconciler[R], Generic[R]):
    """Does what it was given, and keeps count.

    Attributes:
        runs: of each name, what led to each of its runs.
        finalized: how often `finalize` was called for each name.
    """

    def __init__(self, step: Step = nothing, finalize_step: Step = nothing) -> None:
        self._step = step
        self._finalize_step = finalize_step
        self.runs: dict[str, list[tuple[str, ...]]] = defaultdict(list)
        self.finalized: dict[str, int] = defaultdict(int)

    async def reconcile(self, ctx: Context, obj: R) -> Result:
        self.runs[ctx.key.name].append(ctx.reasons)
        return await self._step(ctx, obj)

    async def finalize(self, ctx: Context, obj: R) -> Result:
        self.finalized[ctx.key.name] += 1
        return await self._finalize_step(ctx, obj)


class WidgetProbe(Probe[Widget], Reconciler[Widget]):
    """A probe for Widgets without children."""


async def install(client: Client) -> None:
    """The definitions of these kinds, served."""
    await client.install_crds(*[custom_resource_definition(kind) for kind in (Widget, Gadget, Fleet)])


def widget(name: str, namespace: str, *, finalizers: tuple[str, ...] = (), **spec: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": metadata, "spec": spec}
