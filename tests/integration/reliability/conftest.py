"""An operator to pull plugs on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
import pytest_asyncio

from openclaw.testing import Client, ControlPlane
from tests.integration.reliability.accounts import Account, new_account

_CRDS = Path(__file__).parents[3] / "crds"


class NewAccount(Protocol):
    async def __call__(self, **options: Any) -> Account: ...


@pytest.fixture
def own_plane_options() -> dict[str, Any]:
    """Arguments of `own_plane`, to override."""
    return {}


@pytest.fixture
def own_plane(own_plane_options: dict[str, Any]) -> Iterator[ControlPlane]:
    """An API server of one test, which may break it."""
    options = {"audit": True, "crds": sorted(_CRDS.glob("*.yaml")), **own_plane_options}
    with ControlPlane(**options) as started:
        yield started


@pytest_asyncio.fixture
async def own_client(own_plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(own_plane.kubeconfig) as client:
        yield client


@pytest.fixture
def account(api_server: ControlPlane, kube_client: Client) -> NewAccount:
    """Makes accounts at the shared API server."""

    async def make(**options: Any) -> Account:
        return await new_account(api_server, kube_client, **options)

    return make


@pytest.fixture
def own_account(own_plane: ControlPlane, own_client: Client) -> NewAccount:
    """Makes accounts at the API server of this test."""

    async def make(**options: Any) -> Account:
        return await new_account(own_plane, own_client, **options)

    return make
