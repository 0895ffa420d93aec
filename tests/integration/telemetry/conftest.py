"""Managers that are traced, on the real API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Protocol

import pytest
import pytest_asyncio

from openclaw.kube import ConfigSource, Transport
from openclaw.runtime import Manager, Options, Reconciler
from openclaw.telemetry.tracing import Tracer
from openclaw.testing import Client, ControlPlane
from tests.integration.framework.kinds import install
from tests.integration.reliability.waiting import eventually
from tests.integration.telemetry.recorded import Recorded


class Traced(Protocol):
    def __call__(
        self, *reconcilers: Reconciler[Any], tracer: Tracer
    ) -> AbstractAsyncContextManager[Manager]: ...


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


@pytest_asyncio.fixture
async def client(kube_client: Client) -> Client:
    await install(kube_client)
    return kube_client


@pytest.fixture
def traced(api_server: ControlPlane, namespace: str) -> Traced:
    """Runs a manager in the test's namespace."""

    @asynccontextmanager
    async def start(*reconcilers: Reconciler[Any], tracer: Tracer) -> AsyncIterator[Manager]:
        async with Transport(ConfigSource(api_server.kubeconfig), user_agent="openclaw-traced") as transport:
            options = Options(namespace=namespace, grace=5.0)
            manager = Manager(*reconcilers, options=options, transport=transport, tracer=tracer)
            task = asyncio.create_task(manager.serve())
            try:

                def ready() -> bool:
                    if task.done():
                        task.result()
                    # Before it is built a manager has nothing that could be unready.
                    return bool(manager.controllers) and manager.health.run("ready").healthy

                await eventually(ready, "readiness")
                yield manager
            finally:
                manager.stop()
                with suppress(asyncio.CancelledError):
                    await task

    return start
