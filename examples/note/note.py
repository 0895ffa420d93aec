"""An operator on a provider of one's own: a Note becomes a file of a folder outside of the cluster.

openclaw manifests examples/note/note.py --output build && kubectl apply --server-side -f build/crds
mkdir -p /tmp/notes && NOTES=/tmp/notes openclaw run examples/note/note.py
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from folder import FileWanted, FolderProviderFactory  # type: ignore[import-not-found] # beside this file

from openclaw import Available, Conditions, Context, CustomResource, Field, Manager, Model, Reconciler, Result
from openclaw.providers import Owner, Target
from openclaw.providers.connections import Connections
from openclaw.providers.credentials.secret import StaticSource
from openclaw.providers.lifecycle import Lifecycle, Step
from openclaw.providers.marks import AnnotationMarks
from openclaw.providers.resilience.metrics import ExternalMetrics
from openclaw.runtime import Services


class Note(CustomResource, group="demo.example.com", version="v1"):
    """A text in a file outside of the cluster."""

    class Spec(Model):
        """What is in it."""

        text: str = Field(max_length=1000, description="What the file says.")

    class Status(Model):
        """How far the file is."""

        sent: str | None = None
        conditions: Conditions = Conditions()


class NoteReconciler(Reconciler[Note]):
    """Keeps the file in step with its Note."""

    finalizer = "demo.example.com/note"
    connections: Connections

    @asynccontextmanager
    async def lifespan(self, services: Services) -> AsyncIterator[None]:
        """What all runs share."""
        metrics = ExternalMetrics.of(services.metrics.registry)
        factories = {"folder": FolderProviderFactory()}
        async with Connections(metrics, fence=services.fence, factories=factories) as self.connections:
            yield

    async def reconcile(self, ctx: Context, obj: Note) -> Result:
        """Look at the file, and do the one thing that brings it nearer to the Note."""
        owner = Owner(obj.kind, obj.namespace or "", obj.name, obj.uid)
        wanted = FileWanted(file_of(obj), owner, obj.spec.text)
        async with self.connections.use("folder", target(), StaticSource({})) as provider:
            outcome = await Lifecycle(provider, AnnotationMarks(ctx, obj)).converge(
                wanted, sent=obj.status.sent
            )
        obj.status.sent = outcome.sent
        obj.status.conditions.set(Available(when=outcome.observed is not None, message=outcome.step.value))
        return Result.after(60 if outcome.step is Step.IN_SYNC else 1)

    async def finalize(self, ctx: Context, obj: Note) -> Result:
        """Remove the file; the Note goes when it was seen to be gone."""
        owner = Owner(obj.kind, obj.namespace or "", obj.name, obj.uid)
        async with self.connections.use("folder", target(), StaticSource({})) as provider:
            lifecycle = Lifecycle(provider, AnnotationMarks(ctx, obj))
            outcome = await lifecycle.remove(file_of(obj), owner, None)
        return Result.done() if outcome.step is Step.GONE else Result.after(max(outcome.wait, 1))


def file_of(obj: Note) -> str:
    """The same for every run, and no other object's."""
    return f"{obj.namespace}-{obj.name}-{obj.uid[:8]}.txt"


def target() -> Target:
    """The folder, which is an account of its own."""
    return Target(account="notes", endpoint=os.environ.get("NOTES", "/tmp/notes"))  # noqa: S108 - a demonstration


if __name__ == "__main__":
    Manager(NoteReconciler()).run()
