"""Watches that break in every way: nothing that happened meanwhile is missed."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from openclaw.controllers import OpenClawReconciler
from openclaw.kube import ConfigSource, ListWatch, ResourceExpired, Transport, Unreachable
from openclaw.runtime import Manager
from openclaw.testing import Client, ControlPlane
from tests.integration.reliability.claws import claw, observed
from tests.integration.reliability.managers import serving, settled
from tests.integration.reliability.proxy import Proxy
from tests.integration.reliability.waiting import eventually

KINDS = 4


@pytest_asyncio.fixture
async def proxy(api_server: ControlPlane) -> AsyncIterator[Proxy]:
    async with Proxy(api_server.url) as running:
        yield running


@pytest_asyncio.fixture
async def transport(proxy: Proxy, api_server: ControlPlane, tmp_path: Path) -> AsyncIterator[Transport]:
    source = ConfigSource(proxy.kubeconfig(api_server.kubeconfig, tmp_path))
    async with Transport(source, user_agent="openclaw-proxied") as opened:
        yield opened


def _problems(manager: Manager) -> dict[str, str]:
    return {item.name: item.reason for item in manager.health.run("ready").results if item.reason}


async def _set_up(client: Client, namespace: str) -> None:
    for name in ("web", "doomed"):
        await client.create(claw(name, namespace, host=f"{name}.example.com"))
        await client.wait_for("OpenClaw", namespace, name, observed)


async def _happen(client: Client, namespace: str) -> None:
    """What must not be missed: a change, drift, a child and a root that went, and a new root."""
    await client.patch("OpenClaw", namespace, "web", {"spec": {"frontend": {"ingressHost": "b.example.com"}}})
    await client.patch("Deployment", namespace, "web-frontend", {"spec": {"replicas": 5}})
    await client.delete("Service", namespace, "web-frontend")
    await client.delete("OpenClaw", namespace, "doomed")
    await client.create(claw("late", namespace))


async def _is_put_right(client: Client, namespace: str, manager: Manager) -> None:
    def host(item: dict[str, Any]) -> bool:
        return bool(item["spec"]["rules"][0]["host"] == "b.example.com")

    await client.wait_for("Ingress", namespace, "web-frontend", host)
    await client.wait_for("Deployment", namespace, "web-frontend", lambda it: it["spec"]["replicas"] == 0)
    await client.wait_for("Service", namespace, "web-frontend", lambda it: it["spec"]["ports"])
    for name in ("web", "late"):
        await client.wait_for("OpenClaw", namespace, name, observed)
    await eventually(lambda: settled(client, manager, namespace), "the end of the work")
    for informer in manager.informers:
        live = await client.list(informer.kind, namespace)
        assert informer.cache.keys() == sorted((namespace, it["metadata"]["name"]) for it in live)
    await eventually(lambda: not _problems(manager), "readiness")


async def test_connections_that_are_cut(
    proxy: Proxy, transport: Transport, kube_client: Client, namespace: str
) -> None:
    async with serving(OpenClawReconciler(), transport=transport, namespace=namespace) as manager:
        await _set_up(kube_client, namespace)
        proxy.refuse = True
        proxy.cut()
        await eventually(lambda: proxy.connections == 0, "the cut")
        await _happen(kube_client, namespace)
        before = proxy.accepted
        await eventually(lambda: proxy.accepted > before + KINDS, "attempts to come back")
        proxy.refuse = False
        await _is_put_right(kube_client, namespace, manager)


async def test_cuts_at_any_time(
    proxy: Proxy, transport: Transport, kube_client: Client, namespace: str
) -> None:
    """In the middle of writes, of lists and of lines, while bytes come in small pieces."""
    proxy.piece = 700
    async with serving(OpenClawReconciler(), transport=transport, namespace=namespace) as manager:
        await _set_up(kube_client, namespace)
        for number in range(12):
            await kube_client.create(claw(f"c{number}", namespace, host=f"c{number}.example.com"))
            proxy.cut()
        await _happen(kube_client, namespace)
        proxy.cut()
        await _is_put_right(kube_client, namespace, manager)
        for number in range(12):
            await kube_client.wait_for("Ingress", namespace, f"c{number}-frontend", lambda it: it["spec"])


@pytest.mark.timeout(180)
async def test_a_watch_that_goes_silent(
    proxy: Proxy,
    transport: Transport,
    kube_client: Client,
    namespace: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No byte comes any more, no connection is closed: the idle timeout finds out."""
    defaults = ListWatch.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "watch_seconds", 2.0)
    monkeypatch.setitem(defaults, "idle_grace", 0.5)
    async with serving(OpenClawReconciler(), transport=transport, namespace=namespace) as manager:
        await _set_up(kube_client, namespace)
        proxy.silent = True
        await _happen(kube_client, namespace)
        problems = await eventually(
            lambda: len(_problems(manager)) == KINDS and _problems(manager), "unreadiness of every watch"
        )
        assert all(": no watch for " in text for text in problems.values())
        proxy.cut()
        proxy.silent = False
        await _is_put_right(kube_client, namespace, manager)


class _ByteByByte(Transport):
    """Hands on each byte of a watch alone, and breaks it in the middle of a line when asked to."""

    break_lines = False

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        async with super().stream(path, query=query, idle_timeout=idle_timeout) as chunks:
            yield self._bytes(path, chunks)

    async def _bytes(self, path: str, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for chunk in chunks:
            if self.break_lines:
                yield chunk[: len(chunk) // 2]
                raise Unreachable(f"WATCH {path}: cut in the middle of a line")
            for at in range(len(chunk)):
                yield chunk[at : at + 1]
                await asyncio.sleep(0)


async def test_bytes_that_come_alone_and_lines_that_are_cut(
    api_server: ControlPlane, kube_client: Client, namespace: str
) -> None:
    async with (
        _ByteByByte(ConfigSource(api_server.kubeconfig)) as transport,
        serving(OpenClawReconciler(), transport=transport, namespace=namespace) as manager,
    ):
        await _set_up(kube_client, namespace)
        transport.break_lines = True
        await _happen(kube_client, namespace)
        watches = [it.listwatch for it in manager.informers]
        await eventually(
            lambda: sum("in the middle of a line" in (it.last_error or "") for it in watches) >= 3,
            "watches that are cut",
        )
        transport.break_lines = False
        await _is_put_right(kube_client, namespace, manager)
        assert all(it.cache.stats()["events_malformed"] == 0 for it in manager.informers)


@pytest.mark.timeout(180)
async def test_a_position_that_etcd_has_compacted(
    own_plane: ControlPlane, own_client: Client, tmp_path: Path
) -> None:
    """The watch is away, history goes, the API server starts afresh: 410, and a list finds it all."""
    own_plane.create_namespace("shop")
    async with Proxy(own_plane.url) as proxy:
        source = ConfigSource(proxy.kubeconfig(own_plane.kubeconfig, tmp_path))
        async with (
            Transport(source) as transport,
            serving(OpenClawReconciler(), transport=transport, namespace="shop") as manager,
        ):
            await _set_up(own_client, "shop")
            proxy.refuse = True
            proxy.cut()
            await _happen(own_client, "shop")
            newest = (await own_client.get("OpenClaw", "shop", "late"))["metadata"]["resourceVersion"]
            own_plane.kill_api_server()
            await asyncio.to_thread(_compact, own_plane, int(newest))
            await asyncio.to_thread(own_plane.start_api_server)
            proxy.refuse = False
            await _is_put_right(own_client, "shop", manager)
            stats = {it.kind.kind: it.cache.stats()["relists"] for it in manager.informers}
            assert stats["OpenClaw"] == 2
            assert b'reason="expired"' in manager.metrics.render()[0]


def _compact(plane: ControlPlane, revision: int) -> None:
    """Drop the history of etcd up to a revision, by its JSON gateway."""
    connection = http.client.HTTPConnection("127.0.0.1", plane._ports["etcd"], timeout=10)
    try:
        body = json.dumps({"revision": str(revision), "physical": True})
        connection.request("POST", "/v3/kv/compaction", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
    finally:
        connection.close()


async def test_an_event_stream_that_carries_an_error(kube_client: Client, namespace: str) -> None:
    """The server's own word for a position of long ago is a 410."""
    with pytest.raises(ResourceExpired):
        async for _ in kube_client.watch("OpenClaw", namespace, resource_version="1"):
            pass
