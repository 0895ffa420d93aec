"""One call to an external system, with everything around it.

In this order, from outside: span and metric, a place among the calls under way, credentials, the limit, the
fence (writes), the breaker, the deadline. What is held back here was not sent, costs the system nothing, and
is no outage. Reads are tried again, a few times; a write is not: its reconcile goes back to the queue, and
looks before it acts again.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from openclaw.providers.credentials.source import RefreshingSource
from openclaw.providers.descriptors import Target
from openclaw.providers.errors import (
    ExternalThrottled,
    ExternalTransient,
    ExternalUnauthorised,
    ProviderError,
)
from openclaw.providers.protocol import Fence
from openclaw.providers.resilience.account import Account
from openclaw.providers.resilience.breaker import BreakerOpen
from openclaw.providers.resilience.metrics import ExternalMetrics
from openclaw.providers.resilience.settings import ResilienceSettings
from openclaw.telemetry.spans import NoSpan, Span, SpanKind, child_span

__all__ = ["Deadline", "Guard"]

T = TypeVar("T")

# Whatever a system asks for: an object that nobody looks at for days would be forgotten.
_LONGEST_WAIT: Final = 900.0


class Deadline(ExternalTransient):
    """No answer came within the call's deadline."""

    result = "deadline"


class Guard:
    """Makes the calls to one target.

    Args:
        provider: the provider's name.
        target: where its calls go.
        account: what they share with others of the account.
        settings: deadlines and attempts.
        metrics: counts them.
        source: where the provider's credentials are from: they are fetched before each call, and anew when
            the system takes them for expired.
    """

    def __init__(
        self,
        provider: str,
        target: Target,
        account: Account,
        settings: ResilienceSettings,
        metrics: ExternalMetrics,
        *,
        source: RefreshingSource | None = None,
    ) -> None:
        self.provider = provider
        self.target = target
        self.settings = settings
        self._account = account
        self._bucket = account.bucket(target.region)
        self._metrics = metrics
        self._source = source

    @property
    def metrics(self) -> ExternalMetrics:
        """What counts its calls."""
        return self._metrics

    def admit(self, operation: str) -> None:
        """Return, if a call would be sent now; takes nothing. A refusal is told as that call's end.

        Args:
            operation: a word for spans and metrics.

        Raises:
            ExternalThrottled: it would be held back, and for how long.
            BreakerOpen: the account's breaker is open.
        """
        try:
            self._account.breaker.check()
            self._account.check_place()
            if self._bucket.would_wait() > 0:
                raise self._held_back(self._bucket.turn_away())
        except ProviderError:
            with self._told(operation):
                raise

    async def read(self, operation: str, call: Callable[[], Awaitable[T]]) -> T:
        """A call without an effect, tried again while it fails by what may pass by itself.

        Args:
            operation: a word for spans and metrics.
            call: makes one attempt.

        Raises:
            ProviderError: the last attempt's; `Deadline` where no answer came.
        """
        for attempt in range(1, self.settings.read_attempts + 1):
            try:
                return await self._fresh(operation, call, self.settings.read_deadline, None)
            except BreakerOpen:
                raise
            except ExternalTransient as error:
                if attempt == self.settings.read_attempts or error.retry_after is not None:
                    raise
            await asyncio.sleep(self.settings.retry_delay * 2 ** (attempt - 1) * random.uniform(0.5, 1.5))
        raise AssertionError("the last attempt returns or raises")

    async def write(
        self, operation: str, call: Callable[[], Awaitable[T]], *, fence: Fence | None = None
    ) -> T:
        """A call with an effect, sent once.

        Args:
            operation: a word for spans and metrics.
            call: makes it.
            fence: asked right before it is sent.

        Raises:
            ProviderError: as the call's; `Deadline`, with `outcome_unknown`, where no answer came.
            Exception: the fence's.
        """
        return await self._fresh(operation, call, self.settings.write_deadline, fence)

    async def _fresh(
        self, operation: str, call: Callable[[], Awaitable[T]], seconds: float, fence: Fence | None
    ) -> T:
        """One call; a second one where the credentials had just expired: refused, it had no effect."""
        try:
            return await self._call(operation, call, seconds, fence)
        except ExternalUnauthorised as error:
            if not error.expired or self._source is None or not self._source.refused():
                raise
        return await self._call(operation, call, seconds, fence)

    async def _call(
        self, operation: str, call: Callable[[], Awaitable[T]], seconds: float, fence: Fence | None
    ) -> T:
        with self._told(operation) as sent:
            return await self._admitted(sent, call, seconds, fence)

    @contextmanager
    def _told(self, operation: str) -> Iterator[_Sent]:
        """The span and the count of one call."""
        target = self.target
        with child_span(f"{self.provider} {operation}", SpanKind.CLIENT) as span:
            if isinstance(span, Span):
                span.set("openclaw.external.provider", self.provider)
                span.set("openclaw.external.operation", operation)
                span.set("openclaw.external.account", target.account)
                span.set("openclaw.external.region", target.region)
            call_of = _Sent(self._metrics, self.provider, target, operation, span)
            try:
                yield call_of
            except ExternalThrottled as error:
                call_of.ended("held_back" if error.local else error.result)
                self._metrics.waited(self.provider, target, error.retry_after or 0.0, local=error.local)
                span.set("openclaw.external.throttle_wait", round(error.retry_after or 0.0, 3))
                raise
            except ProviderError as error:
                if error.retry_after is not None:
                    error.retry_after = min(error.retry_after, _LONGEST_WAIT)
                call_of.ended(error.result)
                raise
            except asyncio.CancelledError:
                call_of.ended("cancelled")
                raise
            except BaseException:
                call_of.ended("error" if call_of.sent else "refused")
                raise
            finally:
                span.set("openclaw.external.breaker", self._account.breaker.state.name.lower())

    async def _admitted(
        self, sent: _Sent, call: Callable[[], Awaitable[T]], seconds: float, fence: Fence | None
    ) -> T:
        breaker = self._account.breaker
        with self._account.place():
            breaker.check()  # before a token is taken for nothing
            if self._source is not None:
                # Here, so that whoever gives the credentials and does not answer is no outage of the system.
                await self._source.fetch()
            wait = await self._bucket.take()
            if wait > 0:
                raise self._held_back(wait)
            if fence is not None and (allowed := fence.check()) is not None:
                seconds = min(seconds, allowed)
            with breaker.call():
                sent.begin()
                try:
                    answer = await self._within(call, seconds, sent.operation)
                except ExternalThrottled as error:
                    if not error.local:
                        error.retry_after = await self._bucket.complained(error.retry_after)
                    raise
            sent.ended("success")
            return answer

    async def _within(self, call: Callable[[], Awaitable[T]], seconds: float, operation: str) -> T:
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await call()
        except TimeoutError as error:
            if not limit.expired():
                # A timeout within the provider that it did not make an error of its own.
                raise Deadline(f"{self.provider} {operation}: timed out") from error
            raise Deadline(f"{self.provider} {operation}: no answer within {seconds:g} s") from error

    def _held_back(self, wait: float) -> ExternalThrottled:
        return ExternalThrottled(
            f"{self.provider} of account {self.target.account} is called as often as it may be "
            f"({self._bucket.rate:g} calls a second)",
            retry_after=wait,
            local=True,
        )


class _Sent:
    """One call's end, told once."""

    __slots__ = ("_metrics", "_provider", "_span", "_started", "_target", "_told", "operation")

    def __init__(
        self,
        metrics: ExternalMetrics,
        provider: str,
        target: Target,
        operation: str,
        span: Span | NoSpan,
    ) -> None:
        self._metrics = metrics
        self._provider = provider
        self._target = target
        self._span = span
        self._started: float | None = None
        self._told = False
        self.operation = operation

    @property
    def sent(self) -> bool:
        return self._started is not None

    def begin(self) -> None:
        self._started = time.monotonic()

    def ended(self, result: str) -> None:
        if self._told:
            return
        self._told = True
        seconds = None if self._started is None else time.monotonic() - self._started
        self._metrics.called(self._provider, self._target, self.operation, result, seconds)
        self._span.set("openclaw.external.result", result)
