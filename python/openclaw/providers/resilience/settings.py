"""What is allowed around a provider: one set of numbers for each kind of system."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

__all__ = ["ResilienceSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResilienceSettings:
    """How a provider's calls are bounded.

    Attributes:
        rate: calls a second for each account and region, in the long run.
        burst: calls that may go at once after a quiet time.
        concurrency: most calls of an account under way at once.
        read_deadline: seconds that one attempt of a read may take.
        write_deadline: seconds that a write may take.
        read_attempts: attempts of a read, the first included, while its failures may pass by themselves.
            Writes are never tried again here: their reconcile goes back to the queue, and looks first.
        retry_delay: seconds before the second attempt of a read, on average; twice that before each further.
        breaker_failures: outages in a row after which an account's breaker opens.
        breaker_open: seconds until a probe is let through; twice that after each probe that fails.
        breaker_longest: most seconds between probes.
        penalty: seconds that an account and region is left alone when it throttles and names no wait; twice
            that each time it happens again soon.
        longest_penalty: most seconds of it.
    """

    rate: float = 5.0
    burst: int = 10
    concurrency: int = 16
    read_deadline: float = 15.0
    write_deadline: float = 30.0
    read_attempts: int = 3
    retry_delay: float = 0.2
    breaker_failures: int = 5
    breaker_open: float = 15.0
    breaker_longest: float = 120.0
    penalty: float = 1.0
    longest_penalty: float = 60.0

    @classmethod
    def from_environment(cls, prefix: str, environment: Mapping[str, str] | None = None) -> Self:
        """As variables say: the prefix and a setting's name, such as `OPENCLAW_HTTP_RATE=20`.

        Raises:
            ValueError: a variable is no number, or none that could work; names it.
        """
        environment = os.environ if environment is None else environment
        given: dict[str, Any] = {}
        for it in fields(cls):
            variable = f"{prefix}{it.name.upper()}"
            if (text := environment.get(variable)) is None:
                continue
            try:
                given[it.name] = int(text) if isinstance(it.default, int) else float(text)
                cls(**{it.name: given[it.name]})
            except ValueError as error:
                raise ValueError(f"{variable}={text}: {error}") from None
        return cls(**given)

    def __post_init__(self) -> None:
        """Refuse what could not work.

        Raises:
            ValueError: names the setting.
        """
        for name in (
            *("rate", "read_deadline", "write_deadline", "retry_delay"),
            *("breaker_open", "breaker_longest", "penalty", "longest_penalty"),
        ):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name}={getattr(self, name)} must be above 0 seconds, or calls a second")
        for name in ("burst", "concurrency", "read_attempts", "breaker_failures"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1")
