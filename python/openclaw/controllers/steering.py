"""The annotations by which people steer one object of an external kind."""

from __future__ import annotations

from typing import Final

from openclaw.api.resource import CustomResource

__all__ = ["PAUSED", "POLL_BOUNDS", "POLL_INTERVAL", "RECONCILE_NOW", "duration", "is_set", "poll_interval"]

PAUSED: Final = "openclaw.dev/paused"
"""`true`: nothing is done for the object, its deletion included."""
RECONCILE_NOW: Final = "openclaw.dev/reconcile-now"
"""Any new value: look at once, also at what has failed, and send again what had no effect."""
POLL_INTERVAL: Final = "openclaw.dev/poll-interval"
"""A duration, in place of the intervals that there are else."""
POLL_BOUNDS: Final = (10.0, 86400.0)
"""Seconds within which it is kept."""

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def is_set(obj: CustomResource, annotation: str) -> bool:
    """Whether the annotation is `true`."""
    return obj.annotations.get(annotation, "").strip().lower() == "true"


def poll_interval(obj: CustomResource) -> float | None:
    """Seconds that the object asks for, within bounds; None where it asks for none, or for nonsense."""
    text = obj.annotations.get(POLL_INTERVAL)
    if text is None:
        return None
    try:
        seconds = duration(text)
    except ValueError:
        return None
    least, most = POLL_BOUNDS
    return min(max(seconds, least), most)


def duration(text: str) -> float:
    """Seconds of `90`, `90s`, `1.5m`, `2h` or `500ms`.

    Raises:
        ValueError: it is none, or not above 0.
    """
    number = text.strip()
    unit = next((it for it in ("ms", "s", "m", "h") if number.endswith(it)), "")
    try:
        seconds = float(number.removesuffix(unit)) * _UNITS[unit or "s"]
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{text!r} is no duration above 0, such as 90s, 5m or 1h")
    return seconds
