"""Traces as a Jaeger gives them back: who called whom, and what led to what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

__all__ = ["Link", "Trace", "TraceSpan", "parse_traces"]

Value = str | int | float | bool | tuple["Value", ...]

_CLIENT: Final = 3
_FAILED: Final = 2
_SCALARS: Final[Mapping[str, Callable[[Any], Value]]] = {
    "stringValue": str,
    "intValue": int,
    "doubleValue": float,
    "boolValue": bool,
}


class Link(NamedTuple):
    """A span that led to this one.

    Attributes:
        trace_id, span_id: which.
        cause: how it did, the operator's `openclaw.cause`.
    """

    trace_id: str
    span_id: str
    cause: str


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """One operation.

    Attributes:
        service: whose it is: `openclaw`, `apiserver`.
        trace_id, span_id, parent_id: in hexadecimal digits; a root has no parent, and "".
        call: whether it is a request to something else, as its sender sees it.
        step: whether it is neither a request nor an answer to one.
        start, end: nanoseconds since 1970.
        events: what happened meanwhile, each with its attributes.
        error: what it failed with; None where it did not, "" where that is not said.
    """

    name: str
    service: str
    trace_id: str
    span_id: str
    parent_id: str
    call: bool
    step: bool
    start: int
    end: int
    attributes: Mapping[str, Value]
    links: tuple[Link, ...]
    events: tuple[tuple[str, Mapping[str, Value]], ...]
    error: str | None

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.end - self.start) / 1e9


@dataclass(frozen=True, slots=True)
class Trace:
    """Spans of one trace id, those that begin earlier first."""

    spans: tuple[TraceSpan, ...]
    _children: dict[str, list[TraceSpan]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        children = defaultdict(list)
        for span in self.spans:
            children[span.parent_id].append(span)
        object.__setattr__(self, "_children", dict(children))

    @property
    def root(self) -> TraceSpan:
        """The span without a parent.

        Raises:
            LookupError: it is not there (yet): it arrives last.
        """
        for span in self._children.get("", ()):
            return span
        raise LookupError(f"trace {self.spans[0].trace_id} has no root (yet)")

    def children(self, span: TraceSpan) -> list[TraceSpan]:
        """What is right under it."""
        return self._children.get(span.span_id, [])

    def under(self, span: TraceSpan) -> Iterator[TraceSpan]:
        """All that is under it, each before what is under itself."""
        for child in self.children(span):
            yield child
            yield from self.under(child)

    def named(self, name: str, service: str | None = None) -> list[TraceSpan]:
        """The spans of this name, of any service or of this one."""
        return [span for span in self.spans if span.name == name and service in (None, span.service)]


def parse_traces(document: Mapping[str, Any]) -> list[Trace]:
    """The traces in a document of OTLP's JSON form, the earliest first."""
    spans = defaultdict(list)
    for resource in document.get("resourceSpans", ()):
        service = str(_attributes(resource.get("resource", {})).get("service.name", ""))
        for scope in resource.get("scopeSpans", ()):
            for span in scope.get("spans", ()):
                spans[span["traceId"]].append(_span(service, span))
    traces = [Trace(tuple(sorted(found, key=lambda span: span.start))) for found in spans.values()]
    return sorted(traces, key=lambda trace: trace.spans[0].start)


def _span(service: str, span: Mapping[str, Any]) -> TraceSpan:
    status = span.get("status") or {}
    return TraceSpan(
        name=span["name"],
        service=service,
        trace_id=span["traceId"],
        span_id=span["spanId"],
        parent_id=span.get("parentSpanId", ""),
        call=span.get("kind") == _CLIENT,
        step=span.get("kind", 1) <= 1,
        start=int(span["startTimeUnixNano"]),
        end=int(span["endTimeUnixNano"]),
        attributes=_attributes(span),
        links=tuple(_links(span.get("links") or ())),
        events=tuple((event["name"], _attributes(event)) for event in span.get("events") or ()),
        error=str(status.get("message", "")) if status.get("code") == _FAILED else None,
    )


def _links(links: Iterable[Mapping[str, Any]]) -> Iterator[Link]:
    for link in links:
        yield Link(link["traceId"], link["spanId"], str(_attributes(link).get("openclaw.cause", "")))


def _attributes(holder: Mapping[str, Any]) -> dict[str, Value]:
    return {it["key"]: _value(it.get("value") or {}) for it in holder.get("attributes") or ()}


def _value(value: Mapping[str, Any]) -> Value:
    for name, convert in _SCALARS.items():
        if name in value:
            return convert(value[name])
    return tuple(_value(it) for it in (value.get("arrayValue") or {}).get("values", ()))
