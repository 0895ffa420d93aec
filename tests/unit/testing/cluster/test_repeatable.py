from __future__ import annotations

import asyncio
from typing import Any

import orjson

from openclaw.testing.cluster.workloads import Workloads
from tests.unit.kube.virtual_time import run
from tests.unit.testing.cluster.asking import asked
from tests.unit.testing.cluster.test_workloads import DEPLOYMENTS, deployment, template


async def story(seed: int) -> list[bytes]:
    """Everything that the cluster ever stored."""
    async with asked(seed=seed, workloads=Workloads(startup_seconds=3, termination_seconds=2)) as ask:
        stored: list[bytes] = []
        ask.cluster.store.listen(
            lambda name, change: stored.append(orjson.dumps([name, change.type]) + change.entry.raw)
        )
        await ask.post(DEPLOYMENTS, deployment(3))
        await asyncio.sleep(20)
        await ask.merge(f"{DEPLOYMENTS}/web", {"spec": {"template": template("example/web:2")}})
        await asyncio.sleep(100)
        await ask.delete(f"{DEPLOYMENTS}/web")
        await asyncio.sleep(20)
        return stored


def test_the_same_seed_gives_the_same_bytes() -> None:
    first, again, other = run(story(1)), run(story(1)), run(story(2))
    assert len(first) > 30
    assert first == again
    assert first != other


def test_nothing_asks_the_machine_for_the_time(monkeypatch: Any) -> None:
    def forbidden() -> float:
        raise AssertionError("the machine's clock was read")

    monkeypatch.setattr("time.time", forbidden)
    assert run(story(1))
