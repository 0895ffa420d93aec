"""Whether and which traces are recorded, and where they go.

The runtime knows a `Tracer` and the spans of `openclaw.telemetry.spans`, no more. What is in
`openclaw.telemetry.otel` (the only file that imports OpenTelemetry) is loaded when tracing is on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from random import getrandbits as random_bits
from typing import Final, Protocol

from openclaw.telemetry.spans import NO_SPAN, NoSpan, Span, SpanKind, Trace

__all__ = ["NO_TRACING", "NoTracing", "RecordingTracer", "SpanQueue", "Tracer", "wants_tracing"]

DROP_REASONS: Final = ("queue", "export", "limit", "late", "rate", "stop")
"""Why spans are dropped: the exporter's queue was full; the collector did not take them; more children than
a trace may have; they ended after their root; more failed or slow runs than are kept a second; the process
stopped before they were sent."""

_SPANS_PER_TRACE: Final = 128


class Tracer(Protocol):
    """Begins traces."""

    @property
    def enabled(self) -> bool:
        """Whether anything may be recorded."""

    def start(self, name: str, kind: SpanKind = SpanKind.INTERNAL) -> Span | NoSpan:
        """Begin a trace; its root, or `NO_SPAN`. The sampling decision is taken here, once."""

    def close(self, timeout: float) -> None:
        """Send what is queued, `timeout` seconds at most. Blocks: call it from a thread."""


class NoTracing:
    """Tracing is off."""

    enabled: Final = False

    def start(self, name: str, kind: SpanKind = SpanKind.INTERNAL) -> NoSpan:  # noqa: ARG002 - the protocol
        """`NO_SPAN`."""
        return NO_SPAN

    def close(self, timeout: float) -> None:
        """Do nothing."""


NO_TRACING: Final = NoTracing()


class SpanQueue(Protocol):
    """Where kept traces go; must not block."""

    def put(self, spans: Sequence[Span]) -> None:
        """Take the ended spans of one trace."""

    def close(self, timeout: float) -> None:
        """Send what is queued, `timeout` seconds at most."""


class RecordingTracer:
    """Records traces and decides which are kept.

    Kept is what the sampler chose when the trace began and, besides, traces whose root failed or was slow:
    those have been recorded all the same, in a buffer of `spans_per_trace` spans that is dropped when the
    root ends. Such traces are limited to `kept_per_second`, so that an outage does not become a flood.

    Args:
        queue: takes the kept traces.
        sampler: whether the trace of this id and name is sampled.
        keep_errors: keep failed ones that were not sampled.
        slow_seconds: keep those that took longer; None keeps none for that.
        kept_per_second: most unsampled traces kept in a second.
        on_drop: told why and how many spans were dropped.
    """

    enabled: Final = True

    def __init__(
        self,
        queue: SpanQueue,
        sampler: Callable[[int, str], bool],
        *,
        keep_errors: bool = True,
        slow_seconds: float | None = 5.0,
        kept_per_second: float = 10.0,
        spans_per_trace: int = _SPANS_PER_TRACE,
        on_drop: Callable[[str, int], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.spans_per_trace = spans_per_trace
        self._queue = queue
        self._sampler = sampler
        self._keep_errors = keep_errors
        self._slow = None if slow_seconds is None else int(slow_seconds * 1e9)
        self._keeps = keep_errors or slow_seconds is not None
        self._rate = kept_per_second
        self._tokens = kept_per_second
        self._clock = clock
        self._at = clock()
        self._on_drop = on_drop

    def start(self, name: str, kind: SpanKind = SpanKind.INTERNAL) -> Span | NoSpan:
        """Begin a trace, see `Tracer`."""
        trace_id = random_bits(128)
        sampled = self._sampler(trace_id, name)
        if not sampled and not self._keeps:
            return NO_SPAN
        return Trace(self, trace_id, name, kind, sampled=sampled)

    def decide(self, trace: Trace) -> bool:
        """Whether the trace is kept, given how its root ends."""
        if not trace.decided:
            trace.decided = True
            slow = self._slow is not None and trace.end - trace.start > self._slow
            if slow or (trace.error is not None and self._keep_errors):
                trace.kept = self._allowed()
                if not trace.kept:
                    self.dropped("rate", trace.begun + 1)
        return trace.kept

    def finished(self, spans: list[Span]) -> None:
        """Queue a trace that is kept."""
        self._queue.put(spans)

    def dropped(self, reason: str, count: int) -> None:
        """Count what was not recorded or not kept."""
        if self._on_drop is not None:
            self._on_drop(reason, count)

    def close(self, timeout: float) -> None:
        """Send what is queued, see `Tracer`."""
        self._queue.close(timeout)

    def _allowed(self) -> bool:
        now = self._clock()
        self._tokens = min(max(self._rate, 1.0), self._tokens + (now - self._at) * self._rate)
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


def wants_tracing(environment: Mapping[str, str] | None = None, *, asked: bool | None = None) -> bool:
    """Whether OpenTelemetry's variables, or `asked`, turn tracing on.

    `OTEL_SDK_DISABLED=true` and `OTEL_TRACES_EXPORTER=none` turn it off whatever else is said.
    """
    environment = os.environ if environment is None else environment
    exporter = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true" or exporter == "none":
        return False
    if asked is not None:
        return asked
    return bool(
        exporter
        or environment.get("OTEL_EXPORTER_OTLP_ENDPOINT")
        or environment.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    )
