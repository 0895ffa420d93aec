"""Where the operator may speak HTTP: nowhere but where it was allowed to."""

from __future__ import annotations

import socket
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import pytest
from aiohttp import ClientResponse
from aiohttp.abc import AbstractResolver, ResolveResult

from openclaw.providers.answers import retry_after
from openclaw.providers.credentials.secret import StaticSource
from openclaw.providers.descriptors import Target
from openclaw.providers.errors import ExternalInvalid
from openclaw.providers.http import AllowedHosts, HTTPProviderFactory
from openclaw.providers.http.hosts import ALLOWED_HOSTS, GuardedResolver

ALLOWED = AllowedHosts.parse(
    "api.example.com, *.dns.example.com:8443, http://plain.example.com, http://127.0.0.1:9, https://[::1]:1, "
)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com",
        "https://api.example.com:443/v1",
        "https://API.Example.com./v1",
        "https://a.dns.example.com:8443/",
        "https://a.b.dns.example.com:8443/",
        "http://plain.example.com/x",
        "http://127.0.0.1:9/",
        "https://[::1]:1/",
    ],
)
def test_what_is_listed_is_allowed(url: str) -> None:
    assert ALLOWED.check(url).host


@pytest.mark.parametrize(
    "url",
    [
        "http://api.example.com",
        "https://api.example.com:8443",
        "https://evil-api.example.com",
        "https://api.example.com.evil.com",
        "https://example.com",
        "https://dns.example.com:8443",
        "https://evildns.example.com:8443",
        "http://169.254.169.254/latest/meta-data",
        "http://127.0.0.1:8080",
        "https://kubernetes.default.svc",
        "https://api.example.com@evil.com/",
        "https://user:hunter2@api.example.com/",
        "file:///etc/passwd",
        "ftp://api.example.com",
        "//api.example.com",
        "api.example.com",
        "https://",
        "",
        "https://api.example.com:99999",
    ],
)
def test_everything_else_is_not(url: str) -> None:
    with pytest.raises(ExternalInvalid) as caught:
        ALLOWED.check(url)
    assert "hunter2" not in str(caught.value)


def test_nothing_is_allowed_by_default_and_the_way_out_is_said() -> None:
    with pytest.raises(ExternalInvalid, match=f"{ALLOWED_HOSTS}=http://a.example.com:81") as caught:
        AllowedHosts.from_environment({}).check("http://a.example.com:81/x")
    assert caught.value.code == "HostNotAllowed"


@pytest.mark.parametrize(
    "text", ["*", "*.com", "*.", "https://a/path", "a b", "ftp://a", "u:p@a", "*.10.0.0.1", "a.*.com", "a:0x"]
)
def test_a_list_that_is_none_or_allows_too_much_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=ALLOWED_HOSTS):
        AllowedHosts.from_environment({ALLOWED_HOSTS: text})


class Names(AbstractResolver):
    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses
        self.closed = False

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(hostname=host, host=it, port=port, family=family, proto=0, flags=0)
            for it in self.addresses
        ]

    async def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "::1",
        "169.254.169.254",
        "fe80::1%eth0",
        "0.0.0.0",
        "::",
        "::ffff:169.254.169.254",
        "224.0.0.1",
    ],
)
async def test_no_name_of_another_machine_leads_here_or_to_the_metadata_service(address: str) -> None:
    with pytest.raises(OSError, match="leads to an address of the machine"):
        await GuardedResolver(Names(address)).resolve("rebind.example.com", 443)
    mixed = await GuardedResolver(Names(address, "10.0.0.1")).resolve("rebind.example.com", 443)
    assert [it["host"] for it in mixed] == ["10.0.0.1"]


async def test_localhost_is_meant_where_it_is_listed() -> None:
    names = Names("127.0.0.1")
    resolver = GuardedResolver(names)
    assert await resolver.resolve("localhost", 80)
    await resolver.close()
    assert names.closed


@pytest.mark.parametrize("endpoint", [None, "https://elsewhere.example.com", "https://api.example.com/?x=1"])
async def test_no_connection_to_what_is_not_allowed(endpoint: str | None) -> None:
    with pytest.raises(ExternalInvalid):
        await HTTPProviderFactory(ALLOWED).connect(Target("x", endpoint=endpoint), StaticSource({}))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("Mon, 30 Nov 2026 10:00:30 GMT", 30.0),
        ("Mon, 30 Nov 2026 09:00:00 GMT", 0.0),
        ("soon", None),
        ("-1", None),
        ("", None),
    ],
)
def test_the_wait_that_an_answer_asks_for(text: str, seconds: float | None) -> None:
    response = cast("ClientResponse", SimpleNamespace(headers={"Retry-After": text}))
    assert retry_after(response, now=datetime(2026, 11, 30, 10, tzinfo=UTC)) == seconds
