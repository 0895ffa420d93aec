import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from openclaw.kube import config as config_module
from openclaw.kube import transport as transport_module
from openclaw.kube.config import ConfigSource
from openclaw.kube.errors import Unauthorized, Unreachable
from openclaw.kube.transport import Transport
from tests.unit.kube.api_stand_in import ApiStandIn, kubeconfig, needs_token, serving


@pytest.fixture
async def api() -> AsyncIterator[ApiStandIn]:
    async with serving() as api:
        yield api


@pytest.fixture
def always_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a minute had passed between any two requests."""
    monkeypatch.setattr(transport_module, "_TOKEN_CHECK_SECONDS", -1.0)


async def watch(transport: Transport) -> None:
    async with transport.stream("/x", query={}, idle_timeout=10):
        pass


async def test_a_token_that_was_renewed_is_read_and_the_request_sent_once_more(
    api: ApiStandIn, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("old\n")
    api.answer = needs_token("new")
    source = ConfigSource(kubeconfig(tmp_path / "config", api.url, user={"tokenFile": "token"}))
    async with Transport(source) as transport:
        token.write_text("new\n")
        await transport.request("PATCH", "/x", body=b"{}", content_type="application/json")
        assert api.authorizations == ["Bearer old", "Bearer new"]
        assert api.bodies == [b"{}", b"{}"]
        await transport.request("GET", "/x")
        assert api.authorizations[2:] == ["Bearer new"]


async def test_so_is_that_of_a_watch(api: ApiStandIn, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    api.answer = needs_token("new")
    source = ConfigSource(kubeconfig(tmp_path / "config", api.url, user={"tokenFile": str(token)}))
    async with Transport(source) as transport:
        token.write_text("new")
        await watch(transport)
        assert api.authorizations == ["Bearer old", "Bearer new"]


async def test_credentials_that_are_refused_twice_are_refused(api: ApiStandIn, tmp_path: Path) -> None:
    api.answer = needs_token("good")
    source = ConfigSource(kubeconfig(tmp_path / "config", api.url, user={"token": "s3cret-value"}))
    async with Transport(source) as transport:
        with pytest.raises(Unauthorized) as caught:
            await transport.request("GET", "/x")
        assert len(api.requests) == 2
        with pytest.raises(Unauthorized):
            await watch(transport)
        assert len(api.requests) == 4
    assert "s3cret-value" not in str(caught.value)


async def test_a_token_is_looked_at_again_after_a_while(
    api: ApiStandIn, tmp_path: Path, always_stale: None
) -> None:
    # Before it expires: the kubelet renews it at four fifths of its life.
    token = tmp_path / "token"
    token.write_text("old")
    source = ConfigSource(kubeconfig(tmp_path / "config", api.url, user={"tokenFile": str(token)}))
    async with Transport(source) as transport:
        await transport.request("GET", "/x")
        token.write_text("new")
        await transport.request("GET", "/x")
    assert api.authorizations == ["Bearer old", "Bearer new"]


async def test_the_token_of_a_pod_is_looked_at_again(
    api: ApiStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("token", "old"), ("ca.crt", "-"), ("namespace", "shop\n")):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(config_module, "SERVICE_ACCOUNT", tmp_path)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    host, port = api.url.removeprefix("http://").split(":")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    # The pod's address is always HTTPS; that is tested elsewhere.
    access = config_module._access
    monkeypatch.setattr(config_module, "_access", lambda *read: replace(access(*read), server=api.url))
    api.answer = needs_token("new")
    async with Transport(ConfigSource()) as transport:
        assert transport.namespace == "shop"
        (tmp_path / "token").write_text("new")
        await transport.request("GET", "/x")
    assert api.authorizations == ["Bearer old", "Bearer new"]


async def test_of_many_refused_requests_one_reads_the_configuration(api: ApiStandIn, tmp_path: Path) -> None:
    # A credential plugin takes seconds; a hundred of them in a row would be an outage.
    log = tmp_path / "runs"
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        "import json, pathlib\n"
        f"log = pathlib.Path({str(log)!r})\n"
        "runs = len(log.read_text()) if log.exists() else 0\n"
        "log.write_text('x' * (runs + 1))\n"
        "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1', 'kind': 'ExecCredential',"
        " 'status': {'token': f'token-{runs}'}}))\n"
    )
    user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(plugin)],
        }
    }
    api.answer = needs_token("token-1")
    async with Transport(ConfigSource(kubeconfig(tmp_path / "config", api.url, user=user))) as transport:
        await asyncio.gather(*(transport.request("GET", f"/{number}") for number in range(20)))
    assert len(log.read_text()) == 2


async def test_requests_do_not_wait_while_one_looks_at_the_configuration(
    api: ApiStandIn, tmp_path: Path, always_stale: None
) -> None:
    source = ConfigSource(kubeconfig(tmp_path / "config", api.url))
    async with Transport(source) as transport:
        slow = asyncio.Event()
        load = source.load

        async def slow_load() -> config_module.Access:
            await slow.wait()
            return await load()

        source.load = slow_load  # type: ignore[method-assign]
        first = asyncio.create_task(transport.request("GET", "/first"))
        await asyncio.sleep(0)
        await asyncio.wait_for(transport.request("GET", "/second"), 10)
        assert not first.done()
        slow.set()
        await asyncio.wait_for(first, 10)


async def test_a_configuration_that_cannot_be_read_again_stops_nothing(
    api: ApiStandIn, tmp_path: Path, always_stale: None
) -> None:
    # It may be in the middle of being replaced.
    path = kubeconfig(tmp_path / "config", api.url, user={"token": "abc"})
    async with Transport(ConfigSource(path)) as transport:
        path.write_text("half of")
        await transport.request("GET", "/x")
        path.unlink()
        await transport.request("GET", "/x")
        api.answer = needs_token("other")
        with pytest.raises(Unauthorized):
            await transport.request("GET", "/x")
    assert set(api.authorizations) == {"Bearer abc"}


async def test_another_server_is_taken_and_old_connections_end(tmp_path: Path, always_stale: None) -> None:
    async with serving() as one, serving() as other:
        path = kubeconfig(tmp_path / "config", one.url)
        async with Transport(ConfigSource(path)) as transport:
            async with transport.stream("/x", query={}, idle_timeout=10):
                kubeconfig(path, other.url)
                await transport.request("GET", "/y")
                (old,) = transport._retired
                states = [old.closed]
            states.append(old.closed)
            assert states == [False, True], "it ends with the watch on it, and not before"
            for server in (one, other, one, other):
                kubeconfig(path, server.url)
                await transport.request("GET", "/z")
            assert len(transport._retired) <= 1
        assert (one.requests, other.requests) == (["GET /x", *["GET /z"] * 2], ["GET /y", *["GET /z"] * 2])


async def test_closing_while_the_configuration_is_read_leaves_no_session(
    api: ApiStandIn, tmp_path: Path, always_stale: None
) -> None:
    path = kubeconfig(tmp_path / "config", api.url)
    source = ConfigSource(path)
    transport = Transport(source)
    await transport.open()
    reading, closed = asyncio.Event(), asyncio.Event()
    load = source.load

    async def slow_load() -> config_module.Access:
        reading.set()
        await closed.wait()
        kubeconfig(path, "http://127.0.0.1:1")  # which would be another session
        return await load()

    source.load = slow_load  # type: ignore[method-assign]
    request = asyncio.create_task(transport.request("GET", "/x"))
    await asyncio.wait_for(reading.wait(), 10)
    await transport.close()
    closed.set()
    with pytest.raises(Unreachable, match="the transport is closed"):
        await asyncio.wait_for(request, 10)
    assert transport._session is None
