"""Where the operator may speak HTTP on behalf of whoever can write an object.

Without this, an object could make the operator, which sits inside the cluster's network, ask for anything
there (server-side request forgery). So nothing is allowed but what the one who runs the operator has listed,
and a listed name is not followed to the machine's own or a link-local address, where metadata services are.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from openclaw.providers.errors import ExternalInvalid

__all__ = ["ALLOWED_HOSTS", "AllowedHosts", "GuardedResolver"]

ALLOWED_HOSTS: Final = "OPENCLAW_HTTP_ALLOWED_HOSTS"
"""The variable that lists them: `api.example.com, *.dns.example.com:8443, http://plain.example.com`."""

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?")
_PORTS: Final = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class _Entry:
    scheme: str
    host: str
    port: int
    subdomains: bool

    def admits(self, url: URL) -> bool:
        host = _host_of(url)
        if (url.scheme, url.port) != (self.scheme, self.port):
            return False
        return host.endswith("." + self.host) if self.subdomains else host == self.host


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """The hosts that may be spoken to; none by default."""

    entries: tuple[_Entry, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """From a list with commas.

        An entry is a host, with a port where it is not the scheme's. `*.` before it means every host below
        it. Without a scheme it is https; plain HTTP is allowed by `http://`.

        Raises:
            ValueError: names the entry that is none.
        """
        return cls(tuple(_entry(it.strip()) for it in text.split(",") if it.strip()))

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """As `OPENCLAW_HTTP_ALLOWED_HOSTS` says.

        Raises:
            ValueError: as `parse`.
        """
        environment = os.environ if environment is None else environment
        try:
            return cls.parse(environment.get(ALLOWED_HOSTS, ""))
        except ValueError as error:
            raise ValueError(f"{ALLOWED_HOSTS}: {error}") from None

    def check(self, text: str) -> URL:
        """The URL, if it is of an allowed host.

        Raises:
            ExternalInvalid: it is not, or it is no URL; says what to do.
        """
        try:
            url = URL(text)
            host, port = _host_of(url), url.port
        except ValueError as error:
            raise ExternalInvalid(f"{text!r} is no URL: {error}") from error
        if url.scheme not in _PORTS or not host or port is None:
            raise ExternalInvalid(f"{text!r} is no URL of the form https://host/path")
        if url.user is not None or url.password is not None:
            raise ExternalInvalid("a URL holds no user and password: put them into a Secret")
        if not any(it.admits(url) for it in self.entries):
            where = host if url.scheme == "https" else f"{url.scheme}://{host}"
            where = where if port == _PORTS[url.scheme] else f"{where}:{port}"
            raise ExternalInvalid(
                f"this operator may not speak to {where}: whoever runs it lists what it may in "
                f"{ALLOWED_HOSTS}, for instance {ALLOWED_HOSTS}={where}",
                code="HostNotAllowed",
            )
        return url


def _entry(text: str) -> _Entry:
    scheme, mark, rest = text.rpartition("://")
    subdomains = rest.startswith("*.")
    try:
        url = URL(f"{scheme if mark else 'https'}://{rest.removeprefix('*.')}")
        host, port = _host_of(url), url.port
    except ValueError as error:
        raise ValueError(f"{text!r} is no host: {error}") from None
    if url.scheme not in _PORTS or not host or port is None or url.path not in {"", "/"} or url.query_string:
        raise ValueError(
            f"{text!r} is no host such as api.example.com, *.example.com:8443 or http://localhost"
        )
    if url.user is not None or not (_NAME.fullmatch(host) or _address(host)):
        raise ValueError(f"{text!r} is no host: letters, digits, '-' and '.', or an address; '*.' before it")
    if subdomains and ("." not in host or _address(host) is not None):
        raise ValueError(f"{text!r} would allow too much: name a domain below a top-level one")
    return _Entry(url.scheme, host, port, subdomains)


def _host_of(url: URL) -> str:
    return (url.host or "").rstrip(".").lower()


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


class GuardedResolver(AbstractResolver):
    """Resolves names, and refuses the addresses that no name of another machine has.

    An address that is wanted itself, or `localhost`, is listed by itself and does not come here, or is meant.
    """

    def __init__(self, inner: AbstractResolver | None = None) -> None:
        self._inner = inner or aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """As aiohttp's.

        Raises:
            OSError: the name has no address, or none that is admitted.
        """
        found = await self._inner.resolve(host, port, family)
        if host.rstrip(".").lower() == "localhost":
            return found
        admitted = [it for it in found if _is_elsewhere(it["host"])]
        if not admitted:
            raise OSError(None, f"{host} leads to an address of the machine itself or a link-local one")
        return admitted

    async def close(self) -> None:
        """As aiohttp's."""
        await self._inner.close()


def _is_elsewhere(text: str) -> bool:
    address = _address(text.partition("%")[0])
    if address is None:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    address = mapped or address
    return not (
        address.is_loopback or address.is_link_local or address.is_unspecified or address.is_multicast
    )
