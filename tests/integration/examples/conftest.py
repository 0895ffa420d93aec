"""A control plane of one's own for the examples."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from openclaw.testing import Client, ControlPlane


@pytest.fixture
def own_plane_options() -> dict[str, Any]:
    """Arguments of `own_plane`, to override."""
    return {}


@pytest.fixture
def own_plane(own_plane_options: dict[str, Any]) -> Iterator[ControlPlane]:
    """An API server of one test."""
    with ControlPlane(**{"audit": True, **own_plane_options}) as started:
        yield started


@pytest_asyncio.fixture
async def own_client(own_plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(own_plane.kubeconfig) as client:
        yield client
