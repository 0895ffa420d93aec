"""The circuit breaker of one account: when the system is away, nobody waits for its deadlines.

Closed, it counts outages in a row. Enough of them open it, and calls fail at once, without being sent. After
a while it is half-open: exactly one call, the probe, is let through, and its answer closes the breaker or
opens it for twice as long.

An outage is that no answer came, or that the system failed by itself (`ExternalTransient`). Every other
answer, also a refusal, shows that the system is there. A call that was cancelled, or that failed by a defect
of ours, shows nothing: it counts neither way, and a probe that ends so leaves its place to the next.
"""

from __future__ import annotations

import asyncio
import enum
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from openclaw.providers.errors import ExternalTransient, ProviderError
from openclaw.providers.resilience.settings import ResilienceSettings

__all__ = ["BreakerOpen", "BreakerState", "CircuitBreaker"]


class BreakerState(enum.IntEnum):
    """The values of the breaker's gauge."""

    CLOSED = 0
    HALF_OPEN = 1
    OPEN = 2


class BreakerOpen(ExternalTransient):
    """The system has failed again and again, so nothing was sent."""

    result = "breaker_open"
    outcome_unknown = False


class CircuitBreaker:
    """See the module.

    Args:
        settings: how many outages, and how long.
        name: what is away, for the error's text.
        on_change: told of each new state.
        clock: seconds; by default the running loop's.
    """

    def __init__(
        self,
        settings: ResilienceSettings,
        name: str = "the system",
        *,
        on_change: Callable[[BreakerState], None] = lambda _: None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._settings = settings
        self._name = name
        self._on_change = on_change
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._state = BreakerState.CLOSED
        self._outages = 0
        self._openings = 0
        self._probe_at = 0.0
        self._probing = False
        # Told apart by this, so that the late end of a call from before says nothing of what came after it.
        self._era = 0
        self._last = ""

    @property
    def state(self) -> BreakerState:
        """As it is now; the time at which a probe is due makes it half-open."""
        if self._state is BreakerState.OPEN and self._clock() >= self._probe_at:
            self._become(BreakerState.HALF_OPEN)
        return self._state

    def check(self) -> None:
        """Return, if a call would be let through now. Takes nothing.

        Raises:
            BreakerOpen: it would not; `retry_after` says when one may be.
        """
        state = self.state
        if state is BreakerState.OPEN or (state is BreakerState.HALF_OPEN and self._probing):
            raise self._refusal()

    @contextmanager
    def call(self) -> Iterator[None]:
        """Around one call; what the block raises tells how it went.

        Raises:
            BreakerOpen: before the block: it must not be sent.
        """
        self.check()
        era, probe = self._era, self._state is BreakerState.HALF_OPEN
        self._probing = self._probing or probe
        try:
            yield
        except ExternalTransient as error:
            # Not its text, which may name what belongs to others.
            self._last = f"{error.result} {error.code}".strip()
            self._ended(era, outage=True)
            raise
        except ProviderError:
            self._ended(era, outage=False)
            raise
        else:
            self._ended(era, outage=False)
        finally:
            # Whatever ended it: unless its end has begun another era, the place is the next one's.
            if probe and era == self._era:
                self._probing = False

    def _ended(self, era: int, *, outage: bool) -> None:
        if era != self._era:
            return
        if not outage:
            self._outages = 0
            self._openings = 0
            self._become(BreakerState.CLOSED)
            return
        self._outages += 1
        if self._state is BreakerState.HALF_OPEN or self._outages >= self._settings.breaker_failures:
            seconds = self._settings.breaker_open * 2**self._openings
            # Jitter, so that many replicas do not probe together.
            seconds = min(seconds, self._settings.breaker_longest) * random.uniform(1.0, 1.2)
            self._openings = min(self._openings + 1, 30)
            self._probe_at = self._clock() + seconds
            self._become(BreakerState.OPEN)

    def _become(self, state: BreakerState) -> None:
        if state is self._state:
            return
        self._state = state
        self._era += 1
        self._probing = False
        if state is BreakerState.CLOSED:
            self._outages = 0
        self._on_change(state)

    def _refusal(self) -> BreakerOpen:
        wait = self._probe_at - self._clock()
        if wait <= 0:  # a probe is under way
            wait = self._settings.breaker_open
        # After the probe, and not all at once.
        wait += random.uniform(0.5, 0.5 + self._settings.breaker_open / 3)
        return BreakerOpen(
            f"{self._name} does not answer, so nothing was sent; the last failure was: {self._last}",
            retry_after=wait,
        )
