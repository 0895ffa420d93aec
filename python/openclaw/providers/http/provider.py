"""The provider of things behind a JSON API."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import aiohttp
import orjson
from yarl import URL

from openclaw.providers.answers import bounded_body, retry_after
from openclaw.providers.credentials.source import Credentials, CredentialSource
from openclaw.providers.descriptors import Difference, Drift, Owner, Target
from openclaw.providers.errors import ExternalInvalid, ExternalNotFound, ExternalTerminal, ExternalTransient
from openclaw.providers.http.api import HTTPApi, HTTPRequest, error_of
from openclaw.providers.http.hosts import AllowedHosts, GuardedResolver
from openclaw.providers.http.pointer import look_up, put, without
from openclaw.providers.http.template import expand_path

__all__ = ["HTTPObserved", "HTTPProvider", "HTTPProviderFactory", "HTTPWanted"]

_MOST_BYTES: Final = 1 << 20
_MOST_TEXT: Final = 300
_MOST_SHOWN: Final = 80
_CONNECT_SECONDS: Final = 10.0
_CONNECTIONS: Final = 32


@dataclass(frozen=True, slots=True)
class HTTPWanted:
    """What shall be behind the API.

    Attributes:
        identity: which thing; "" where the system chooses it.
        owner: whose it is.
        body: what is sent; each of its fields shall be so.
    """

    identity: str
    owner: Owner
    body: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class HTTPObserved:
    """What is behind the API.

    Attributes:
        identity: which thing.
        owner_uid: what its owner field says.
        body: all that the API tells of it.
    """

    identity: str
    owner_uid: str | None
    body: Mapping[str, Any] = field(repr=False)


class HTTPProvider:
    """Things of one API, by the requests that describe it. Made by `HTTPProviderFactory`.

    Args:
        session: makes the requests.
        url: of the API; paths come after it.
        credentials: `token` (sent as a bearer's), `username` and `password` (basic), `header` and `value` (a
            header of that name), or none of them.
        api: what the API looks like; without it nothing can be asked, see `described`.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        url: URL,
        credentials: CredentialSource,
        api: HTTPApi | None = None,
    ) -> None:
        self._session = session
        self._url = url
        self._credentials = credentials
        self._api = api

    def described(self, api: HTTPApi) -> HTTPProvider:
        """The same connection, for an API that looks so."""
        kind = HTTPProvider if api.find is None else _FindingHTTPProvider
        return kind(self._session, self._url, self._credentials, api)

    @property
    def api(self) -> HTTPApi:
        """What the API looks like.

        Raises:
            ExternalTerminal: nobody has said.
        """
        if self._api is None:
            raise ExternalTerminal("this connection knows no requests: ask `described(api)` of it")
        return self._api

    async def get(self, identity: str) -> HTTPObserved:
        """As in the protocol."""
        answer = await self._send(self.api.get, identity)
        return self._observed(self._thing(answer), identity)

    async def create(self, wanted: HTTPWanted) -> HTTPObserved:
        """As in the protocol. Where the API answers without the thing, it is taken for what was sent."""
        api = self.api
        body = self._body(wanted)
        answer = await self._send(api.create, wanted.identity, body, creating=True)
        thing = look_up(answer, api.state) if answer is not None else None
        if not isinstance(thing, dict):
            thing = body
        identity = wanted.identity
        if api.identity is not None:
            found = look_up(answer, api.identity)
            if not isinstance(found, str | int) or isinstance(found, bool) or found == "":
                # It was made, and nobody knows which it is.
                raise ExternalTransient(f"the answer to the create has no identity at {api.identity!r}")
            identity = str(found)
        return self._observed(thing, identity)

    def compare(self, wanted: HTTPWanted, observed: HTTPObserved) -> Drift:
        """As in the protocol: every field of the wanted body is to be so; others do not count."""
        body: Any = self._body(wanted)
        for pointer in self.api.write_only:
            body = without(body, pointer)
        found = tuple(_differences(body, observed.body, ""))
        if self.api.update is None:
            why = "the API declares no update"
            found = tuple(replace(it, refused=why) for it in found)
        return Drift(found)

    async def update(self, wanted: HTTPWanted, observed: HTTPObserved, drift: Drift) -> HTTPObserved:  # noqa: ARG002 - the protocol
        """As in the protocol: all that is wanted is sent."""
        request = self.api.update
        if request is None:
            raise ExternalInvalid("the API declares no update")
        body = self._body(wanted)
        answer = await self._send(request, observed.identity, body)
        thing = look_up(answer, self.api.state) if answer is not None else None
        return self._observed(thing if isinstance(thing, dict) else body, observed.identity)

    async def delete(self, identity: str, removal: None) -> None:  # noqa: ARG002 - the protocol
        """As in the protocol."""
        if self.api.delete is None:
            raise ExternalInvalid("the API declares no delete: set the deletion policy Orphan")
        await self._send(self.api.delete, identity)

    async def health(self) -> None:
        """As in the protocol; nothing is asked where the API declares no such request."""
        if self.api.health is not None:
            await self._send(self.api.health, "")

    async def close(self) -> None:
        """As in the protocol."""
        await self._session.close()

    def _body(self, wanted: HTTPWanted) -> dict[str, Any]:
        body = dict(wanted.body)
        if self.api.owner is not None:
            body = put(body, self.api.owner, wanted.owner.uid)
        return body

    def _thing(self, answer: Any) -> dict[str, Any]:
        thing = look_up(answer, self.api.state)
        if not isinstance(thing, dict):
            raise ExternalInvalid(f"the answer has no object at {self.api.state!r}")
        return thing

    def _observed(self, thing: dict[str, Any], identity: str) -> HTTPObserved:
        owner = look_up(thing, self.api.owner) if self.api.owner is not None else None
        return HTTPObserved(identity, owner if isinstance(owner, str) and owner else None, thing)

    async def _send(
        self,
        request: HTTPRequest,
        identity: str,
        body: Mapping[str, Any] | None = None,
        *,
        creating: bool = False,
    ) -> Any:
        """Send one request; its answer as JSON, None where it has none.

        Raises:
            ProviderError: as it is answered, or not.
        """
        values = {**self.api.values, **({"identity": identity} if identity else {})}
        url = self._url_of(expand_path(request.path, values))
        credentials = await self._credentials.fetch()
        what = f"{request.method} {url.path}"
        headers = _headers(credentials)
        data: bytes | None = None
        if body is not None:
            data, headers["Content-Type"] = orjson.dumps(body), "application/json"
        try:
            async with self._session.request(
                request.method, url, data=data, headers=headers, allow_redirects=False
            ) as response:
                raw = await bounded_body(response, _MOST_BYTES)
                wait = retry_after(response)
                status = response.status
        except aiohttp.ClientConnectorError as error:
            text = f"{what}: cannot connect to {url.host}: {error.os_error.strerror or error.os_error}"
            raise ExternalTransient(text, outcome_unknown=False) from error
        except (aiohttp.ClientError, OSError) as error:
            raise ExternalTransient(f"{what}: {type(error).__name__}: {error}") from error
        text = f"{what}: {status}: {_said(raw, credentials)}".rstrip(": ")
        if 300 <= status < 400 and status not in request.meanings:  # noqa: PLR2004 - redirects
            raise ExternalInvalid(f"{text}: it redirects, which is not followed", code=str(status))
        failed = error_of(request, status, text, creating=creating, retry_after=wait)
        if failed is not None:
            raise failed
        if not raw.strip():
            return None
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            # A write has had its effect all the same.
            raise ExternalInvalid(f"{what}: {status}: the answer is no JSON", outcome_unknown=True) from error

    def _url_of(self, path: str) -> URL:
        url = URL(f"{str(self._url).rstrip('/')}/{path.lstrip('/')}", encoded=True)
        if url.origin() != self._url.origin() or "/../" in f"{url.raw_path}/" or "/./" in f"{url.raw_path}/":
            raise ExternalInvalid(f"{path!r} leads out of the API's URL")
        return url


class _FindingHTTPProvider(HTTPProvider):
    async def find(self, owner: Owner) -> HTTPObserved:
        """As in `Finder`."""
        api = self.api
        if api.find is None or api.owner is None or api.identity is None:
            raise ExternalNotFound("the API can't be asked for those of an owner")
        things = look_up(await self._send(api.find, ""), api.items)
        for thing in things if isinstance(things, list) else ():
            if look_up(thing, api.owner) == owner.uid:
                # In a list, a thing is as it is, without what an answer has around it.
                pointer = api.identity.removeprefix(api.state)
                found = look_up(thing, pointer)
                if isinstance(found, str | int) and not isinstance(found, bool):
                    return self._observed(thing, str(found))
        raise ExternalNotFound(f"nothing there belongs to {owner.kind} {owner.namespace}/{owner.name}")


class HTTPProviderFactory:
    """Connects to APIs on allowed hosts.

    Args:
        allowed: which hosts; by default as the environment says.
    """

    name = "http"

    def __init__(self, allowed: AllowedHosts | None = None) -> None:
        self.allowed = AllowedHosts.from_environment() if allowed is None else allowed

    async def connect(self, target: Target, credentials: CredentialSource) -> HTTPProvider:
        """As in the protocol; the target's endpoint is the API's URL.

        Raises:
            ExternalInvalid: there is none, or its host is not allowed.
        """
        url = self.allowed.check(target.endpoint or "")
        if url.query_string or url.fragment:
            raise ExternalInvalid("an API's URL has no query and no fragment")
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=GuardedResolver(), limit=_CONNECTIONS, use_dns_cache=False
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            # Deadlines are around each call; this one is of what it begins with.
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
            headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "openclaw"},
            trust_env=False,
        )
        return HTTPProvider(session, url, credentials)


def _headers(credentials: Credentials) -> dict[str, str]:
    values = credentials.values
    if "token" in values:
        headers = {"Authorization": f"Bearer {values['token']}"}
    elif "username" in values:
        pair = f"{values['username']}:{credentials['password']}".encode()
        headers = {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
    elif "header" in values:
        headers = {values["header"]: credentials["value"]}
    else:
        return {}
    for name, value in headers.items():
        if not name.isascii() or not value.isprintable() or not name.replace("-", "").isalnum():
            raise ExternalInvalid(
                "the credentials do not fit into a header: they have a line break or the like"
            )
    return headers


def _said(raw: bytes, credentials: Credentials) -> str:
    """What an answer says, shortened, without our credentials, which it may repeat."""
    text = " ".join(raw[: _MOST_TEXT * 4].decode("utf-8", "replace").split())
    for name, value in credentials.values.items():
        if name not in {"username", "header"} and value:
            text = text.replace(value, "[redacted]")
    return text[:_MOST_TEXT]


def _differences(wanted: Any, observed: Any, path: str) -> Iterator[Difference]:
    if isinstance(wanted, Mapping) and isinstance(observed, Mapping):
        for key, value in wanted.items():
            yield from _differences(value, observed.get(key), f"{path}.{key}" if path else str(key))
    elif wanted != observed or isinstance(wanted, bool) is not isinstance(observed, bool):
        yield Difference(path or "body", _shown(wanted), _shown(observed))


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"
