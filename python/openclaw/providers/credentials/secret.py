"""Credentials from a Secret of the object's own namespace.

References carry a name and no namespace: an object never gets at another namespace's Secrets. The Secret is
handed in as it was read; a changed one gives a source of another identity, so that nothing made from the old
one is used again.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from collections.abc import Iterable, Mapping
from typing import Final

import orjson

from openclaw.api import Secret
from openclaw.providers.credentials.source import Credentials
from openclaw.providers.errors import ExternalUnauthorised

__all__ = ["SecretSource", "StaticSource", "secret_values"]

# Of this process only: a digest made with it tells nothing to who sees it elsewhere.
_KEY: Final = secrets.token_bytes(32)


class StaticSource:
    """Credentials that are there already.

    Args:
        values: by name.
        origin: where they are from, for messages.
    """

    def __init__(self, values: Mapping[str, str], *, origin: str = "static") -> None:
        self._credentials = Credentials(values)
        self._origin = origin
        body = orjson.dumps(dict(values), option=orjson.OPT_SORT_KEYS)
        # Not the origin: the same credentials from two Secrets share clients, listings and limits.
        self._identity = f"static:{hashlib.blake2b(body, key=_KEY, digest_size=16).hexdigest()}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._origin}>"

    @property
    def identity(self) -> str:
        """The same for the same values, within this process."""
        return self._identity

    async def fetch(self) -> Credentials:
        """The values."""
        return self._credentials


class SecretSource(StaticSource):
    """The entries of a Secret as credentials.

    Args:
        secret: as it was read; None where there is none.
        name: of the reference, for messages.
        required: entries that must be there and not be empty.

    Raises:
        ExternalUnauthorised: the Secret is missing, or an entry is missing, empty or no text.
    """

    def __init__(self, secret: Secret | None, *, name: str, required: Iterable[str] = ()) -> None:
        super().__init__(secret_values(secret, name=name, required=required), origin=f"Secret {name}")


def secret_values(secret: Secret | None, *, name: str, required: Iterable[str] = ()) -> dict[str, str]:
    """The entries of a Secret as text.

    Args:
        secret: as it was read; None where there is none.
        name: of the reference, for messages.
        required: entries that must be there and not be empty.

    Raises:
        ExternalUnauthorised: as `SecretSource`.
    """
    if secret is None:
        raise ExternalUnauthorised(
            f"the Secret {name!r} does not exist in the object's namespace: create it", code="SecretMissing"
        )
    values: dict[str, str] = {}
    for key, text in secret.data.items():
        try:
            values[key] = base64.b64decode(text, validate=True).decode().strip("\r\n")
        except (binascii.Error, ValueError):
            continue  # bytes: none of ours
    for key in required:
        if not values.get(key):
            there = ", ".join(sorted(values)) or "no text"
            raise ExternalUnauthorised(
                f"the Secret {name!r} has no entry {key!r} with a text; it has {there}",
                code="SecretIncomplete",
            )
    return values
