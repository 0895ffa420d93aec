import re
import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest

from openclaw.telemetry import Address, BindError, HealthChecks, Metrics
from openclaw.telemetry.server import TelemetryServer


@pytest.fixture
def health() -> HealthChecks:
    return HealthChecks()


@pytest.fixture
async def server(health: HealthChecks) -> AsyncIterator[TelemetryServer]:
    address = Address("127.0.0.1", 0)
    async with TelemetryServer(address, metrics=Metrics(process=False), health=health) as server:
        yield server


@pytest.fixture
async def client(server: TelemetryServer) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(f"http://{server.address}") as session:
        yield session


async def test_metrics_are_served_as_the_scraper_asks(client: aiohttp.ClientSession) -> None:
    async with client.get("/metrics", headers={"Accept": "text/plain"}) as response:
        assert response.status == 200
        assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert "openclaw_cache_objects" in await response.text()
    async with client.get(
        "/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"}
    ) as response:
        assert response.headers["Content-Type"].startswith("application/openmetrics-text")
        assert (await response.text()).endswith("# EOF\n")


async def test_readiness_follows_its_checks_and_liveness_does_not(
    client: aiohttp.ClientSession, health: HealthChecks
) -> None:
    health.add("cache openclaws", lambda: "not synced")
    async with client.get("/healthz") as response:
        assert (response.status, await response.text()) == (200, "ok")
    async with client.get("/readyz") as response:
        assert response.status == 500
        assert "[-]cache openclaws failed: not synced" in await response.text()
    health.remove("cache openclaws")
    async with client.get("/readyz?verbose") as response:
        assert (response.status, await response.text()) == (200, "[+]ping ok\nreadyz check passed\n")


async def test_a_check_has_a_path_of_its_own(client: aiohttp.ClientSession, health: HealthChecks) -> None:
    health.add("cache apps/openclaws", lambda: "not synced")
    async with client.get("/readyz/ping") as response:
        assert (response.status, await response.text()) == (200, "ok")
    async with client.get("/readyz/cache apps/openclaws") as response:
        assert response.status == 500
    async with client.get("/healthz/cache apps/openclaws") as response:
        assert response.status == 404
        assert "cache apps/openclaws" in await response.text()
    async with client.get("/readyz?exclude=cache apps/openclaws") as response:
        assert response.status == 200


async def test_probes_may_use_head_and_nothing_else_is_served(client: aiohttp.ClientSession) -> None:
    async with client.head("/healthz") as response:
        assert response.status == 200
    async with client.post("/healthz") as response:
        assert response.status == 405
    async with client.get("/") as response:
        assert response.status == 404


async def test_a_taken_address_is_named_with_the_flag(server: TelemetryServer, health: HealthChecks) -> None:
    second = TelemetryServer(server.address, metrics=Metrics(process=False), health=health)
    expected = f"cannot listen on {server.address} .*: Address already in use; .* --metrics-address"
    with pytest.raises(BindError, match=expected):
        await second.start()
    await second.stop()


async def test_an_address_that_is_not_ours_is_named(health: HealthChecks) -> None:
    server = TelemetryServer(
        Address("192.0.2.1", 8080), metrics=Metrics(process=False), health=health, flag="--x"
    )
    with pytest.raises(BindError, match=r"192\.0\.2\.1:8080 .*--x"):
        await server.start()


async def test_a_host_that_does_not_resolve_is_named(
    health: HealthChecks, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    server = TelemetryServer(Address("no.such.host", 8080), metrics=Metrics(process=False), health=health)
    with pytest.raises(BindError, match=r"no\.such\.host:8080 .*: Name or service not known"):
        await server.start()


async def test_a_stopped_server_frees_its_address(health: HealthChecks) -> None:
    server = TelemetryServer(Address("127.0.0.1", 0), metrics=Metrics(process=False), health=health)
    await server.start()
    address = server.address
    assert address.port != 0
    await server.stop()
    await server.stop()
    async with TelemetryServer(address, metrics=Metrics(process=False), health=health) as again:
        assert again.address == address


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:8080", "127.0.0.1", 8080),
        (":8080", "", 8080),
        ("localhost:0", "localhost", 0),
        ("[::1]:8080", "::1", 8080),
    ],
)
def test_addresses(text: str, host: str, port: int) -> None:
    address = Address.parse(text)
    assert address == (host, port)
    assert str(address) == text


@pytest.mark.parametrize(
    "text", ["", "8080", "host", "host:", "host:http", "host:65536", "::1:8080", "h:-1", "h:²"]
)
def test_what_is_no_address_is_refused_with_the_flag(text: str) -> None:
    with pytest.raises(ValueError, match=f"^--listen {re.escape(repr(text))}: expected HOST:PORT"):
        Address.parse(text, flag="--listen")
