"""The pod's own identity: a token that the kubelet puts into a file and renews there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from openclaw.providers.errors import ExternalUnauthorised

__all__ = ["SERVICE_ACCOUNT_TOKEN", "read_token"]

SERVICE_ACCOUNT_TOKEN: Final = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 - a path
"""Where a pod finds the token of its service account."""


async def read_token(path: str) -> str:
    """The token in a file, read anew each time: the kubelet replaces it before it expires.

    Raises:
        ExternalUnauthorised: there is none; the text says what to mount.
    """
    try:
        token = (await asyncio.to_thread(Path(path).read_text, encoding="utf-8")).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ExternalUnauthorised(
            f"the pod's token {path} cannot be read ({why}): mount a projected service account token there",
            code="NoToken",
        ) from error
    if not token:
        raise ExternalUnauthorised(f"the pod's token {path} is empty", code="NoToken")
    return token
