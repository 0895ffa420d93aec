"""Spans as they are recorded: light objects, without a library.

A span site asks for a child of the current span. Outside of a recorded trace the current span is `NO_SPAN`,
all of whose methods do nothing: a site costs a look at a context variable. Within one, a span is a small
object; it becomes one of OpenTelemetry's only when its trace is kept, on the exporter's thread.
"""

from __future__ import annotations

import asyncio
import enum
import re
from contextvars import ContextVar, Token
from random import getrandbits as random_bits
from time import time_ns
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self

from openclaw.telemetry.redact import redact_text

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "NO_SPAN",
    "TRACEPARENT_ANNOTATION",
    "Attribute",
    "Link",
    "NoSpan",
    "Span",
    "SpanContext",
    "SpanKind",
    "SpanSink",
    "Trace",
    "child_span",
    "current_span",
    "follow_up",
    "parse_traceparent",
]

TRACEPARENT_ANNOTATION: Final = "tracing.k8s.io/traceparent"
"""Where an object carries the context of the trace that last created or changed it (KEP-5915)."""

_MESSAGE_LIMIT: Final = 256
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")

Attribute = str | int | float | bool | tuple[str, ...]


class SpanKind(enum.IntEnum):
    """OpenTelemetry's kinds, with their numbers in its protocol."""

    INTERNAL = 1
    CLIENT = 3
    CONSUMER = 5


_INTERNAL: Final = SpanKind.INTERNAL


class SpanContext(NamedTuple):
    """Which span, of this process or another one."""

    trace_id: int
    span_id: int
    sampled: bool


class Link(NamedTuple):
    """A span that led to this one, and how: `retry`, `Deployment updated`."""

    context: SpanContext
    cause: str


class SpanSink(Protocol):
    """Who takes finished traces and is told of what was left out."""

    spans_per_trace: int
    """Children of one trace beyond these are dropped."""

    def decide(self, trace: Trace) -> bool:
        """Say once and for all whether the trace is kept; its root is about to end."""

    def finished(self, spans: list[Span]) -> None:
        """A trace that is kept has ended; its root is the last one."""

    def dropped(self, reason: str, count: int) -> None:
        """So many spans were not recorded."""


class Span:
    """One operation. Use it as a context manager: within the block it is the current span.

    Attributes:
        recording: true; `NoSpan` has false. Ask before work that is only for the span.
        trace: what it belongs to; its first span, which is this one where it is the root.
        start: nanoseconds since 1970; `end` the same, 0 while it goes on.
        error: the class of the error that ended it, or None.
        subject: what it is about, for whoever completes its attributes at the end.
    """

    recording: Final = True
    # On the class, as most spans leave most of these as they are.
    attributes: dict[str, Attribute] | None = None
    events: list[tuple[int, str, dict[str, Attribute]]] | None = None
    links: list[Link] | None = None
    error: str | None = None
    message: str = ""
    subject: Any = None
    end: int = 0
    _token: Token[Span | NoSpan] | None = None

    def __init__(self, trace: Trace, parent_id: int, name: str, kind: SpanKind) -> None:
        self.trace = trace
        self.parent_id = parent_id
        self.span_id = random_bits(64)
        self.name = name
        self.kind = kind
        self.start = time_ns()

    def __enter__(self) -> Self:
        self._token = _enter(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            _leave(self._token)
            self._token = None
        if error is not None:
            self.fail(error)
        self.finish()

    def child(self, name: str, kind: SpanKind = SpanKind.INTERNAL) -> Span | NoSpan:
        """Begin a span under this one."""
        trace = self.trace
        if not trace.kept and kind is _INTERNAL:
            return NO_SPAN  # most of these are dropped with their trace: only what went out is worth its cost
        trace.begun += 1
        if trace.over or trace.begun > trace.sink.spans_per_trace:
            if trace.kept:
                trace.sink.dropped("late" if trace.over else "limit", 1)
            return NO_SPAN
        return Span(trace, self.span_id, name, kind)

    def set(self, name: str, value: Attribute) -> None:
        """Set an attribute. Never a secret, never a body."""
        if self.attributes is None:
            self.attributes = {}
        self.attributes[name] = value

    def event(self, name: str, attributes: dict[str, Attribute]) -> None:
        """Add something that happened at this moment."""
        if self.events is None:
            self.events = []
        self.events.append((time_ns(), name, attributes))

    def link(self, context: SpanContext, cause: str) -> None:
        """Name a span that led to this one."""
        if self.links is None:
            self.links = []
        self.links.append(Link(context, cause))

    def fail(self, error: BaseException) -> None:
        """Record the error that ends it: its class and its text, without secrets. Cancelled is no error."""
        if isinstance(error, asyncio.CancelledError):
            self.set("openclaw.cancelled", True)
            return
        self.error = type(error).__name__
        self.set("error.type", self.error)
        try:
            self.message = redact_text(str(error))[:_MESSAGE_LIMIT]
        except Exception:  # noqa: BLE001 - an error whose text cannot be had is still an error
            self.message = ""

    def finish(self) -> None:
        """It ends now; the root's end completes the trace. A second call does nothing."""
        if self.end:
            return
        self.end = time_ns()
        trace = self.trace
        if not trace.over:
            trace.ended.append(self)
        elif trace.kept:
            trace.sink.dropped("late", 1)

    @property
    def context(self) -> SpanContext:
        """What others need to refer to it."""
        return SpanContext(self.trace.trace_id, self.span_id, self.trace.sampled)

    def settle(self) -> bool:
        """Whether its trace is kept, if it is the root and about to end. Ask before completing it."""
        return self.trace.settle()

    def about(self, subject: object) -> None:
        """Say what it is about."""
        self.subject = subject

    @property
    def sampled(self) -> bool:
        """Whether it is exported whatever comes."""
        return self.trace.sampled

    @property
    def root(self) -> Span | NoSpan:
        """The first span of its trace, while that goes on."""
        trace = self.trace
        return NO_SPAN if trace.over else trace

    @property
    def traceparent(self) -> str:
        """W3C's form of its context."""
        trace = self.trace
        return f"00-{trace.trace_id:032x}-{self.span_id:016x}-{'01' if trace.sampled else '00'}"

    @property
    def ids(self) -> Mapping[str, str]:
        """Trace and span id for logs and exemplars; empty unless it is sampled."""
        trace = self.trace
        if not trace.sampled:
            return {}
        return {"trace_id": f"{trace.trace_id:032x}", "span_id": f"{self.span_id:016x}"}


class Trace(Span):
    """A trace under way: its root, in which its other spans are gathered until it ends.

    Attributes:
        sampled: decided when it began, and told to others.
        kept: whether it is exported; sampled ones are, of others it is `decided` at the end.
        begun: spans under the root so far.
        ended: those of them that have ended; empty once it is `over`.
    """

    # A span that held itself would be left to the garbage collector, once a run.
    trace = property(lambda self: self)
    sampled: bool = False
    begun: int = 0
    over: bool = False

    def __init__(
        self,
        sink: SpanSink,
        trace_id: int,
        name: str,
        kind: SpanKind,
        *,
        sampled: bool,
        parent_id: int = 0,
    ) -> None:
        self.sink = sink
        self.trace_id = trace_id
        self.sampled = self.kept = self.decided = sampled
        self.ended: list[Span] = []
        self.parent_id = parent_id
        self.span_id = random_bits(64)
        self.name = name
        self.kind = kind
        self.start = time_ns()

    def settle(self) -> bool:
        """See `Span.settle`. What takes place afterwards is no more part of it."""
        if not self.decided:
            self.end = time_ns()
            self.sink.decide(self)
        return self.kept

    def finish(self) -> None:
        """See `Span.finish`."""
        if self.over:
            return
        self.end = self.end or time_ns()
        kept = self.kept if self.decided else self.sink.decide(self)
        self.over = True
        if kept:
            self.sink.finished([*self.ended, self])
        self.ended.clear()  # it would hold them, and they it


class NoSpan:
    """A span of which nothing is kept; there is one, `NO_SPAN`."""

    __slots__ = ()
    recording: Final = False
    sampled: Final = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing."""

    def child(self, name: str, kind: SpanKind = SpanKind.INTERNAL) -> NoSpan:  # noqa: ARG002 - as Span's
        """Itself."""
        return self

    def set(self, name: str, value: Attribute) -> None:
        """Do nothing."""

    def event(self, name: str, attributes: dict[str, Attribute]) -> None:
        """Do nothing."""

    def link(self, context: SpanContext, cause: str) -> None:
        """Do nothing."""

    def fail(self, error: BaseException) -> None:
        """Do nothing."""

    def finish(self) -> None:
        """Do nothing."""

    def about(self, subject: object) -> None:
        """Do nothing."""

    @property
    def root(self) -> NoSpan:
        """Itself."""
        return self

    @property
    def ids(self) -> Mapping[str, str]:
        """Empty."""
        return {}


NO_SPAN: Final = NoSpan()

_current: ContextVar[Span | NoSpan] = ContextVar("openclaw_span", default=NO_SPAN)
_enter, _leave = _current.set, _current.reset


def current_span() -> Span | NoSpan:
    """The span that goes on here; `NO_SPAN` where nothing is recorded."""
    return _current.get()


def child_span(name: str, kind: SpanKind = SpanKind.INTERNAL) -> Span | NoSpan:
    """Begin a span under the current one, for a `with` block."""
    return _current.get().child(name, kind)


def follow_up(origin: Span | NoSpan, name: str) -> Span | NoSpan:
    """Begin a span under one that may have ended: work that it left to the background.

    It is exported with what is under it when its own block ends; nothing is recorded when the trace of
    `origin` was not kept.
    """
    if not isinstance(origin, Span) or not origin.trace.kept:
        return NO_SPAN
    trace = origin.trace
    span = Trace(
        trace.sink,
        trace.trace_id,
        name,
        SpanKind.INTERNAL,
        sampled=trace.sampled,
        parent_id=origin.span_id,
    )
    span.kept = span.decided = True
    return span


def parse_traceparent(text: str) -> SpanContext | None:
    """The context that a W3C `traceparent` names; None when it is none, as anybody may write anything."""
    match = _TRACEPARENT.fullmatch(text)
    if match is None or text.startswith("ff"):
        return None
    trace_id, span_id = int(match[1], 16), int(match[2], 16)
    if not trace_id or not span_id:
        return None
    return SpanContext(trace_id, span_id, bool(int(match[3], 16) & 1))
