"""Clients of AWS' SDK: one loader for all, made without holding up the event loop, never retrying.

Reading the SDK's service models takes a tenth of a second the first time, and importing it more. Both are
done in a thread, by making a client there and throwing it away; after that, making one takes milliseconds.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, Final, Protocol

from openclaw.providers.errors import ExternalTerminal
from openclaw.telemetry.logs import Log

if TYPE_CHECKING:
    from openclaw.providers.credentials.source import CredentialSource

__all__ = ["OpenClient", "open_client"]

log = Log(__name__)

_CONNECT_SECONDS: Final = 10.0
_READ_SECONDS: Final = 60.0  # the deadline of a call is around it, and shorter
_CONNECTIONS: Final = 32

_loader: Any = None
_warm: Final[set[str]] = set()
_warming: Final = threading.Lock()


class OpenClient(Protocol):
    """What gives clients of AWS: `open_client`, or a stand-in's own that needs no network."""

    async def __call__(
        self, service: str, *, region: str, endpoint: str | None, credentials: CredentialSource
    ) -> Any:
        """As `open_client`."""


async def open_client(
    service: str, *, region: str, endpoint: str | None, credentials: CredentialSource
) -> Any:
    """A client of `service`, such as `rds`. Close it with `await client.close()`.

    Each request is signed with what `credentials.fetch()` gives then. The SDK's own retries are off: they
    hide calls, and turn a lost answer to a create into "already exists".

    Args:
        service: the SDK's name of it.
        region: where.
        endpoint: a URL instead of the region's own; None for that, or for what AWS_ENDPOINT_URL says.
        credentials: signs the requests.

    Raises:
        ExternalTerminal: the extra `aws` is not installed.
    """
    if service not in _warm:
        await asyncio.to_thread(_warm_up, service)
    try:
        return await _client(service, region, endpoint, _signing(credentials)).__aenter__()
    except ImportError as error:
        raise _missing(error) from error


def _missing(error: ImportError) -> ExternalTerminal:
    return ExternalTerminal(f"{error}: install openclaw with the extra aws: pip install 'openclaw[aws]'")


def _warm_up(service: str) -> None:
    """Import the SDK and have the loader read what a client needs; in a thread, once."""
    global _loader  # noqa: PLW0603 - one for the process is the point
    with _warming:
        if service in _warm:
            return
        try:
            from botocore.loaders import create_loader  # noqa: PLC0415 - see the module
        except ImportError as error:
            raise _missing(error) from error
        _loader = _loader or create_loader()

        async def throw_away() -> None:
            async with _client(service, "us-east-1", "http://127.0.0.1:9", None):
                pass

        asyncio.run(throw_away())
        _warm.add(service)


def _client(service: str, region: str, endpoint: str | None, resolver: Any) -> Any:
    from aiobotocore.config import AioConfig  # noqa: PLC0415 - see the module
    from aiobotocore.session import AioSession  # noqa: PLC0415

    session = AioSession()
    session.register_component("data_loader", _loader)
    keys: dict[str, str] = {}
    if resolver is None:
        keys = {"aws_access_key_id": "none", "aws_secret_access_key": "none"}
    else:
        session.register_component("credential_provider", resolver)
    return session.create_client(
        service,
        region_name=region,
        endpoint_url=endpoint,
        config=AioConfig(
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_READ_SECONDS,
            max_pool_connections=_CONNECTIONS,
            retries={"total_max_attempts": 1, "mode": "standard"},
            user_agent_extra="openclaw",
        ),
        **keys,
    )


def _signing(source: CredentialSource) -> Any:
    """What the SDK asks for credentials: it hands on ours, before each request."""
    from aiobotocore.credentials import AioCredentials  # noqa: PLC0415 - see the module
    from botocore.credentials import ReadOnlyCredentials  # noqa: PLC0415

    class Fetched(AioCredentials):  # type: ignore[misc]
        async def get_frozen_credentials(self) -> Any:
            values = await source.fetch()
            return ReadOnlyCredentials(
                values["AWS_ACCESS_KEY_ID"],
                values["AWS_SECRET_ACCESS_KEY"],
                values.values.get("AWS_SESSION_TOKEN"),
                None,
            )

    class Resolver:
        async def load_credentials(self) -> Any:
            return Fetched("of-each-request", "of-each-request")

    return Resolver()
