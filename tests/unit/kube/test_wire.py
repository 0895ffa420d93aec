import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from openclaw._core import HttpClient, HttpSession
from openclaw.kube.config import ConfigError, ConfigSource
from openclaw.kube.errors import Unreachable
from openclaw.kube.transport import Transport
from tests.unit.kube.api_stand_in import ApiStandIn, kubeconfig, serving
from tests.unit.kube.byte_server import listening, proxy

linux = pytest.mark.skipif(sys.platform != "linux", reason="threads are told from outside on Linux only")


def threads() -> list[str]:
    """The names of this process's threads that speak HTTP."""
    names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    return [name for name in names if name == "openclaw-http"]


@pytest.fixture
async def api() -> AsyncIterator[ApiStandIn]:
    async with serving() as api:
        yield api


@linux
async def test_one_thread_while_it_is_open_and_none_after(api: ApiStandIn, tmp_path: Path) -> None:
    before = len(threads())
    async with Transport(ConfigSource(kubeconfig(tmp_path / "config", api.url))) as transport:
        await asyncio.gather(*(transport.request("GET", f"/{number}") for number in range(20)))
        assert len(threads()) == before + 1
    assert len(threads()) == before


def test_each_event_loop_may_have_transports_of_its_own(tmp_path: Path) -> None:
    async def ask(path: Path) -> None:
        async with (
            serving() as api,
            Transport(ConfigSource(kubeconfig(path, api.url))) as one,
            Transport(ConfigSource(kubeconfig(path, api.url))) as other,
        ):
            await asyncio.gather(one.request("GET", "/one"), other.request("GET", "/other"))
            assert sorted(api.requests) == ["GET /one", "GET /other"]

    for number in range(3):
        asyncio.run(ask(tmp_path / "config"), debug=number == 1)


async def test_the_path_of_the_server_goes_before_that_of_the_request(
    api: ApiStandIn, tmp_path: Path
) -> None:
    source = ConfigSource(kubeconfig(tmp_path / "config", f"{api.url}/k8s/clusters/c-1"))
    async with Transport(source) as transport:
        await transport.request("GET", "/api/v1/pods", query={"limit": "1"})
    assert api.requests == ["GET /k8s/clusters/c-1/api/v1/pods?limit=1"]
    assert api.headers[0]["Host"] == api.url.removeprefix("http://")


# Connections that end


@asynccontextmanager
async def answering_once() -> AsyncIterator[tuple[str, list[str]]]:
    """A server that answers the first request of each connection and closes it at the second."""
    heads: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in (True, False):
            head = await reader.readuntil(b"\r\n\r\n")
            heads.append(head.decode().splitlines()[0])
            if answer:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                await writer.drain()

    async with listening(serve) as address:
        yield f"http://{address}", heads


async def test_a_read_on_a_connection_that_the_server_gives_up_is_asked_once_more(tmp_path: Path) -> None:
    async with (
        answering_once() as (url, heads),
        Transport(ConfigSource(kubeconfig(tmp_path / "config", url))) as transport,
    ):
        await transport.request("GET", "/one")
        await transport.request("GET", "/two")
    assert heads == ["GET /one HTTP/1.1", *["GET /two HTTP/1.1"] * 2]


async def test_a_write_on_such_a_connection_is_not(tmp_path: Path) -> None:
    async with (
        answering_once() as (url, heads),
        Transport(ConfigSource(kubeconfig(tmp_path / "config", url))) as transport,
    ):
        await transport.request("GET", "/one")
        with pytest.raises(Unreachable, match="DELETE /two: "):
            await transport.request("DELETE", "/two")
        await transport.request("DELETE", "/three")
    assert heads == [f"{what} HTTP/1.1" for what in ("GET /one", "DELETE /two", "DELETE /three")]


# Much at once


async def test_what_nobody_takes_does_not_pile_up(api: ApiStandIn) -> None:
    sent = 0
    total = 256 * 2**18

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        while sent < total:
            await response.write(b"x" * 2**18)
            sent += 2**18
        return response

    api.answer = answer
    client = HttpClient()
    try:
        session = HttpSession(api.url, user_agent="test", connections=1)
        watch = client.watch(session, "/pods", idle_timeout=30)
        watch.begin()
        before = (-1, 0)
        while (sent, watch.chunks) != before:  # until nothing moves any more
            before = sent, watch.chunks
            await asyncio.sleep(0.3)
        items, ended, failure = watch.take()
        received = sum(map(len, items))
        assert (ended, failure) == (False, None)
        assert 2**20 < received < 2**22
        assert sent < total
        async with asyncio.timeout(30):
            while not ended:
                await asyncio.sleep(0.001)
                items, ended, failure = watch.take()
                received += sum(map(len, items))
        assert (received, failure) == (total, None)
    finally:
        client.close()


# Proxies


async def test_plain_http_is_asked_of_a_proxy_with_the_whole_address(api: ApiStandIn, tmp_path: Path) -> None:
    source = ConfigSource(
        kubeconfig(
            tmp_path / "config",
            "http://cluster.example.com",
            cluster={"proxy-url": f"http://a:b%40c@{api.url[7:]}"},
        )
    )
    async with Transport(source) as transport:
        await transport.request("GET", "/x")
    assert api.headers[0]["Host"] == "cluster.example.com"
    assert api.headers[0]["Proxy-Authorization"] == "Basic YTpiQGM="  # a:b@c


@pytest.mark.parametrize("url", ["socks5://127.0.0.1:1", "https://127.0.0.1:1", "127.0.0.1:1", "http://"])
async def test_other_proxies_are_refused_without_a_word_of_their_passwords(tmp_path: Path, url: str) -> None:
    url = url.replace("//", "//user:s3cret@")
    source = ConfigSource(kubeconfig(tmp_path / "config", "https://127.0.0.1:1", cluster={"proxy-url": url}))
    with pytest.raises(ConfigError, match="the proxy-url cannot be used") as caught:
        await Transport(source).open()
    assert "s3cret" not in str(caught.value)


async def test_a_proxy_that_refuses_is_named(tmp_path: Path) -> None:
    async with proxy(refuse=True) as (address, heads):
        cluster = {"proxy-url": f"http://user:s3cret@{address}", "insecure-skip-tls-verify": True}
        source = ConfigSource(kubeconfig(tmp_path / "config", "https://cluster.example.com", cluster=cluster))
        async with Transport(source) as transport:
            with pytest.raises(Unreachable, match=f"by the proxy {address}: .*proxy auth") as caught:
                await transport.request("GET", "/x")
    assert "s3cret" not in str(caught.value)
    assert heads[0][0] == "CONNECT cluster.example.com:443 HTTP/1.1"
