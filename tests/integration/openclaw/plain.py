"""Applying objects from a fixture that has no event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from openclaw.testing import Client, ControlPlane
from openclaw.testing.client import Object


def apply_all(control_plane: ControlPlane, objects: Sequence[Object]) -> None:
    async def apply() -> None:
        async with Client(control_plane.kubeconfig) as client:
            for item in objects:
                await client.apply(item)

    asyncio.run(apply())
