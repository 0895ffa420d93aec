"""`openclaw run` without a shard's name, beside shards."""

from __future__ import annotations

import asyncio
import re
from argparse import Namespace
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from openclaw.cli.beside_shards import refuse_beside_shards
from openclaw.cli.errors import CommandError
from openclaw.cli.main import main
from openclaw.testing.cluster.cluster import FakeCluster
from openclaw.testing.cluster.http import ClusterServer


class Served:
    """An API server, and Leases of shards on it."""

    def __init__(self, cluster: FakeCluster, kubeconfig: Path) -> None:
        self.cluster = cluster
        self.kubeconfig = kubeconfig

    async def lease(self, shard: str, *, seconds_ago: float = 1, state: str = "active") -> None:
        record = {
            "v": 1,
            "incarnation": "i",
            "sequence": 1,
            "slots": 256,
            "duration": 15.0,
            "state": state,
            "hold": 90.0,
            "ring": "",
            "holds": "0-255",
            "ready": "",
            "acts": "0-255",
        }
        renewed = datetime.now(UTC) - timedelta(seconds=seconds_ago)
        metadata = {
            "name": shard,
            "namespace": "default",
            "labels": {"openclaw.dev/shard-group": "openclaw", "openclaw.dev/shard-name": shard},
            "annotations": {"openclaw.dev/shard": orjson.dumps(record).decode()},
        }
        spec = {
            "holderIdentity": shard,
            "leaseDurationSeconds": 15,
            "renewTime": renewed.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        api = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        await self.cluster.client().create({**api, "metadata": metadata, "spec": spec})

    async def refuse(self, **options: Any) -> None:
        given = {"target": None, "shard_group": None, "lease_namespace": None, "context": None, **options}
        await asyncio.to_thread(refuse_beside_shards, Namespace(kubeconfig=str(self.kubeconfig), **given))


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with (
        FakeCluster(controllers=False) as cluster,
        ClusterServer(cluster, tls=False, folder=tmp_path) as server,
    ):
        yield Served(cluster, server.kubeconfig)


async def test_it_is_refused_where_shards_are_at_work(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    await served.lease("openclaw-0")
    await served.lease("openclaw-1", state="restarting")
    with pytest.raises(CommandError, match=r"at work in namespace default: openclaw-0.*--shard-group"):
        await served.refuse()
    flags = ["--kubeconfig", str(served.kubeconfig), "--metrics-address", "none"]
    assert await asyncio.to_thread(main, ["run", *flags]) == 1
    assert "openclaw run: shards of 'openclaw' are at work" in capsys.readouterr().err


async def test_shards_that_have_gone_or_are_anothers_are_in_nobodys_way(served: Served) -> None:
    await served.lease("openclaw-0", seconds_ago=3600)
    await served.lease("openclaw-1", state="released")
    await served.refuse()
    await served.lease("openclaw-2")
    await served.refuse(shard_group="another")
    await served.refuse(target="mine.py")


async def test_an_api_server_that_is_away_refuses_nothing(served: Served) -> None:
    await served.lease("openclaw-0")
    text = served.kubeconfig.read_text()
    served.kubeconfig.write_text(re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:9", text))  # nobody listens there
    await served.refuse()
