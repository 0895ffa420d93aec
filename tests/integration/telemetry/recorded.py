"""Spans as OpenTelemetry's own in-memory exporter has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from openclaw.telemetry.otel import SdkExport
from openclaw.telemetry.spans import Span
from openclaw.telemetry.tracing import RecordingTracer

Shape = tuple[str, list[Any]]


class Recorded:
    """Exports at once and in the same thread, so that what has ended can be seen.

    Attributes:
        tracer: to give to a manager.
    """

    def __init__(self, sampler: Callable[[int, str], bool] = lambda _id, _name: True, **options: Any) -> None:
        self._exporter = InMemorySpanExporter()
        self._export = SdkExport(self._exporter, Resource.get_empty())
        self.drops: list[tuple[str, int]] = []
        self.tracer = RecordingTracer(
            self, sampler, on_drop=lambda reason, count: self.drops.append((reason, count)), **options
        )

    def put(self, spans: Sequence[Span]) -> None:
        self._export(spans)

    def close(self, timeout: float) -> None:
        """Nothing waits."""

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def roots(self, prefix: str = "reconcile ") -> list[ReadableSpan]:
        """The roots of that name, in order of their starts."""
        found = [span for span in self.spans if span.parent is None and span.name.startswith(prefix)]
        return sorted(found, key=lambda span: span.start_time or 0)

    def runs(self, name: str) -> list[ReadableSpan]:
        """The runs of the object of this name."""
        return [root for root in self.roots() if attributes(root)["openclaw.object.name"] == name]

    def because(self, name: str, reason: str) -> list[ReadableSpan]:
        """The runs of the object that this led to.

        A child's event may come before the answer to the write that caused it: there may be one run more.
        """
        return [root for root in self.runs(name) if reason in attributes(root)["openclaw.reasons"]]

    def children(self, parent: ReadableSpan) -> list[ReadableSpan]:
        found = [span for span in self.spans if span.parent and span.parent.span_id == ids(parent)[1]]
        return sorted(found, key=lambda span: span.start_time or 0)

    def child(self, parent: ReadableSpan, name: str) -> ReadableSpan:
        (found,) = (span for span in self.children(parent) if span.name == name)
        return found

    def shape(self, span: ReadableSpan) -> Shape:
        """The names of a span and of what is under it."""
        return span.name, [self.shape(child) for child in self.children(span)]


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def ids(span: ReadableSpan) -> tuple[int, int]:
    """Trace and span id."""
    assert span.context is not None
    return span.context.trace_id, span.context.span_id


def links(span: ReadableSpan) -> list[tuple[str, tuple[int, int]]]:
    """Of each link the cause, and which span it names."""
    return [
        (str((link.attributes or {})["openclaw.cause"]), (link.context.trace_id, link.context.span_id))
        for link in span.links
    ]
