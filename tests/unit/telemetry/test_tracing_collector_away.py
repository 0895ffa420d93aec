"""Five hundred objects reconciled three times while the collector hangs or is away: they do not notice."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager

import pytest

from openclaw.api import CustomResource, Model
from openclaw.kube.transport import Response, Transport
from openclaw.runtime import Context, Manager, Reconciler, Result
from openclaw.runtime.queue import Key, Priority
from openclaw.telemetry.spanqueue import ThreadedSpanQueue
from openclaw.telemetry.tracing import RecordingTracer

OBJECTS = 500


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

    def __init__(self) -> None:
        self.runs: dict[str, int] = {}

    async def reconcile(self, ctx: Context, obj: Thing) -> Result:
        self.runs[obj.name] = self.runs.get(obj.name, 0) + 1
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


@pytest.fixture
def hanging() -> Iterator[str]:
    """Takes connections (the backlog does) and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def away() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def dropped(manager: Manager) -> float:
    text = manager.metrics.render()[0].decode()
    return sum(map(float, re.findall(r"^openclaw_spans_dropped_total\{.*\} (\S+)$", text, re.MULTILINE)))


def waiting(manager: Manager) -> int:
    """Spans in the exporter's queue."""
    tracer = manager.controllers[0]._spans.tracer if manager.controllers else None
    queue = tracer._queue if isinstance(tracer, RecordingTracer) else None
    return len(queue) if isinstance(queue, ThreadedSpanQueue) else 0


@pytest.mark.parametrize("collector", ["hanging", "away"])
async def test_a_collector_that_is_no_use_costs_one_warning(
    collector: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for name, value in {
        "OTEL_EXPORTER_OTLP_ENDPOINT": request.getfixturevalue(collector),
        "OTEL_EXPORTER_OTLP_TIMEOUT": "0.2",
        "OTEL_BSP_MAX_QUEUE_SIZE": "256",
        "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "64",
        "OTEL_BSP_SCHEDULE_DELAY": "10",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("openclaw.telemetry.spanqueue._RETRY_SECONDS", 0.01)
    caplog.set_level(logging.INFO)
    things = Things()
    manager = Manager(things, transport=ListOnly())
    serving = asyncio.create_task(manager.serve())
    most = 0
    try:
        for turn in range(1, 4):
            async with asyncio.timeout(40):
                while len(things.runs) < OBJECTS or min(things.runs.values()) < turn:
                    await asyncio.sleep(0.002)
                    most = max(most, waiting(manager))
            for place in manager.informers[Thing.resource].cache.keys():  # noqa: SIM118 - no dict
                manager.controllers[0].queue.add(Key(*place), Priority.CHANGE, "Thing updated")
    finally:
        manager.stop()
        await serving
    assert 0 < most <= 256
    # Each run is one span; what was neither dropped nor under way when it stopped would have been exported.
    assert dropped(manager) >= 3 * OBJECTS - 64
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    once = "traces cannot be exported and are dropped; reconciles go on"
    assert [text for text in warnings if text != "traces were left unsent"] == [once]
