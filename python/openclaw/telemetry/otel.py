"""OpenTelemetry's SDK: its samplers, its resource, its exporters. The only file that imports it.

Loaded when tracing is on. Spans are recorded by `openclaw.telemetry.spans` and become the SDK's own here,
where one of its exporters wants them.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace as api
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import Decision, Sampler, StaticSampler, TraceIdRatioBased
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link as OtelLink
from opentelemetry.trace import Status, StatusCode, TraceFlags

from openclaw.telemetry.otlp import Endpoint, OtlpJson
from openclaw.telemetry.spanqueue import ExportError, ThreadedSpanQueue
from openclaw.telemetry.spans import Span, SpanContext
from openclaw.telemetry.tracing import RecordingTracer

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.sampling import SamplingResult

__all__ = ["SdkExport", "resource_from_environment", "sampler_from_environment", "tracer_from_environment"]

_SERVICE: Final = "openclaw"
_SCOPE: Final = InstrumentationScope("openclaw")


def tracer_from_environment(
    *, on_drop: Callable[[str, int], None], environment: Mapping[str, str] | None = None
) -> RecordingTracer:
    """A tracer as the `OTEL_*` and `OPENCLAW_TRACES_*` variables describe it, see docs/tracing.md.

    Raises:
        ValueError: names the variable that cannot be used.
    """
    environment = os.environ if environment is None else environment
    resource = resource_from_environment(environment)
    queue = ThreadedSpanQueue(
        _export(environment, resource),
        capacity=int(_number(environment, "OTEL_BSP_MAX_QUEUE_SIZE", 2048, least=1)),
        batch=int(_number(environment, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512, least=1)),
        delay=_number(environment, "OTEL_BSP_SCHEDULE_DELAY", 5000, least=1) / 1000,
        on_drop=on_drop,
    )
    slow = environment.get("OPENCLAW_TRACES_SLOW_SECONDS", "").strip().lower()
    return RecordingTracer(
        queue,
        sampler_from_environment(),
        keep_errors=environment.get("OPENCLAW_TRACES_KEEP_ERRORS", "").strip().lower() != "false",
        slow_seconds=None if slow == "none" else _number(environment, "OPENCLAW_TRACES_SLOW_SECONDS", 5.0),
        on_drop=on_drop,
    )


def _number(environment: Mapping[str, str], name: str, default: float, *, least: float = 0) -> float:
    text = environment.get(name, "").strip()
    try:
        value = float(text) if text else default
    except ValueError:
        value = -1.0
    if not value >= least:
        msg = f"{name} {text!r}: expected a number of at least {least:g}"
        raise ValueError(msg)
    return value


def _export(environment: Mapping[str, str], resource: Resource) -> Callable[[Sequence[Span]], None]:
    exporter = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower() or "otlp"
    if exporter == "console":
        return SdkExport(ConsoleSpanExporter(), resource)
    if exporter != "otlp":
        msg = f"OTEL_TRACES_EXPORTER {exporter!r}: expected otlp, console or none"
        raise ValueError(msg)
    protocol = (
        environment.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
        or environment.get("OTEL_EXPORTER_OTLP_PROTOCOL")
        or "http/json"
    ).strip()
    if protocol == "http/json":
        return OtlpJson(Endpoint.from_environment(environment), dict(resource.attributes))
    if protocol == "http/protobuf":
        return SdkExport(_protobuf_exporter(), resource)
    msg = f"OTEL_EXPORTER_OTLP_PROTOCOL {protocol!r}: expected http/json or http/protobuf"
    raise ValueError(msg)


def _protobuf_exporter() -> SpanExporter:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - of an extra
            OTLPSpanExporter,
        )
    except ImportError as error:
        msg = "OTEL_EXPORTER_OTLP_PROTOCOL http/protobuf needs the extra: pip install 'openclaw[tracing]'"
        raise ValueError(msg) from error
    # It writes a line for each attempt; the queue says once what there is to say.
    logging.getLogger("opentelemetry.exporter").setLevel(logging.CRITICAL)
    return OTLPSpanExporter()


def resource_from_environment(environment: Mapping[str, str]) -> Resource:
    """What this process is: `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`, the pod, the host.

    `k8s.namespace.name` is the operator's own, never an object's.
    """
    own = {
        "service.name": _SERVICE,
        "service.instance.id": environment.get("POD_NAME") or socket.gethostname(),
        "k8s.pod.name": environment.get("POD_NAME"),
        "k8s.namespace.name": environment.get("POD_NAMESPACE"),
    }
    given = Resource.create()
    named = given.attributes.get("service.name", "")
    chosen = {
        key: value
        for key, value in given.attributes.items()
        # What the SDK makes up when nobody has named the service.
        if key != "service.name" or not str(named).startswith("unknown_service")
    }
    return Resource({**{key: value for key, value in own.items() if value}, **chosen})


def sampler_from_environment() -> Callable[[int, str], bool]:
    """What `OTEL_TRACES_SAMPLER` names, as a question about the root of a trace."""
    # Asking the SDK costs two microseconds a trace; for its own root samplers the answer is known.
    return _of_root(TracerProvider(resource=Resource.get_empty(), shutdown_on_exit=False).sampler)


def _of_root(sampler: Sampler) -> Callable[[int, str], bool]:
    # Every trace here begins with a root of ours, so of a ParentBased sampler only its root counts.
    sampler = getattr(sampler, "_root", sampler)
    if isinstance(sampler, StaticSampler):
        always = _ask(sampler, 1, "").decision is Decision.RECORD_AND_SAMPLE
        return lambda _trace_id, _name: always
    if isinstance(sampler, TraceIdRatioBased):
        bound, mask = sampler.bound, TraceIdRatioBased.TRACE_ID_LIMIT
        return lambda trace_id, _name: trace_id & mask < bound
    return lambda trace_id, name: _ask(sampler, trace_id, name).decision is Decision.RECORD_AND_SAMPLE


def _ask(sampler: Sampler, trace_id: int, name: str) -> SamplingResult:
    return sampler.should_sample(Context(), trace_id, name, api.SpanKind.CONSUMER)


class SdkExport:
    """Sends batches by one of the SDK's exporters.

    Args:
        exporter: of the SDK.
        resource: what this process is.
    """

    def __init__(self, exporter: SpanExporter, resource: Resource) -> None:
        self._exporter = exporter
        self._resource = resource

    def __call__(self, spans: Sequence[Span]) -> None:
        """Send one batch.

        Raises:
            ExportError: it was not taken.
        """
        result = self._exporter.export([self._readable(span) for span in spans])
        if result is not SpanExportResult.SUCCESS:
            # These try again by themselves.
            msg = f"{type(self._exporter).__name__} failed"
            raise ExportError(msg, passing=False)

    def _readable(self, span: Span) -> ReadableSpan:
        trace = span.trace
        own = _context(span.context)
        parent = SpanContext(trace.trace_id, span.parent_id, trace.sampled) if span.parent_id else None
        return ReadableSpan(
            name=span.name,
            context=own,
            parent=None if parent is None else _context(parent),
            resource=self._resource,
            attributes=span.attributes or {},
            events=[Event(name, attributes, time) for time, name, attributes in span.events or ()],
            links=[
                OtelLink(_context(context, remote=True), {"openclaw.cause": cause})
                for context, cause in span.links or ()
            ],
            # OTLP's numbers are one above the SDK's.
            kind=api.SpanKind(int(span.kind) - 1),
            status=Status(StatusCode.UNSET)
            if span.error is None
            else Status(StatusCode.ERROR, span.message or span.error),
            start_time=span.start,
            end_time=span.end,
            instrumentation_scope=_SCOPE,
        )


def _context(context: SpanContext, *, remote: bool = False) -> Any:
    return api.SpanContext(
        context.trace_id, context.span_id, is_remote=remote, trace_flags=TraceFlags(int(context.sampled))
    )
