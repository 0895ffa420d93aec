"""Reading HTTP answers whose size somebody else decides."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import aiohttp

from openclaw.providers.errors import ExternalInvalid

__all__ = ["bounded_body", "retry_after"]


async def bounded_body(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The body of an answer.

    Raises:
        ExternalInvalid: it is longer than `most` bytes; what is more was not read.
    """
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > most:
            response.close()
            raise ExternalInvalid(f"the answer is longer than {most} bytes", code="AnswerTooLong")
        parts.append(part)
    return b"".join(parts)


def retry_after(response: aiohttp.ClientResponse, *, now: datetime | None = None) -> float | None:
    """Seconds that the header `Retry-After` (RFC 9110, 10.2.3) asks for; None where it does not."""
    text = response.headers.get("Retry-After", "").strip()
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())
