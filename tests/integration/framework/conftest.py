"""Managers of small operators on the real API server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import pytest
import pytest_asyncio

from openclaw.kube import ConfigSource, Transport
from openclaw.runtime import Manager, Reconciler
from openclaw.testing import Client, ControlPlane
from tests.integration.framework.kinds import install
from tests.integration.reliability.managers import serving


class Serve(Protocol):
    def __call__(
        self, *reconcilers: Reconciler[Any], namespace: str | None = ..., synced: bool = ...
    ) -> AbstractAsyncContextManager[Manager]: ...


@pytest_asyncio.fixture
async def transport(api_server: ControlPlane) -> AsyncIterator[Transport]:
    async with Transport(ConfigSource(api_server.kubeconfig), user_agent="openclaw-framework") as opened:
        yield opened


@pytest.fixture
def serve(transport: Transport, namespace: str) -> Serve:
    """Runs a manager in the test's namespace, or in another or all (None)."""

    def start(
        *reconcilers: Reconciler[Any], namespace: str | None = namespace, synced: bool = True
    ) -> AbstractAsyncContextManager[Manager]:
        return serving(*reconcilers, transport=transport, namespace=namespace, synced=synced)

    return start


@pytest_asyncio.fixture
async def client(kube_client: Client, api_server: ControlPlane) -> Client:
    """An administrator's client of the API server, where the kinds of these tests are served."""
    await install(kube_client)
    return kube_client
