"""An API server with and one without `ShardedListAndWatch`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import cast

import pytest
import pytest_asyncio

from openclaw.testing import Client, ControlPlane
from tests.integration.framework.kinds import install


@pytest.fixture(scope="module", params=[False, True], ids=["gate-off", "gate-on"])
def filters(request: pytest.FixtureRequest) -> bool:
    """Whether the server filters by `shardSelector`."""
    return cast("bool", request.param)


@pytest.fixture(scope="module")
def plane(filters: bool) -> Iterator[ControlPlane]:
    """An API server of these tests."""
    with ControlPlane(audit=True, feature_gates={"ShardedListAndWatch": filters}) as started:
        yield started


@pytest_asyncio.fixture
async def client(plane: ControlPlane) -> AsyncIterator[Client]:
    """An administrator's client of it, where the kinds of these tests are served."""
    async with Client(plane.kubeconfig) as opened:
        await install(opened)
        yield opened
