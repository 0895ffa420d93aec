"""A manager within the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from openclaw.kube import Transport
from openclaw.runtime import Manager, Options, Reconciler
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
