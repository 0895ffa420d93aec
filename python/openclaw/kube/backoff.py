"""Exponential backoff with jitter."""

from __future__ import annotations

import random

__all__ = ["Backoff"]


class Backoff:
    """Delays that double from `base` up to `cap` seconds, each drawn from the upper half of its step.

    The jitter keeps replicas, watches and keys that failed together from coming back together.
    """

    def __init__(self, base: float = 0.2, cap: float = 30.0, *, rng: random.Random | None = None) -> None:
        if not 0 < base <= cap:
            msg = f"backoff: base {base} must be above 0 and at most cap {cap}"
            raise ValueError(msg)
        self.base = base
        self.cap = cap
        self.failures = 0
        # One generator for all: a `Random` of one's own is 2.5 KB, and there may be a Backoff a key.
        self._random = rng.random if rng is not None else random.random

    def next(self) -> float:
        """The seconds to wait after one more failure."""
        step: float = min(self.cap, self.base * 2.0 ** min(self.failures, 62))
        self.failures += 1
        return step * (0.5 + 0.5 * self._random())

    def reset(self) -> None:
        """A success: begin again at `base`."""
        self.failures = 0
