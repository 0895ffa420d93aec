"""What is recorded, what is kept, and what it costs when it is not."""

from __future__ import annotations

import ast
import asyncio
import io
import json
import logging
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from openclaw.telemetry import Log, configure
from openclaw.telemetry.logs import change_level
from openclaw.telemetry.metrics import Metrics
from openclaw.telemetry.spans import (
    NO_SPAN,
    Span,
    SpanContext,
    SpanKind,
    child_span,
    current_span,
    follow_up,
    parse_traceparent,
)
from openclaw.telemetry.tracing import NO_TRACING, RecordingTracer, wants_tracing

PACKAGE = Path(__file__).parents[3] / "python/openclaw"


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    logging.captureWarnings(capture=False)
    root.handlers[:] = handlers
    root.setLevel(level)


class Kept:
    """Remembers the traces that were kept, and what was dropped."""

    def __init__(self) -> None:
        self.traces: list[list[Span]] = []
        self.drops: list[tuple[str, int]] = []

    def put(self, spans: Sequence[Span]) -> None:
        self.traces.append(list(spans))

    def close(self, timeout: float) -> None:
        """Nothing waits."""

    def drop(self, reason: str, count: int) -> None:
        self.drops.append((reason, count))


def tracer(kept: Kept, *, sampled: bool = True, **options: object) -> RecordingTracer:
    decide: Callable[[int, str], bool] = lambda _id, _name: sampled  # noqa: E731
    return RecordingTracer(kept, decide, on_drop=kept.drop, **options)  # type: ignore[arg-type]


def test_spans_nest_by_the_block_in_which_they_begin() -> None:
    kept = Kept()
    with tracer(kept).start("root", SpanKind.CONSUMER) as root:
        with child_span("a") as a, child_span("b", SpanKind.CLIENT) as b:
            assert current_span() is b
        assert current_span() is root
    assert current_span() is NO_SPAN
    assert isinstance(root, Span)
    assert isinstance(a, Span)
    assert isinstance(b, Span)
    assert (a.parent_id, b.parent_id, root.parent_id) == (root.span_id, a.span_id, 0)
    assert [[span.name for span in trace] for trace in kept.traces] == [["b", "a", "root"]]
    assert root.start <= a.start <= b.start <= b.end <= a.end <= root.end


async def test_tasks_of_a_run_are_under_its_span_and_others_are_not() -> None:
    kept = Kept()

    async def work(name: str) -> None:
        with child_span(name):
            await asyncio.sleep(0)

    with tracer(kept).start("root"):
        await asyncio.gather(work("a"), work("b"))
    await work("outside")
    assert sorted(span.name for span in kept.traces[0]) == ["a", "b", "root"]
    assert len(kept.traces) == 1


def test_off_records_nothing_and_answers_everything() -> None:
    with NO_TRACING.start("root") as root, child_span("a") as child:
        child.set("a", 1)
        child.event("b", {})
        child.fail(ValueError())
        child.link(SpanContext(1, 2, True), "x")
    assert root is child is NO_SPAN
    assert (root.recording, root.sampled, root.ids) == (False, False, {})


def test_an_unsampled_trace_is_kept_with_its_requests_when_its_root_fails() -> None:
    kept = Kept()
    recording = tracer(kept, sampled=False)
    with recording.start("well"), child_span("a", SpanKind.CLIENT):
        pass
    with (
        pytest.raises(ValueError, match="no"),
        recording.start("badly"),
        child_span("diff"),
        child_span("a", SpanKind.CLIENT),
    ):
        raise ValueError("no")
    assert [[span.name for span in trace] for trace in kept.traces] == [["a", "badly"]]


def test_an_unsampled_trace_is_kept_when_it_was_slow() -> None:
    kept = Kept()
    recording = tracer(kept, sampled=False, slow_seconds=5.0)
    for name, seconds in (("quick", 4), ("slow", 6)):
        with recording.start(name) as root:
            assert isinstance(root, Span)
            root.start -= seconds * 10**9
    assert [trace[-1].name for trace in kept.traces] == ["slow"]


def test_unsampled_and_nothing_to_keep_is_not_recorded_at_all() -> None:
    recording = tracer(Kept(), sampled=False, keep_errors=False, slow_seconds=None)
    assert recording.start("root") is NO_SPAN


def test_a_flood_of_failures_is_limited_and_counted() -> None:
    kept, now = Kept(), 0.0
    recording = tracer(kept, sampled=False, kept_per_second=2.0, clock=lambda: now)

    def fail() -> None:
        with recording.start("root") as root, child_span("a", SpanKind.CLIENT):
            root.fail(ValueError())

    for _ in range(5):
        fail()
    assert (len(kept.traces), kept.drops) == (2, [("rate", 2)] * 3)
    now = 1.0
    for _ in range(5):
        fail()
    assert len(kept.traces) == 4


def test_a_trace_has_a_bound_and_what_is_beyond_is_counted() -> None:
    kept = Kept()
    with tracer(kept, spans_per_trace=3).start("root"):
        for _ in range(10):
            with child_span("a"):
                pass
    assert len(kept.traces[0]) == 4
    assert kept.drops == [("limit", 1)] * 7


def test_what_ends_after_its_root_is_counted_and_harms_nobody() -> None:
    kept = Kept()
    with tracer(kept).start("root") as root:
        late = root.child("late")
    late.finish()
    assert root.child("later") is NO_SPAN
    assert len(kept.traces[0]) == 1
    assert kept.drops == [("late", 1), ("late", 1)]


def test_work_left_to_the_background_belongs_to_the_trace_it_came_from() -> None:
    kept = Kept()
    recording = tracer(kept)
    with recording.start("root") as root:
        pass
    with follow_up(root, "event write"), child_span("POST events"):
        pass
    post, write = kept.traces[1]
    assert isinstance(root, Span)
    assert write.parent_id == root.span_id
    assert {span.trace.trace_id for span in (post, write, root)} == {root.trace.trace_id}
    with tracer(kept, sampled=False).start("dropped") as dropped:
        pass
    assert follow_up(dropped, "event write") is follow_up(NO_SPAN, "event write") is NO_SPAN


def test_a_cancelled_span_has_not_failed() -> None:
    kept = Kept()
    with pytest.raises(asyncio.CancelledError), tracer(kept).start("root"):
        raise asyncio.CancelledError
    assert kept.traces[0][0].error is None
    assert kept.traces[0][0].attributes == {"openclaw.cancelled": True}


def test_an_errors_text_loses_its_secrets() -> None:
    with tracer(Kept()).start("root") as root:
        root.fail(ValueError("denied: token=abcdefgh12345 " + "x" * 1000))
    assert isinstance(root, Span)
    assert root.message.startswith("denied: token=[redacted] x")
    assert len(root.message) == 256


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"00-{'0' * 31}a-{'0' * 15}b-01", SpanContext(10, 11, True)),
        (f"00-{'0' * 31}a-{'0' * 15}b-00", SpanContext(10, 11, False)),
        (f"cc-{'0' * 31}a-{'0' * 15}b-01-what-the-future-adds", SpanContext(10, 11, True)),
        (f"ff-{'0' * 31}a-{'0' * 15}b-01", None),
        (f"00-{'0' * 32}-{'0' * 15}b-01", None),
        (f"00-{'0' * 31}a-{'0' * 16}-01", None),
        (f"00-{'0' * 31}A-{'0' * 15}b-01", None),
        ("", None),
        ("nonsense\n", None),
    ],
)
def test_a_traceparent_that_anybody_wrote(text: str, expected: SpanContext | None) -> None:
    assert parse_traceparent(text) == expected


def test_a_traceparent_reads_as_it_was_written() -> None:
    with tracer(Kept()).start("root") as root:
        assert isinstance(root, Span)
        assert parse_traceparent(root.traceparent) == root.context


def test_log_records_of_a_sampled_run_name_trace_and_span() -> None:
    stream = io.StringIO()
    configure(format="json", stream=stream)
    with tracer(Kept()).start("root") as root, child_span("a") as child:
        Log("openclaw.x").info("inside")
    Log("openclaw.x").info("outside")
    with tracer(Kept(), sampled=False).start("root"):
        Log("openclaw.x").info("unsampled")
    inside, *others = map(json.loads, stream.getvalue().splitlines())
    assert inside["trace_id"] == root.ids["trace_id"]
    assert inside["span_id"] == child.ids["span_id"]
    assert [record.keys() & {"trace_id", "span_id"} for record in others] == [set(), set()]


def test_the_log_level_goes_up_and_down_by_a_level() -> None:
    configure(level="info", stream=io.StringIO())
    assert [change_level(step) for step in (-1, -1, 1, 1, 1, 1, -1)] == [
        "debug",
        "debug",
        "info",
        "warning",
        "error",
        "error",
        "warning",
    ]


def test_a_duration_names_its_trace_where_the_format_allows() -> None:
    now = 0.0
    metrics = Metrics(process=False, clock=lambda: now)
    controller = metrics.controller("widgets")

    def shown() -> list[str]:
        text = metrics.render("application/openmetrics-text; version=1.0.0")[0].decode()
        return re.findall(r'# \{span_id="\w+",trace_id="(\w+)"\}', text)

    def run(seconds: float = 0.0, *, sampled: bool = True) -> str:
        nonlocal now
        begun = controller.begin()
        now += seconds
        with tracer(Kept(), sampled=sampled).start("root") as root:
            begun.end("success", span=root)
        return root.ids.get("trace_id", "")

    run(sampled=False)
    assert shown() == []
    first, _, slow = run(), run(), run(100.0)
    assert shown() == [first, slow]  # the second was right after the first: nobody would see that one
    now += 1.0
    later = run()
    assert shown() == [later, slow]
    assert "trace_id" not in metrics.render()[0].decode()


@pytest.mark.parametrize(
    ("environment", "asked", "expected"),
    [
        ({}, None, False),
        ({}, True, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, None, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, False, False),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, None, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, None, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, True, False),
        ({"OTEL_SDK_DISABLED": "TRUE", "OTEL_TRACES_EXPORTER": "otlp"}, True, False),
    ],
)
def test_who_turns_tracing_on(environment: dict[str, str], asked: bool | None, expected: bool) -> None:
    assert wants_tracing(environment, asked=asked) is expected


def test_one_file_imports_opentelemetry_and_nobody_loads_it_unasked() -> None:
    importing = {
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if (isinstance(node, ast.Import) and any(it.name.startswith("opentelemetry") for it in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("opentelemetry"))
    }
    assert importing == {"telemetry/otel.py"}
    code = "import sys, openclaw.runtime.manager; print([it for it in sys.modules if 'opentelemetry' in it])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
