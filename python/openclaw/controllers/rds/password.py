"""Telling one master password from another without keeping either.

The status holds scrypt(password), salted with the object's uid, so that who may read the object can't find
the password by trying likely ones as fast as a machine hashes: each guess costs 16 MiB of memory (128 N r
bytes, RFC 7914) and the time to fill it. Since it costs us the same, it is computed only when the Secret has
changed.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Awaitable, Callable
from typing import Final

from openclaw.api.rdsinstance_status import SentPassword
from openclaw.controllers.rds.inputs import MasterPassword
from openclaw.telemetry.spans import child_span

__all__ = ["Digest", "digest_of", "sent_password"]

Digest = Callable[[str, str], Awaitable[str]]
"""From a password and an object's uid to what the status holds."""

_COST: Final = {"n": 2**14, "r": 8, "p": 1, "dklen": 24}


async def sent_password(
    password: MasterPassword, known: SentPassword, uid: str, digest_of: Digest
) -> SentPassword:
    """What to remember once RDS has `password`; its digest is `known`'s where it is the same password."""
    if known.digest is not None and known.secret == password.version:
        return known
    with child_span("password digest"):
        digest = await digest_of(password.value.get_secret_value(), uid)
    return SentPassword(digest=digest, secret=password.version)


async def digest_of(password: str, uid: str) -> str:
    """The digest of a password for the object with that uid; computed in a thread."""
    return await asyncio.to_thread(_digest, password, uid)


def _digest(password: str, uid: str) -> str:
    salt = f"openclaw.dev/master-password/{uid}".encode()
    digest = hashlib.scrypt(password.encode(), salt=salt, **_COST)
    return f"scrypt:{base64.b64encode(digest).decode()}"
