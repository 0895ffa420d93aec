"""Sends a review to a webhook and reads its answer.

A webhook is reached by its `url`; one that is named by a `service` is looked up in `services`, since an
embedded cluster has no network of its own.
"""

from __future__ import annotations

import base64
import binascii
import ssl
from collections.abc import Mapping
from typing import Any, Final, Protocol

import aiohttp
import orjson

Object = dict[str, Any]

_OK: Final = range(200, 300)


class CallError(Exception):
    """A webhook could not be called; the text is the server's."""


class InvalidResponseError(CallError):
    """A webhook was called and what it said is no response."""


class Caller(Protocol):
    """Calls webhooks."""

    async def call(self, config: Object, path: str, review: Object, timeout: float) -> Object:
        """The answer to a review.

        `config` is a WebhookClientConfig; `path` is for services. Raises CallError.
        """


class HttpCaller:
    """Calls webhooks over HTTP(S).

    Args:
        services: the URL, without a path, of the services that webhooks are named by: `namespace/name`. Its
            certificate has to be for `name.namespace.svc`, as in a cluster.
    """

    def __init__(self, services: Mapping[str, str] | None = None) -> None:
        self.services = dict(services or {})

    async def call(self, config: Object, path: str, review: Object, timeout: float) -> Object:
        """The answer to a review."""
        url, host = self._url(config, path)
        limit = aiohttp.ClientTimeout(total=timeout)
        try:
            async with (
                aiohttp.ClientSession(timeout=limit) as session,
                session.post(
                    url,
                    data=orjson.dumps(review),
                    headers={"Content-Type": "application/json", "Accept": "application/json"},
                    ssl=_trust(config.get("caBundle", "")),
                    server_hostname=host,
                ) as answer,
            ):
                body = await answer.read()
                if answer.status not in _OK:
                    readable = answer.headers.get("Content-Type", "text/").startswith("text/")
                    said = body.decode(errors="replace").strip() if readable else "unknown"
                    text = orjson.dumps(said).decode()
                    message = f"an error on the server ({text}) has prevented the request from succeeding"
                    raise CallError(message)
        except TimeoutError:
            message = f'Post "{url}?timeout={timeout:.0f}s": context deadline exceeded'
            raise CallError(message) from None
        except aiohttp.ClientError as error:
            message = f'Post "{url}?timeout={timeout:.0f}s": {error}'
            raise CallError(message) from None
        try:
            parsed = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            message = f"couldn't get version/kind; json parse error: {error}"
            raise CallError(message) from None
        if not isinstance(parsed, dict):
            message = "the answer is no review"
            raise CallError(message)
        return parsed

    def _url(self, config: Object, path: str) -> tuple[str, str | None]:
        """Where a webhook is, and whom its certificate has to name when that is not the URL's host."""
        if url := config.get("url"):
            return str(url), None
        service = config.get("service") or {}
        namespace, name = service.get("namespace", ""), service.get("name", "")
        base = self.services.get(f"{namespace}/{name}")
        if base is None:
            message = f'service "{name}" not found'
            raise CallError(message)
        url = f"{base.rstrip('/')}/{(service.get('path') or path).lstrip('/')}"
        return url, f"{name}.{namespace}.svc" if url.startswith("https:") else None


def _trust(bundle: str) -> ssl.SSLContext | bool:
    if not bundle:
        return True
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(cadata=base64.b64decode(bundle).decode())
    except (ssl.SSLError, binascii.Error, ValueError) as error:
        message = f"unable to load root certificates: {error}"
        raise CallError(message) from None
    return context
