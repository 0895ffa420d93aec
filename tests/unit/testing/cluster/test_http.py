"""The door for other processes; the production transport comes in by it."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator

import orjson
import pytest

from openclaw.kube.config import ConfigSource
from openclaw.kube.errors import Conflict, Forbidden, NotFound, TooManyRequests, Unauthorized, Unreachable
from openclaw.kube.transport import Transport
from openclaw.testing.client import Client
from openclaw.testing.cluster.cluster import FakeCluster
from openclaw.testing.cluster.faults import Fault, WatchFault
from openclaw.testing.cluster.http import ClusterServer
from openclaw.testing.kubeconfig import write_kubeconfig
from tests.unit.testing.cluster.asking import CONFIG_MAPS


@pytest.fixture
async def cluster() -> AsyncIterator[FakeCluster]:
    async with FakeCluster(rbac=True) as started:
        yield started


@pytest.fixture(params=[True, False], ids=["https", "http"])
async def server(cluster: FakeCluster, request: pytest.FixtureRequest) -> AsyncIterator[ClusterServer]:
    async with ClusterServer(cluster, tls=request.param) as started:
        yield started


@pytest.fixture
async def secure(cluster: FakeCluster) -> AsyncIterator[ClusterServer]:
    async with ClusterServer(cluster) as started:
        yield started


def config_map(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


async def test_objects_come_and_go(server: ClusterServer) -> None:
    assert stat.S_IMODE(server.kubeconfig.stat().st_mode) == 0o600
    async with Client(server.kubeconfig) as client:
        made = await client.create(config_map("a"))
        assert await client.get("ConfigMap", "default", "a") == made
        with pytest.raises(Conflict):
            await client.patch("ConfigMap", "default", "a", {"metadata": {"resourceVersion": "1"}})
        await client.patch("ConfigMap", "default", "a", {"data": {"k": "v"}})
        waiting = asyncio.create_task(client.wait_gone("ConfigMap", "default", "a"))
        await client.delete("ConfigMap", "default", "a")
        await waiting
        with pytest.raises(NotFound):
            await client.get("ConfigMap", "default", "a")


async def test_a_watch_ends_with_the_server_and_with_the_client(
    cluster: FakeCluster, server: ClusterServer
) -> None:
    async with Transport(ConfigSource(server.kubeconfig)) as transport:
        query = {"watch": "true", "resourceVersion": str(cluster.store.revision)}
        async with transport.stream(CONFIG_MAPS, query=query, idle_timeout=30) as chunks:
            async with cluster.client() as inside:
                await inside.create(config_map("a"))
            event = orjson.loads(await anext(chunks))
            assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")
        async with transport.stream(CONFIG_MAPS, query={"watch": "true"}, idle_timeout=30) as chunks:
            await anext(chunks)
            stopping = asyncio.create_task(server.stop())
            with pytest.raises(StopAsyncIteration):
                await anext(chunks)
            await stopping
        async with asyncio.timeout(30):
            while cluster.server.watching.open:
                await asyncio.sleep(0.01)


async def test_faults_reach_through_the_socket(cluster: FakeCluster, server: ClusterServer) -> None:
    async with Client(server.kubeconfig) as client:
        await client.list("ConfigMap", "default")
        faults = iter([Fault.throttle(3), Fault(lose_answer=True)])
        cluster.faults.at_requests(lambda info: next(faults) if info.verb == "create" else None)
        with pytest.raises(TooManyRequests) as caught:
            await client.create(config_map("a"))
        assert caught.value.retry_after == 3
        with pytest.raises(Unreachable):
            await client.create(config_map("a"))
        assert (await client.get("ConfigMap", "default", "a"))["metadata"]["name"] == "a"
        cluster.faults.clear()
        cluster.faults.at_events(lambda *_: WatchFault(cut=True))
        query = {"watch": "true", "resourceVersion": str(cluster.store.revision)}
        async with client.transport.stream(CONFIG_MAPS, query=query, idle_timeout=30) as chunks:
            await client.patch("ConfigMap", "default", "a", {"data": {"k": "v"}})
            with pytest.raises(Unreachable):
                await anext(chunks)


async def test_users_by_certificate_token_and_name(cluster: FakeCluster, secure: ClusterServer) -> None:
    async with Client(secure.kubeconfig_for("bob", ["readers"])) as bob:
        with pytest.raises(Forbidden, match='User "bob" cannot list'):
            await bob.list("ConfigMap", "default")
    robot = secure.service_account_kubeconfig("default", "robot")
    async with Client(robot) as account:
        with pytest.raises(Forbidden, match="system:serviceaccount:default:robot"):
            await account.list("ConfigMap", "default")
    admin = orjson.loads(secure.kubeconfig.read_bytes())
    authority = (secure.folder / "ca.crt").read_bytes()
    stranger = write_kubeconfig(
        secure.folder / "stranger.kubeconfig", server=secure.url, authority=authority, user={"token": "x"}
    )
    async with Client(stranger) as nobody:
        with pytest.raises(Unauthorized):
            await nobody.list("ConfigMap", "default")
    anonymous = write_kubeconfig(
        secure.folder / "anonymous.kubeconfig", server=secure.url, authority=authority, user={}
    )
    async with Client(anonymous) as nobody:
        with pytest.raises(Forbidden, match="system:anonymous"):
            await nobody.list("ConfigMap", "default")
    assert admin["clusters"][0]["cluster"]["server"] == secure.url
    assert {one.user for one in cluster.audit} == {
        "bob",
        "system:serviceaccount:default:robot",
        "system:anonymous",
    }


async def test_without_tls_nobody_is_told_apart(cluster: FakeCluster) -> None:
    async with ClusterServer(cluster, tls=False) as server:
        with pytest.raises(ValueError, match="with TLS only"):
            server.kubeconfig_for("bob")
        folder = server.folder
    assert not folder.exists()
