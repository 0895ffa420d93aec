"""Requests to a Vault, or an OpenBao, which speaks the same: its errors as those of providers."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import aiohttp
import orjson

from openclaw.providers.answers import bounded_body, retry_after
from openclaw.providers.errors import (
    ExternalInvalid,
    ExternalThrottled,
    ExternalTransient,
    ExternalUnauthorised,
)

__all__ = ["VaultServer", "path_of"]

_MOST_BYTES: Final = 1 << 20
_TEXT: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultServer:
    """Where a Vault is. Set by whoever runs the operator, not by whoever writes objects.

    Attributes:
        address: such as `https://vault.example.com:8200`.
        namespace: a namespace of an enterprise Vault; "" for none.
        ca_file: certificates to trust instead of the system's; None for those.
        timeout: seconds that a request may take.
    """

    address: str
    namespace: str = ""
    ca_file: str | None = None
    timeout: float = 10.0

    async def request(
        self,
        method: str,
        path: str,
        *,
        token: str = "",
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Send one request to `/v1/<path>`; its answer, {} where it has none.

        There are few of these and long apart, so each has a session of its own, which cannot leak.

        Raises:
            ExternalUnauthorised: the login, the token or the policy does not allow it, or there is no such
                path, which Vault does not tell apart.
            ExternalThrottled: a quota of the Vault's.
            ExternalTransient: no answer, a sealed Vault, a failure of its own.
            ExternalInvalid: the address is none, or the answer makes no sense.
        """
        what = f"Vault at {self.address}: {method} {path}"
        headers = {"X-Vault-Request": "true"}
        if token:
            headers["X-Vault-Token"] = token
        if self.namespace:
            headers["X-Vault-Namespace"] = self.namespace
        try:
            async with (
                aiohttp.ClientSession(
                    connector=aiohttp.TCPConnector(ssl=self._tls(), force_close=True),
                    timeout=aiohttp.ClientTimeout(total=self.timeout),
                    headers=headers,
                ) as session,
                session.request(
                    method,
                    f"{self.address.rstrip('/')}/v1/{path}",
                    data=None if body is None else orjson.dumps(dict(body)),
                    # A standby forwards by itself; anywhere else the token has no business.
                    allow_redirects=False,
                ) as response,
            ):
                raw = await bounded_body(response, _MOST_BYTES)
                return _answer(what, response.status, raw, retry_after(response))
        except aiohttp.InvalidURL as error:
            raise ExternalInvalid(f"{self.address!r} is no address of a Vault") from error
        except aiohttp.ClientError as error:
            raise ExternalTransient(f"{what}: {type(error).__name__}: {error}") from error
        except TimeoutError as error:
            raise ExternalTransient(f"{what}: no answer within {self.timeout:g} s") from error

    def _tls(self) -> ssl.SSLContext | bool:
        if self.ca_file is None:
            return True
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            raise ExternalInvalid(
                f"the Vault's certificates {self.ca_file} cannot be read: {error}"
            ) from error


def path_of(*parts: str) -> str:
    """A path from its parts; slashes within a part stay, everything else that is no name is escaped.

    Raises:
        ExternalInvalid: a part is empty, or leads elsewhere.
    """
    for part in parts:
        steps = part.strip("/").split("/")
        if not part.strip("/") or any(step in {"", ".", ".."} for step in steps):
            raise ExternalInvalid(f"{part!r} is no path in a Vault")
    return "/".join(quote(part.strip("/"), safe="/-_.~") for part in parts)


def _answer(what: str, status: int, raw: bytes, wait: float | None) -> dict[str, Any]:
    parsed: Any = None
    if raw:
        try:
            parsed = orjson.loads(raw)
        except orjson.JSONDecodeError:
            parsed = None
    if status < HTTPStatus.MULTIPLE_CHOICES:
        if raw and not isinstance(parsed, dict):
            raise ExternalInvalid(f"{what}: the answer is no JSON object; is this a Vault?")
        return parsed or {}
    # A Vault's error texts name paths and policies, not what was sent.
    errors = parsed.get("errors") if isinstance(parsed, dict) else None
    text = "; ".join(str(it) for it in errors)[:_TEXT] if isinstance(errors, list) else ""
    text = f"{what}: {status}{f': {text}' if text else ''}"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        raise ExternalThrottled(text, code=str(status), retry_after=wait)
    if status in {400, 401, 403, 404, 405}:
        raise ExternalUnauthorised(text, code=str(status))
    if status < HTTPStatus.BAD_REQUEST:
        raise ExternalInvalid(f"{text}: it redirects; give the address that it redirects to")
    raise ExternalTransient(text, code=str(status))
