"""RDS for the tests, and a world of one's own in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from openclaw.testing import Client, ControlPlane
from openclaw.testing.rds import RDSStandIn
from tests.integration.rds.world import World, standin


@pytest_asyncio.fixture
async def rds(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RDSStandIn]:
    """The stand-in, to which every AWS client of this test is led."""
    async with standin() as started:
        for service in ("RDS", "STS"):
            monkeypatch.setenv(f"AWS_ENDPOINT_URL_{service}", started.url)
        for name in ("AWS_PROFILE", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ACCESS_KEY_ID"):
            monkeypatch.delenv(name, raising=False)
        yield started


@pytest_asyncio.fixture
async def world(api_server: ControlPlane, kube_client: Client, namespace: str, rds: RDSStandIn) -> World:
    """A namespace with credentials and a master password in it, and an account of its own in RDS."""
    made = World(api_server, kube_client, namespace, rds)
    await made.add_secrets()
    return made


@pytest_asyncio.fixture
async def new_world(
    api_server: ControlPlane, kube_client: Client, rds: RDSStandIn
) -> AsyncIterator[Callable[[], Awaitable[World]]]:
    """Makes worlds for what is tried many times at once; they share the stand-in, and nothing else."""
    async with AsyncExitStack() as stack:

        async def make() -> World:
            made = World(
                api_server, kube_client, await stack.enter_async_context(kube_client.namespace()), rds
            )
            await made.add_secrets()
            return made

        yield make
