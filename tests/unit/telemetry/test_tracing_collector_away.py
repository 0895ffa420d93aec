"""A thousand objects reconciled again and again while the collector is away, hangs or is slow: no matter.

That it is no matter is counted, not timed: a run that waited for a collector which answers nothing would
never end, and what the event loop's thread has to do for a run is what it has with a collector that is well.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from types import FrameType
from typing import NamedTuple

import pytest

from openclaw.api import CustomResource, Model
from openclaw.kube.transport import Response, Transport
from openclaw.runtime import Context, Manager, Reconciler, Result
from openclaw.runtime.queue import Key, Priority
from openclaw.telemetry.spanqueue import ThreadedSpanQueue
from openclaw.telemetry.spans import Span
from openclaw.telemetry.tracing import RecordingTracer
from tests.unit.telemetry.collectors import Collector, away, collecting

OBJECTS = 1000
ROUNDS = 3
CAPACITY = 256
BATCH = 64
NEVER = 600.0
MANY = 200
"""More than there are runs under way, and deadlines of ended runs that asyncio has not forgotten yet."""
EACH = 250
"""A slow collector takes a batch for so many spans that come."""


class Thing(CustomResource, group="telemetry.example.com", version="v1"):
    """A root."""

    class Spec(Model):
        """Nothing much."""

        text: str = ""

    class Status(Model):
        """Nothing at all."""

    spec: Spec
    status: Status = Status()


class Things(Reconciler[Thing]):
    emits_events = False

    def __init__(self, collector: Collector, *, slow: bool) -> None:
        self.runs = 0
        self.round = asyncio.Event()
        self._collector = collector
        self._slow = slow

    async def reconcile(self, ctx: Context, obj: Thing) -> Result:
        self.runs += 1
        if self.runs % EACH == 0 and self._slow:
            self._collector.admit()
        if self.runs % OBJECTS == 0:
            self.round.set()
        return Result.done()


class ListOnly(Transport):
    """An API server where nothing ever changes."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str | None = None,
        timeout: float = 30.0,
    ) -> Response:
        assert method == "GET"
        items = [
            {
                "metadata": {
                    "name": f"t{n}",
                    "namespace": "a",
                    "uid": f"u{n}",
                    "resourceVersion": str(n + 1),
                },
                "spec": {},
            }
            for n in range(OBJECTS)
        ]
        return Response(200, json.dumps({"metadata": {"resourceVersion": "1000"}, "items": items}).encode())

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        async def silence() -> AsyncIterator[bytes]:
            await asyncio.Event().wait()
            yield b""

        yield silence()


def living_spans() -> int:
    """Spans that anything holds."""
    gc.collect()
    return sum(isinstance(it, Span) for it in gc.get_objects())


@dataclass
class Seen:
    """What was counted.

    Attributes:
        calls: of Python functions in the event loop's thread, in the last round.
        waiting: most spans in the exporter's queue.
        spans: most spans that there still were after a round.
        dropped: spans by reason.
        exported: spans that the collector has taken.
        warnings: that were written.
    """

    calls: int
    waiting: int
    spans: int
    dropped: dict[str, float]
    exported: int
    warnings: list[str]


async def reconciled(
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    *,
    timeout: float = NEVER,
    slow: bool = False,
) -> Seen:
    """Three rounds of a thousand runs, a span each; `timeout` is the exporter's, in seconds."""
    for name, value in {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_EXPORTER_OTLP_TIMEOUT": str(timeout),
        "OTEL_BSP_MAX_QUEUE_SIZE": str(CAPACITY),
        "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": str(BATCH),
        "OTEL_BSP_SCHEDULE_DELAY": "10",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("openclaw.telemetry.spanqueue._RETRY_SECONDS", 0.01)
    caplog.clear()
    caplog.set_level(logging.INFO)
    most = 0
    spans, before = 0, living_spans()

    class Watched(ThreadedSpanQueue):
        def put(self, spans: Sequence[Span]) -> None:
            nonlocal most
            super().put(spans)
            most = max(most, len(self))

    monkeypatch.setattr("openclaw.telemetry.otel.ThreadedSpanQueue", Watched)
    things = Things(collector, slow=slow)
    manager = Manager(things, transport=ListOnly())
    serving = asyncio.create_task(manager.serve())
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    try:
        for number in range(1, ROUNDS + 1):
            async with asyncio.timeout(120):
                await things.round.wait()
            things.round.clear()
            await asyncio.sleep(0)  # what a turn of the loop leaves behind is none of the exporter's
            spans = max(spans, living_spans() - before)
            if number == ROUNDS:
                break
            if number == ROUNDS - 1:
                sys.setprofile(count)  # of this thread
            for place in manager.informers[Thing.resource].cache.keys():  # noqa: SIM118 - no dict
                manager.controllers[0].queue.add(Key(*place), Priority.CHANGE, "Thing updated")
    finally:
        sys.setprofile(None)
        queue = exporter(manager)
        manager.stop()
        await serving
    assert things.runs == ROUNDS * OBJECTS
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    return Seen(calls, most, spans, dropped(manager), queue.exported, warnings)


def exporter(manager: Manager) -> ThreadedSpanQueue:
    tracer = manager.controllers[0]._spans.tracer
    assert isinstance(tracer, RecordingTracer)
    assert isinstance(tracer._queue, ThreadedSpanQueue)
    return tracer._queue


def dropped(manager: Manager) -> dict[str, float]:
    text = manager.metrics.render()[0].decode()
    found = re.findall(r'^openclaw_spans_dropped_total\{reason="(\w+)"\} (\S+)$', text, re.MULTILINE)
    return {reason: float(count) for reason, count in found if float(count)}


UNSENT = "traces were left unsent"
ONCE = "traces cannot be exported and are dropped; reconciles go on"


class Kind(NamedTuple):
    """A collector that is no use.

    Attributes:
        use: is one.
        timeout: of the exporter.
        slow: it takes a batch now and then.
        warnings: what is said of it.
    """

    use: Callable[[], AbstractContextManager[Collector]]
    timeout: float
    slow: bool
    warnings: list[str]


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(Kind(away, 0.2, False, [ONCE]), id="away"),
        pytest.param(Kind(lambda: collecting(0), 0.2, False, [ONCE]), id="hanging"),
        # Whoever waited for it would never end.
        pytest.param(Kind(lambda: collecting(0), NEVER, False, []), id="hanging-for-good"),
        pytest.param(Kind(lambda: collecting(1), NEVER, True, []), id="slow"),
    ],
)
async def test_a_collector_that_is_no_use_is_no_matter(
    kind: Kind, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with collecting() as well:
        good = await reconciled(well, monkeypatch, caplog)
    with kind.use() as collector:
        seen = await reconciled(collector, monkeypatch, caplog, timeout=kind.timeout, slow=kind.slow)
    assert good.warnings == []

    # Bounded: what waits, the batch that is being sent, and the runs under way.
    assert 0 < seen.waiting <= CAPACITY
    assert seen.spans <= CAPACITY + BATCH + MANY

    # Nothing is lost without being counted; the batch under way at the end is neither sent nor dropped.
    lost = sum(seen.dropped.values())
    assert ROUNDS * OBJECTS - BATCH <= lost + seen.exported <= ROUNDS * OBJECTS + MANY
    assert lost > 0
    assert (seen.exported > 0) == kind.slow
    assert [text for text in seen.warnings if text != UNSENT] == kind.warnings

    # To drop a span is no more work for the event loop than to hand it over.
    assert seen.calls <= good.calls * 1.1
