"""What a controller's runs share: there before the first, and until after the last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from prometheus_client import Counter

from openclaw.kube import Transport
from openclaw.runtime import Context, Manager, Options, Reconciler, Result, Services
from openclaw.testing import Client
from tests.integration.framework.conftest import Serve
from tests.integration.framework.kinds import Probe, Widget, widget
from tests.integration.reliability.waiting import eventually


class Sharing(Probe[Widget], Reconciler[Widget]):
    """Has something open while it runs."""

    def __init__(self, failure: Exception | None = None) -> None:
        super().__init__(self._step)
        self.open = False
        self.closed_with: list[bool] = []
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self._failure = failure

    @asynccontextmanager
    async def lifespan(self, services: Services) -> AsyncIterator[None]:
        if self._failure is not None:
            raise self._failure
        Counter("sharing_total", "Of this test", registry=services.metrics.registry).inc()
        self.open = True
        try:
            yield
        finally:
            self.open = False

    async def _step(self, ctx: Context, obj: Widget) -> Result:
        self.begun.set()
        await self.go.wait()
        self.closed_with.append(self.open)
        return Result.done()


async def test_it_is_open_before_the_first_run_and_until_after_the_last(
    client: Client, namespace: str, transport: Transport
) -> None:
    reconciler = Sharing()
    manager = Manager(reconciler, options=Options(namespace=namespace, grace=20), transport=transport)
    serving = asyncio.create_task(manager.serve())
    await client.create(widget("a", namespace))
    await reconciler.begun.wait()
    manager.stop()
    await asyncio.sleep(0)
    reconciler.go.set()
    await serving
    assert reconciler.closed_with == [True]
    assert not reconciler.open
    assert manager.metrics.registry.get_sample_value("sharing_total") == 1


async def test_it_is_closed_when_the_manager_is_killed(client: Client, serve: Serve) -> None:
    reconciler = Sharing()
    async with serve(reconciler):
        await eventually(lambda: reconciler.open, "the lifespan's begin")
    assert not reconciler.open


async def test_one_that_cannot_be_opened_ends_the_manager_before_any_run(
    client: Client, namespace: str, transport: Transport
) -> None:
    await client.create(widget("a", namespace))
    reconciler = Sharing(OSError("no such socket"))
    manager = Manager(reconciler, options=Options(namespace=namespace), transport=transport)
    with pytest.raises(OSError, match="no such socket"):
        await manager.serve()
    assert not reconciler.begun.is_set()
