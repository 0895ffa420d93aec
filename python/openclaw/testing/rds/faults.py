"""What goes wrong, by plan: which calls, from which one on, how often, and what happens to them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from openclaw.testing.rds.errors import AWSError
from openclaw.testing.rds.ledger import Call

_UNAVAILABLE: Final = 503


@dataclass(frozen=True, slots=True)
class Refuse:
    """An answer that refuses, instead of any effect."""

    code: str
    message: str = "Refused by the test."
    status: int = 400

    def error(self) -> AWSError:
        """The refusal."""
        return AWSError(self.code, self.message, self.status)


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds of the stand-in's clock before the effect; infinity hangs until the client goes away."""

    seconds: float


@dataclass(frozen=True, slots=True)
class WaitAfter:
    """Seconds of the stand-in's clock between the effect and the answer; infinity hangs."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Late:
    """Seconds of the stand-in's clock before the effect, which comes even if the client has gone away."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection is cut before the effect."""


@dataclass(frozen=True, slots=True)
class LoseAnswer:
    """The call has its effect, then the connection is cut: the caller cannot know."""


@dataclass(frozen=True, slots=True)
class FailAfter:
    """The call has its effect, and the answer says that RDS has failed."""

    code: str = "InternalFailure"
    message: str = "The request processing has failed because of an unknown error."
    status: int = 500

    def error(self) -> AWSError:
        """The failure."""
        return AWSError(self.code, self.message, self.status)


@dataclass(frozen=True, slots=True)
class Pretend:
    """The answer says that it was done, and nothing was."""


@dataclass(frozen=True, slots=True)
class Garble:
    """The call has its effect, and the answer is a page of some proxy."""

    body: bytes = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
    status: int = 200


Outcome = Refuse | Wait | Late | WaitAfter | Cut | LoseAnswer | FailAfter | Pretend | Garble

HANG: Final = Wait(float("inf"))
HANG_AFTER: Final = WaitAfter(float("inf"))
THROTTLE: Final = Refuse("Throttling", "Rate exceeded")
OUTAGE: Final = Refuse("ServiceUnavailable", "Service is unavailable. Please try again.", _UNAVAILABLE)


@dataclass(slots=True, eq=False)
class Fault:
    """One entry of the plan. Empty conditions fit every call.

    Attributes:
        outcome: what happens.
        operation: such as `CreateDBInstance`.
        account: number of an account.
        region: name of a region.
        identifier: of an instance.
        first: the first call that fits to be hit, counted from 1.
        times: how many calls are hit from there on; None for all.
        seen: how many calls have fitted so far.
        hit: how many were hit.
        reached: set when the first one is hit.
    """

    outcome: Outcome
    operation: str | None = None
    account: str | None = None
    region: str | None = None
    identifier: str | None = None
    first: int = 1
    times: int | None = 1
    seen: int = 0
    hit: int = 0
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    def takes(self, call: Call) -> bool:
        """Count the call where it fits; whether it is hit."""
        for name in ("operation", "account", "region", "identifier"):
            wanted = getattr(self, name)
            if wanted is not None and wanted != getattr(call, name):
                return False
        self.seen += 1
        if self.seen < self.first or (self.times is not None and self.seen >= self.first + self.times):
            return False
        self.hit += 1
        self.reached.set()
        return True


class Faults:
    """The plan. Each fault counts its own calls; a call meets all that take it, in the order of adding."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        """Add to the plan."""
        self._faults.append(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        """Take out of the plan."""
        self._faults.remove(fault)

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        self._faults.clear()

    @contextmanager
    def always(self, outcome: Outcome, **conditions: str) -> Iterator[Fault]:
        """Within the block it happens to every call that fits the conditions of `Fault`."""
        fault = self.add(Fault(outcome, times=None, **conditions))  # type: ignore[arg-type]
        try:
            yield fault
        finally:
            self._faults.remove(fault)

    def of(self, call: Call) -> list[Outcome]:
        """What happens to a call."""
        return [fault.outcome for fault in list(self._faults) if fault.takes(call)]


class Throttle:
    """A leaky bucket: `burst` calls at once, then `rate` a second; what is beyond is refused.

    Args:
        clock: seconds.
    """

    def __init__(self, rate: float, burst: float, clock: Callable[[], float]) -> None:
        self.rate = rate
        self.burst = burst
        self._clock = clock
        self._level = 0.0
        self._at = clock()

    def admits(self) -> bool:
        """Whether one more call may pass now; it counts if so."""
        now = self._clock()
        self._level = max(0.0, self._level - (now - self._at) * self.rate)
        self._at = now
        if self._level + 1 > self.burst:
            return False
        self._level += 1
        return True
