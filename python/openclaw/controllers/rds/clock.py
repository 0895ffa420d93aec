"""Times as a status holds them."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["seconds_since", "stamp"]


def stamp(seconds: float) -> str:
    """RFC 3339, UTC, whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_since(moment: str | None, now: float) -> float:
    """Seconds from `moment` until `now`, never below 0; infinity where it is none."""
    if moment is None:
        return float("inf")
    try:
        parsed = datetime.fromisoformat(moment)
    except ValueError:
        return float("inf")
    return max(0.0, now - parsed.replace(tzinfo=parsed.tzinfo or UTC).timestamp())
