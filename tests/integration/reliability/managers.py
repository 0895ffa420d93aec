"""A manager within the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from openclaw.kube import Transport
from openclaw.runtime import Manager, Options, Reconciler
from openclaw.runtime.ownership import SLOT_LABEL
from openclaw.testing import Client
from tests.integration.reliability.waiting import eventually


@asynccontextmanager
async def serving(
    *reconcilers: Reconciler[Any], transport: Transport, namespace: str | None = None, synced: bool = True
) -> AsyncIterator[Manager]:
    """A manager that serves; cancelled at the end, as if the process had been killed."""
    manager = Manager(*reconcilers, options=Options(namespace=namespace, grace=5.0), transport=transport)
    task = asyncio.create_task(manager.serve())
    try:
        if synced:

            def check() -> bool:
                if task.done():
                    task.result()
                return manager.health.run("ready").healthy

            await eventually(check, "readiness")
        yield manager
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def quiet(manager: Manager) -> bool:
    """Whether there is nothing to do: nothing queued, running or delayed."""
    return bool(manager.controllers) and all(
        controller.synced
        and len(controller.queue) == controller.queue.running == controller.queue.delayed == 0
        for controller in manager.controllers
    )


async def settled(client: Client, manager: Manager, namespace: str) -> bool:
    """Whether the operator has seen all that is in a namespace now, and has nothing more to do about it.

    A manager that is quiet may have an event before it: the end of its work is both.
    """
    roots = {reconciler.root.resource for reconciler in manager.reconcilers}
    for informer in manager.informers:
        cached = {name: informer.cache.resource_version(namespace, name) for _, name in informer.cache.keys()}  # noqa: SIM118 - no mapping
        live = {it["metadata"]["name"]: it["metadata"] for it in await client.list(informer.kind, namespace)}
        watched = {
            name: it["resourceVersion"]
            for name, it in live.items()
            if informer.kind in roots or name in cached or SLOT_LABEL in it.get("labels", {})
        }
        if cached != watched:
            return False
    # What the last event put into a cache is queued in the loop's next turns.
    await client.list("ConfigMap", namespace)
    return quiet(manager)
