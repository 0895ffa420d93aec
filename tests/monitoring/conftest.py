"""One operator under load with Prometheus and Jaeger, for all tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from openclaw.testing.binaries import find_binary, look_up
from openclaw.testing.errors import BinaryNotFoundError
from openclaw.testing.observe import Observed
from tests.integration.monitored import FOLDER


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def observed() -> AsyncIterator[Observed]:
    try:
        find_binary("prometheus")
    except BinaryNotFoundError as error:
        pytest.skip(str(error))
    crds = FOLDER.parents[1] / "crds"
    traces = look_up("jaeger") is not None
    async with Observed.running(
        claws=12, traces=traces, crds=crds, monitoring=FOLDER, timeout=240
    ) as running:
        yield running
