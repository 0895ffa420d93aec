"""Random requests, the same to both servers: the answers are the same, too.

A difference is shrunk to the fewest requests that show it. `CONFORMANCE_EXAMPLES=1000` looks at more
sequences than the fixed ones of every run, and at other ones each time.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.conformance.collecting import Case, differences, run
from tests.conformance.doors import FakeDoor, RealDoor
from tests.conformance.recording import Client
from tests.conformance.sequences import STEPS, Step, play
from tests.conformance.servers import fake_server

_EXAMPLES = int(os.environ.get("CONFORMANCE_EXAMPLES", "0"))
_NUMBERS = itertools.count(10_000)


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as it:
        yield it


@pytest.fixture(scope="module")
def own_door(runner: asyncio.Runner) -> Iterator[FakeDoor]:
    server = fake_server()
    yield runner.run(server.__aenter__())
    runner.run(server.__aexit__(None, None, None))


@pytest.mark.timeout(1200 if _EXAMPLES else 120)
@settings(
    max_examples=_EXAMPLES or 60,
    derandomize=not _EXAMPLES,
    deadline=None,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
@given(steps=STEPS)
def test_random_requests_are_answered_alike(
    steps: list[Step], runner: asyncio.Runner, own_door: FakeDoor, real_door: RealDoor
) -> None:
    async def story(k: Client) -> None:
        await play(k, steps)

    async def compared() -> list[str]:
        case, number = Case("random/sequence", story), next(_NUMBERS)
        real = await run(case, real_door, number)
        return differences(real, await run(case, own_door, number))

    found = runner.run(compared())
    assert not found, "\n".join(found[:10])
