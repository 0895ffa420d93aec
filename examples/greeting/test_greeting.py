"""The operator of this folder, tested on a cluster in memory: pytest examples/greeting."""

from pathlib import Path
from typing import Any

import pytest

from examples.greeting.greeting import Greeting, GreetingReconciler
from openclaw.testing import Client, FakeCluster

GREETING = Path(__file__).with_name("greeting.yaml")


@pytest.fixture
def fake_cluster_options() -> dict[str, Any]:
    """The cluster serves Greetings from the start."""
    return {"crds": [Greeting]}


async def test_the_page_follows_the_greeting(fake_cluster: FakeCluster, fake_client: Client) -> None:
    """A change is followed, and nothing is left behind."""
    async with fake_cluster.running(GreetingReconciler()):
        await fake_client.apply_yaml(GREETING)
        await fake_client.wait_for("ConfigMap", "default", "hello-page", lambda it: it["data"]["index.txt"])
        await fake_client.patch(Greeting, "default", "hello", {"spec": {"names": ["you"]}})
        await fake_client.wait_for(
            "ConfigMap", "default", "hello-page", lambda it: it["data"]["index.txt"].endswith(", you!")
        )
        await fake_client.delete(Greeting, "default", "hello")
        await fake_client.wait_gone("ConfigMap", "default", "hello-page")
