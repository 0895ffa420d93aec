"""From ended spans to a collector: the encoding, the queue, collectors that are away or hang."""

from __future__ import annotations

import base64
import gc
import gzip
import http.server
import json
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Encoded

from openclaw.telemetry.otel import (
    resource_from_environment,
    sampler_from_environment,
    tracer_from_environment,
)
from openclaw.telemetry.otlp import Endpoint, OtlpJson, encode
from openclaw.telemetry.spanqueue import ExportError, ThreadedSpanQueue
from openclaw.telemetry.spans import Span, SpanContext, SpanKind, child_span
from openclaw.telemetry.tracing import RecordingTracer

DEADLINE = 30.0


class Gather:
    """A queue that keeps."""

    def __init__(self) -> None:
        self.spans: list[Span] = []

    def put(self, spans: Sequence[Span]) -> None:
        self.spans += spans

    def close(self, timeout: float) -> None:
        """Nothing waits."""


def make_spans(count: int = 2) -> list[Span]:
    """A root and its children."""
    gather = Gather()
    tracer = RecordingTracer(gather, lambda _id, _name: True)
    with tracer.start("reconcile a/B", SpanKind.CONSUMER) as root:
        for _ in range(count - 1):
            with child_span("PATCH things", SpanKind.CLIENT) as child:
                child.set("http.response.status_code", 409)
                child.fail(ValueError("lost"))
        root.link(SpanContext(5, 6, True), "failed")
        root.event("changed", {"openclaw.path": "~ spec.a"})
        for name, value in {"s": "ä\ud800", "i": 2**40, "f": 0.5, "b": True, "l": ("x", "y")}.items():
            root.set(name, value)  # type: ignore[arg-type]
    return gather.spans


def decode(body: bytes) -> ExportTraceServiceRequest:
    """As a collector reads it: ids are hexadecimal there, which protobuf's own JSON does not know."""

    def ids(value: Any) -> Any:
        if isinstance(value, list):
            return [ids(item) for item in value]
        if isinstance(value, dict):
            return {
                key: base64.b64encode(bytes.fromhex(item)).decode()
                if key in ("traceId", "spanId", "parentSpanId")
                else ids(item)
                for key, item in value.items()
            }
        return value

    request = ExportTraceServiceRequest()
    json_format.Parse(json.dumps(ids(json.loads(body))), request)
    return request


def test_the_encoding_is_that_of_the_protocol() -> None:
    child, root = make_spans()
    request = decode(encode([child, root], {"service.name": "openclaw"}))
    (resource,) = request.resource_spans
    assert [(it.key, it.value.string_value) for it in resource.resource.attributes] == [
        ("service.name", "openclaw")
    ]
    a, b = resource.scope_spans[0].spans
    assert (a.name, a.kind, b.kind) == (
        "PATCH things",
        Encoded.SpanKind.SPAN_KIND_CLIENT,
        Encoded.SpanKind.SPAN_KIND_CONSUMER,
    )
    assert a.parent_span_id == b.span_id
    assert a.trace_id == b.trace_id == root.trace.trace_id.to_bytes(16, "big")
    assert not b.parent_span_id
    assert (b.start_time_unix_nano, b.end_time_unix_nano) == (root.start, root.end)
    assert (a.status.code, a.status.message) == (2, "lost")
    assert b.status.code == 0
    values = {it.key: it.value for it in b.attributes}
    assert values["s"].string_value == "ä?"
    assert (values["i"].int_value, values["f"].double_value, values["b"].bool_value) == (2**40, 0.5, True)
    assert [it.string_value for it in values["l"].array_value.values] == ["x", "y"]
    (link,) = b.links
    assert (link.trace_id[-1], link.span_id[-1]) == (5, 6)
    assert b.events[0].name == "changed"


class Collector:
    """A collector on loopback.

    Attributes:
        bodies: what came, decompressed, and the headers with it.
        answer: the code that it answers with.
        hang: accept and never answer, while this is clear.
    """

    def __init__(self) -> None:
        self.bodies: list[tuple[bytes, Any]] = []
        self.answer = 200
        self.go_on = threading.Event()
        self.go_on.set()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.go_on.wait(DEADLINE)
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.bodies.append((body, self.headers))
                try:
                    self.send_response(collector.answer)
                    self.end_headers()
                except OSError:
                    pass  # the other side has given up

            def log_message(self, *_: Any) -> None:
                """Quiet."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1/traces"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self._thread.start()

    def stop(self) -> None:
        self.go_on.set()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


@pytest.fixture
def collector() -> Iterator[Collector]:
    started = Collector()
    yield started
    started.stop()


def until(check: Callable[[], Any]) -> None:
    event = threading.Event()
    for _ in range(int(DEADLINE / 0.01)):
        if check():
            return
        event.wait(0.01)
    raise AssertionError("did not come true")


def test_batches_go_to_the_collector(collector: Collector) -> None:
    endpoint = Endpoint(collector.url, headers={"X-Tenant": "a"}, compress=True)
    drops: list[tuple[str, int]] = []
    queue = ThreadedSpanQueue(
        OtlpJson(endpoint, {"service.name": "x"}),
        delay=600,
        batch=4,
        on_drop=lambda reason, count: drops.append((reason, count)),
    )
    queue.put(make_spans(4))
    until(lambda: len(collector.bodies) == 1)
    queue.put(make_spans(3))
    queue.close(DEADLINE)
    sizes = [len(decode(body).resource_spans[0].scope_spans[0].spans) for body, _ in collector.bodies]
    assert (sizes, queue.exported, drops) == ([4, 3], 7, [])
    assert collector.bodies[0][1]["X-Tenant"] == "a"


@pytest.mark.parametrize(("code", "passing"), [(400, False), (429, True), (503, True), (302, False)])
def test_what_a_collector_may_answer(collector: Collector, code: int, passing: bool) -> None:
    collector.answer = code
    with pytest.raises(ExportError, match=str(code)) as raised:
        OtlpJson(Endpoint(collector.url), {})(make_spans())
    assert raised.value.passing is passing


def test_a_collector_that_hangs_has_its_time_and_no_more(collector: Collector) -> None:
    collector.go_on.clear()
    with pytest.raises(ExportError, match=r"no answer within 0\.1 s") as raised:
        OtlpJson(Endpoint(collector.url, timeout=0.1), {})(make_spans())
    assert not raised.value.passing


def test_nobody_listens(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ExportError, match="refused"):
        OtlpJson(Endpoint("http://127.0.0.1:1/v1/traces"), {})(make_spans())


def test_a_queue_that_cannot_send_is_bounded_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    entered, go_on = threading.Event(), threading.Event()

    def hang(_: Sequence[Span]) -> None:
        entered.set()
        go_on.wait(DEADLINE)
        raise ExportError("nobody there", passing=False)

    drops: list[tuple[str, int]] = []
    queue = ThreadedSpanQueue(
        hang, capacity=20, batch=10, delay=600, on_drop=lambda reason, count: drops.append((reason, count))
    )
    queue.put(make_spans(10))
    assert entered.wait(DEADLINE)
    for _ in range(100):
        queue.put(make_spans(2))
    assert len(queue) == 20
    assert drops == [("queue", 2)] * 90
    go_on.set()
    until(lambda: len(queue) == 0)
    queue.close(DEADLINE)
    assert drops[90:] == [("export", 10)] * 3
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert warnings == ["traces cannot be exported and are dropped; reconciles go on"]


def test_stopping_does_not_wait_for_a_collector_that_hangs(caplog: pytest.LogCaptureFixture) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def hang(_: Sequence[Span]) -> None:
        entered.set()
        go_on.wait(DEADLINE)

    drops: list[tuple[str, int]] = []
    queue = ThreadedSpanQueue(
        hang, batch=1, delay=600, on_drop=lambda reason, count: drops.append((reason, count))
    )
    queue.put(make_spans(1))
    assert entered.wait(DEADLINE)
    queue.put(make_spans(3))
    queue.close(0.01)
    queue.put(make_spans(1))
    assert drops == [("stop", 3), ("stop", 1)]
    assert "traces were left unsent" in caplog.text
    go_on.set()


def test_a_batch_is_tried_again_when_the_collector_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openclaw.telemetry.spanqueue._RETRY_SECONDS", 0.001)
    attempts = 0

    def restarting(_: Sequence[Span]) -> None:
        nonlocal attempts
        attempts += 1
        if attempts < 3:
            raise ExportError("503", passing=True)

    drops: list[tuple[str, int]] = []
    queue = ThreadedSpanQueue(
        restarting, batch=1, delay=600, on_drop=lambda reason, count: drops.append((reason, count))
    )
    queue.put(make_spans(1))
    until(lambda: attempts == 3)
    queue.close(DEADLINE)
    assert (queue.exported, drops) == (1, [])


@pytest.mark.parametrize(
    "error", [ExportError("no", passing=False), RuntimeError("no")], ids=lambda it: type(it).__name__
)
def test_a_batch_that_was_not_taken_is_forgotten_at_once(error: Exception) -> None:
    def export(batch: Sequence[Span]) -> None:
        raise type(error)(*error.args, **vars(error))

    def living() -> int:
        return sum(isinstance(it, Span) for it in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = living()
        queue = ThreadedSpanQueue(export, on_drop=lambda _reason, _count: None)
        spans = make_spans(100)
        queue.put(list(spans))
        spans.clear()  # of the recording side, which they refer to
        queue.close(DEADLINE)
        assert len(queue) == 0
        assert living() == before
    finally:
        gc.enable()


def test_an_exporter_that_breaks_does_not_end_the_thread() -> None:
    calls: list[int] = []

    def broken(batch: Sequence[Span]) -> None:
        calls.append(len(batch))
        raise KeyError("a defect")

    queue = ThreadedSpanQueue(broken, batch=1, delay=600, on_drop=lambda _reason, _count: None)
    queue.put(make_spans(1))
    until(lambda: len(calls) == 1)
    queue.put(make_spans(1))
    until(lambda: len(calls) == 2)
    queue.close(DEADLINE)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Endpoint("http://localhost:4318/v1/traces")),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "https://c/x/"}, Endpoint("https://c/x/v1/traces")),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/t"}, Endpoint("http://c/t")),
        (
            {
                "OTEL_EXPORTER_OTLP_HEADERS": "a=b%20c, d=e",
                "OTEL_EXPORTER_OTLP_TIMEOUT": "3",
                "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "4",
                "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
            },
            Endpoint(
                "http://localhost:4318/v1/traces",
                headers={"a": "b c", "d": "e"},
                timeout=4.0,
                compress=True,
            ),
        ),
    ],
)
def test_where_the_variables_send_traces(environment: dict[str, str], expected: Endpoint) -> None:
    assert Endpoint.from_environment(environment) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "nonsense"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_TRACES_EXPORTER", "zipkin"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "many"),
        ("OPENCLAW_TRACES_SLOW_SECONDS", "-1"),
    ],
)
def test_a_variable_that_cannot_be_used_is_named(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=name):
        tracer_from_environment(on_drop=lambda _reason, _count: None, environment={name: value})


def test_credentials_are_in_no_message() -> None:
    secret = "s3cret-token"
    with pytest.raises(ValueError, match="HEADERS") as raised:
        Endpoint.from_environment({"OTEL_EXPORTER_OTLP_HEADERS": secret})
    assert secret not in str(raised.value)
    assert secret not in repr(Endpoint("http://c", headers={"authorization": secret}))


@pytest.mark.parametrize(
    ("sampler", "argument", "share"),
    [
        ("always_on", "", 1.0),
        ("always_off", "", 0.0),
        ("parentbased_always_on", "", 1.0),
        ("traceidratio", "0.25", 0.25),
        ("parentbased_traceidratio", "0.25", 0.25),
    ],
)
def test_the_standard_samplers(
    monkeypatch: pytest.MonkeyPatch, sampler: str, argument: str, share: float
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", argument)
    decide = sampler_from_environment()
    evenly = [int((number + 0.5) * (2**64 // 1000)) for number in range(1000)]
    assert sum(decide(trace_id, "x") for trace_id in evenly) == share * 1000


def test_what_the_process_says_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_SERVICE_NAME", raising=False)
    pod = {"POD_NAME": "openclaw-0", "POD_NAMESPACE": "system"}
    said = resource_from_environment(pod).attributes
    assert {key: said[key] for key in ("service.name", "k8s.pod.name", "k8s.namespace.name")} == {
        "service.name": "openclaw",
        "k8s.pod.name": "openclaw-0",
        "k8s.namespace.name": "system",
    }
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "team=a")
    said = resource_from_environment(pod).attributes
    assert (said["service.name"], said["team"]) == ("mine", "a")
