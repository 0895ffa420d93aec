"""Every test here runs against all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.contract.rds.places import InProcessPlace, MotoServer, Place, StandInPlace, standin


@pytest.fixture(scope="session")
def moto_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MotoServer]:
    server = MotoServer(tmp_path_factory.mktemp("moto") / "log")
    yield server
    server.stop()


@pytest_asyncio.fixture(params=["standin", "inprocess", "moto"])
async def place(request: pytest.FixtureRequest, moto_server: MotoServer) -> AsyncIterator[Place]:
    if request.param == "moto":
        yield await moto_server.place()
        return
    async with standin(InProcessPlace if request.param == "inprocess" else StandInPlace) as made:
        yield made
