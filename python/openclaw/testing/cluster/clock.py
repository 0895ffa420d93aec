"""Time and chance of an embedded cluster: the one place that either comes from."""

from __future__ import annotations

import asyncio
import random
import time
from datetime import UTC, datetime

__all__ = ["Chance", "Clock", "rfc3339", "seconds_of"]

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""What Kubernetes makes generated names of: no vowels, nothing that looks like another letter."""

_SUFFIX_LENGTH = 5


class Clock:
    """The event loop's time, and the date that it stands for; with a loop of virtual time both are virtual.

    Args:
        epoch: the date, in seconds since 1970, when the clock is made; None for the machine's. Give one for
            runs that are to be the same each time.
    """

    def __init__(self, epoch: float | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._epoch = time.time() if epoch is None else epoch
        self._second = -1
        self._text = ""

    def now(self) -> float:
        """Seconds of the loop's clock: monotonic."""
        return self._loop.time()

    def date(self) -> float:
        """Seconds since 1970."""
        return self._epoch + self._loop.time() - self._began

    def timestamp(self) -> str:
        """The date as Kubernetes writes it: RFC 3339, whole seconds."""
        second = int(self.date())
        if second != self._second:
            self._second, self._text = second, rfc3339(second)
        return self._text

    def timestamp_in(self, seconds: float) -> str:
        """The date so many seconds from now."""
        return rfc3339(self.date() + seconds)

    def micro_timestamp(self) -> str:
        """The date with microseconds, as Leases and Events have it."""
        return datetime.fromtimestamp(self.date(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Chance:
    """Names, uids and whatever else is drawn by lot; the same seed draws the same."""

    def __init__(self, seed: int | str = 0) -> None:
        self.random = random.Random(seed)

    def uid(self) -> str:
        """A UUID of version 4."""
        bits = self.random.getrandbits(128)
        text = f"{bits:032x}"
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{'89ab'[bits >> 60 & 3]}{text[17:20]}-{text[20:]}"

    def suffix(self) -> str:
        """What is put behind `generateName`."""
        return "".join(self.random.choices(_SUFFIX_LETTERS, k=_SUFFIX_LENGTH))


def rfc3339(seconds: float) -> str:
    """A date as Kubernetes writes it."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_of(timestamp: str) -> float:
    """Seconds since 1970 of an RFC 3339 date."""
    return datetime.fromisoformat(timestamp).timestamp()
