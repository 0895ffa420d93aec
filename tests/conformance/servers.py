"""Both servers with the same definitions, for tests and for the report."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import yaml

from openclaw.testing import ControlPlane
from openclaw.testing.cluster.cluster import FakeCluster
from openclaw.testing.cluster.workloads import Workloads
from tests.conformance.doors import FakeDoor, RealDoor

DEFINITIONS = Path(__file__).with_name("definitions.yaml")


def definitions() -> list[dict[str, Any]]:
    """The CustomResourceDefinitions that cases use."""
    return list(yaml.safe_load_all(DEFINITIONS.read_text()))


@contextmanager
def real_server() -> Iterator[RealDoor]:
    """A kube-apiserver with its controllers."""
    with ControlPlane(controller_manager=True, crds=[DEFINITIONS]) as plane:
        door = RealDoor(plane)
        try:
            yield door
        finally:
            door.close()


@asynccontextmanager
async def fake_server() -> AsyncIterator[FakeDoor]:
    """An embedded API server with its controllers; its pods stay pending, as without nodes."""
    workloads = Workloads()
    workloads.stall()
    async with FakeCluster(crds=definitions(), workloads=workloads) as cluster:
        yield FakeDoor(cluster)
