"""One real server and one embedded one for all cases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.conformance.doors import FakeDoor, RealDoor
from tests.conformance.servers import fake_server, real_server

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.integration)
            # With pytest-xdist's loadgroup: one control plane for all.
            item.add_marker(pytest.mark.xdist_group("conformance"))


@pytest.fixture(scope="session")
def real_door() -> Iterator[RealDoor]:
    with real_server() as door:
        yield door


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def fake_door() -> AsyncIterator[FakeDoor]:
    async with fake_server() as door:
        yield door
