"""What may go wrong, by a plan: asked at every request and at every event of a watch.

A plan decides with the request in hand; what happens is said by a `Fault` or a `WatchFault`. Without hooks
nothing goes wrong, and nothing is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openclaw.testing.cluster.contracts import User
from openclaw.testing.cluster.statuses import (
    StatusError,
    conflict,
    internal,
    throttled,
    timeout,
    unavailable,
)

if TYPE_CHECKING:
    from openclaw.testing.cluster.store import Change
    from openclaw.testing.cluster.watching import Watch

__all__ = ["ConnectionLost", "Fault", "Faults", "RequestInfo", "WatchFault"]


class ConnectionLost(Exception):
    """The connection broke; the client learns nothing of what became of its request."""


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """A request, as a plan sees it.

    Attributes:
        verb: get, list, watch, create, update, patch, apply, delete or deletecollection.
        resource: plural and group, such as `deployments.apps`.
    """

    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    user: User
    user_agent: str

    @property
    def writes(self) -> bool:
        """Whether it may change something."""
        return self.verb not in {"get", "list", "watch"}


@dataclass(frozen=True, slots=True)
class Fault:
    """What becomes of one request. The parts may be combined.

    Attributes:
        delay: seconds before the request reaches the server.
        error: the server refuses, without effect.
        lose_request: the connection breaks before the request reaches the server.
        lose_answer: the request has its effect, then the connection breaks.
        hang: the answer never comes; with `lose_answer` after the effect, else before.
        answer_delay: seconds between the effect and the answer.
        past: for get and list: the revision that is shown instead of the present.
    """

    delay: float = 0.0
    error: StatusError | None = None
    lose_request: bool = False
    lose_answer: bool = False
    hang: bool = False
    answer_delay: float = 0.0
    past: int | None = None

    @classmethod
    def conflict(cls, info: RequestInfo) -> Fault:
        """409, as if somebody else had written in between."""
        plural, _, group = info.resource.partition(".")
        message = (
            "the object has been modified; please apply your changes to the latest version and try again"
        )
        return cls(error=conflict(group, plural, info.name, message))

    @classmethod
    def throttle(cls, seconds: int = 1) -> Fault:
        """429 with Retry-After."""
        return cls(error=throttled(seconds))

    @classmethod
    def unavailable(cls) -> Fault:
        """503."""
        return cls(error=unavailable())

    @classmethod
    def broken(cls) -> Fault:
        """500."""
        return cls(error=internal("etcdserver: leader changed"))

    @classmethod
    def timeout(cls) -> Fault:
        """504: the server gave up; without effect here."""
        return cls(error=timeout("request did not complete within the allotted timeout"))


@dataclass(frozen=True, slots=True)
class WatchFault:
    """What becomes of one event of one watch. The parts may be combined.

    Attributes:
        drop: it is never sent.
        repeat: how often it is sent once more.
        lag: seconds that it, and all after it, are held back.
        cut: the connection breaks here; what was not yet read is lost.
        end: the server ends the watch after it.
        expire: the server says 410 after it.
    """

    drop: bool = False
    repeat: int = 0
    lag: float = 0.0
    cut: bool = False
    end: bool = False
    expire: bool = False


RequestHook = Callable[[RequestInfo], Fault | None]
EventHook = Callable[["Watch", "Change", str], WatchFault | None]


class Faults:
    """The hooks of a cluster."""

    def __init__(self) -> None:
        self._requests: dict[RequestHook, None] = {}
        self._events: dict[EventHook, None] = {}

    def at_requests(self, hook: RequestHook) -> Callable[[], None]:
        """Ask `hook` at every request, watches included; returns how to end that. The first fault wins."""
        self._requests[hook] = None
        return lambda: self._requests.pop(hook, None)

    def at_events(self, hook: EventHook) -> Callable[[], None]:
        """Ask `hook` at every event of every watch (watch, change, type as the client sees it)."""
        self._events[hook] = None
        return lambda: self._events.pop(hook, None)

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        self._requests.clear()
        self._events.clear()

    @property
    def watches_requests(self) -> bool:
        """Whether any hook wants to be asked."""
        return bool(self._requests)

    @property
    def watches_events(self) -> bool:
        """Whether any hook wants to be asked."""
        return bool(self._events)

    def on_request(self, info: RequestInfo) -> Fault | None:
        """What becomes of a request."""
        return next((fault for hook in list(self._requests) if (fault := hook(info))), None)

    def on_event(self, watch: Watch, change: Change, kind: str) -> WatchFault | None:
        """What becomes of an event."""
        return next((fault for hook in list(self._events) if (fault := hook(watch, change, kind))), None)


async def before(fault: Fault) -> None:
    """What happens before the request has its effect.

    Raises StatusError, ConnectionLost.
    """
    if fault.delay:
        await asyncio.sleep(fault.delay)
    if fault.lose_request:
        raise ConnectionLost("connection reset by peer")
    if fault.hang and not fault.lose_answer:
        await asyncio.get_running_loop().create_future()
    if fault.error is not None:
        raise fault.error


async def after(fault: Fault) -> None:
    """What happens between the effect and the answer.

    Raises ConnectionLost.
    """
    if fault.answer_delay:
        await asyncio.sleep(fault.answer_delay)
    if fault.lose_answer:
        if fault.hang:
            await asyncio.get_running_loop().create_future()
        raise ConnectionLost("connection reset by peer")
