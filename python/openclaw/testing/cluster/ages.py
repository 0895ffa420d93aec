"""Durations as kubectl shows them."""

from __future__ import annotations

from typing import Final

__all__ = ["age"]

_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 86400


def age(seconds: float) -> str:
    """A duration as kubectl shows it; follows `duration.HumanDuration` of apimachinery."""
    if seconds < -1:
        return "<invalid>"
    whole = max(0, int(seconds))
    minutes, hours, days = whole // _MINUTE, whole // _HOUR, whole // _DAY
    rest_seconds, rest_minutes, rest_hours = whole % _MINUTE, minutes % 60, hours % 24
    steps: tuple[tuple[bool, str], ...] = (
        (whole < 2 * _MINUTE, f"{whole}s"),
        (minutes < 10, f"{minutes}m{rest_seconds}s" if rest_seconds else f"{minutes}m"),  # noqa: PLR2004
        (minutes < 3 * 60, f"{minutes}m"),
        (hours < 8, f"{hours}h{rest_minutes}m" if rest_minutes else f"{hours}h"),  # noqa: PLR2004
        (hours < 48, f"{hours}h"),  # noqa: PLR2004
        (hours < 192, f"{days}d{rest_hours}h" if rest_hours else f"{days}d"),  # noqa: PLR2004
        (days < 365 * 2, f"{days}d"),
    )
    for holds, text in steps:
        if holds:
            return text
    years, rest_days = days // 365, days % 365
    return f"{years}y{rest_days}d" if years < 8 and rest_days else f"{years}y"  # noqa: PLR2004
