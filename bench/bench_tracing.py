"""What tracing costs: CPU per reconcile with tracing off, sampled at 1 % and 10 %, and always on.

    .venv/bin/python bench/bench_tracing.py [--objects 400] [--rounds 20]

The API server is a stand-in in the same process that answers at once, so the runtime is measured: with
a real one, each write costs several hundred microseconds of HTTP more, and the shares are smaller. Spans
are exported for real, by OTLP to a collector in another process; the exporter's thread counts. The modes
take turns, round by round, and each figure is the least of all rounds: whatever else runs on a machine only
adds. No thresholds.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import orjson

from openclaw import ConfigMap, Context, CustomResource, Field, Manager, Model, Options, Reconciler, Result
from openclaw.kube.transport import Response, Transport
from openclaw.runtime.queue import Key, Priority
from openclaw.telemetry.logs import configure
from openclaw.telemetry.otel import tracer_from_environment
from openclaw.telemetry.spanqueue import ThreadedSpanQueue
from openclaw.telemetry.spans import NoSpan, Span, SpanKind, child_span
from openclaw.telemetry.tracing import NO_TRACING, Tracer

MODES: dict[str, dict[str, str]] = {
    "1 %": {"OTEL_TRACES_SAMPLER_ARG": "0.01"},
    "1 %, nothing else kept": {
        "OTEL_TRACES_SAMPLER_ARG": "0.01",
        "OPENCLAW_TRACES_KEEP_ERRORS": "false",
        "OPENCLAW_TRACES_SLOW_SECONDS": "none",
    },
    "10 %": {"OTEL_TRACES_SAMPLER_ARG": "0.1"},
    "always": {"OTEL_TRACES_SAMPLER_ARG": "1"},
    "always, protobuf": {"OTEL_TRACES_SAMPLER_ARG": "1", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
}
COLLECTOR = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200); self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


class Thing(CustomResource, group="bench.example.com", version="v1"):
    """The root of the benchmark."""

    class Spec(Model):
        """Becomes a ConfigMap."""

        config: dict[str, str] = Field(default_factory=dict)

    class Status(Model):
        """What was seen."""

        observed_generation: int | None = None
        seen: str = ""

    spec: Spec
    status: Status = Status()


class ThingReconciler(Reconciler[Thing]):
    """Keeps a ConfigMap; with `writing` it holds something new in each round."""

    owns: ClassVar = (ConfigMap,)
    emits_events = False

    def __init__(self) -> None:
        self.round = 0
        self.writing = False
        self.runs = 0

    async def reconcile(self, ctx: Context, obj: Thing) -> Result:
        """State the ConfigMap and the status."""
        said = str(self.round if self.writing else 0)
        await ctx.apply(ConfigMap(name=f"{obj.name}-config", data={**obj.spec.config, "round": said}))
        obj.status.seen = said
        self.runs += 1
        return Result.done()


class StandIn(Transport):
    """Answers lists, applies and status patches from memory."""

    def __init__(self, objects: int) -> None:
        super().__init__()
        self.version = 1000
        self.writes = 0
        config = {f"key{number:02}": "v" * 60 for number in range(24)}
        self.things: dict[str, dict[str, Any]] = {
            f"t-{number:05}": {
                "metadata": {
                    "name": f"t-{number:05}",
                    "namespace": "bench",
                    "uid": f"00000000-0000-4000-8000-{number:012}",
                    "resourceVersion": "10",
                    "generation": 1,
                },
                "spec": {"config": config},
                "status": {},
            }
            for number in range(objects)
        }

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
        if method == "GET":
            items = list(self.things.values()) if path.endswith("/things") else []
            answer = {"metadata": {"resourceVersion": "1000"}, "items": items}
            return Response(200, orjson.dumps(answer))
        self.version += 1
        self.writes += 1
        sent: dict[str, Any] = orjson.loads(body or b"{}")
        return Response(200, orjson.dumps(self._merged(path, sent)))

    def _merged(self, path: str, sent: dict[str, Any]) -> dict[str, Any]:
        version = {"resourceVersion": str(self.version)}
        if path.endswith("/status"):
            thing = self.things[path.split("/")[-2]]
            thing["metadata"] |= version
            thing["status"] = {**thing["status"], **sent["status"]}
            return thing
        ours = {
            "manager": "openclaw",
            "operation": "Apply",
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": _fields({key: sent[key] for key in sent if key not in ("apiVersion", "kind")}),
        }
        metadata = {**sent["metadata"], **version, "uid": f"of-{path}", "managedFields": [ours]}
        return {**sent, "metadata": metadata}

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        async def nothing() -> AsyncIterator[bytes]:
            await asyncio.Event().wait()
            yield b""

        yield nothing()


def _fields(value: dict[str, Any]) -> dict[str, Any]:
    """FieldsV1 of what was applied."""

    def each() -> Iterator[tuple[str, Any]]:
        for key, item in value.items():
            if key == "ownerReferences":
                yield f"f:{key}", {f'k:{{"uid":"{item[0]["uid"]}"}}': {}}
            elif key not in ("name", "namespace"):
                yield f"f:{key}", _fields(item) if isinstance(item, dict) else {}

    return dict(each())


class Switch:
    """A tracer that is another one in each round."""

    def __init__(self) -> None:
        self.inner: Tracer = NO_TRACING

    @property
    def enabled(self) -> bool:
        """As the one of this round."""
        return self.inner.enabled

    def start(self, name: str, kind: SpanKind = SpanKind.INTERNAL) -> Span | NoSpan:
        """As the one of this round."""
        return self.inner.start(name, kind)

    def close(self, timeout: float) -> None:
        """Each is closed by itself."""


def tracers(port: int) -> dict[str, tuple[Tracer, ThreadedSpanQueue | None]]:
    """One for each mode, with its queue."""
    os.environ |= {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
        "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
        # Room for all, so that what is dropped is not what makes it cheap.
        "OTEL_BSP_MAX_QUEUE_SIZE": "1000000",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
    }
    made: dict[str, tuple[Tracer, ThreadedSpanQueue | None]] = {"off": (NO_TRACING, None)}
    for mode, own in MODES.items():
        environment = {**os.environ, **own}
        os.environ["OTEL_TRACES_SAMPLER_ARG"] = own["OTEL_TRACES_SAMPLER_ARG"]
        tracer = tracer_from_environment(on_drop=_no_drops, environment=environment)
        queue = tracer._queue
        assert isinstance(queue, ThreadedSpanQueue)
        made[mode] = (tracer, queue)
    return made


def _no_drops(reason: str, count: int) -> None:
    raise SystemExit(f"{count} spans were dropped ({reason}): this would measure nothing")


async def measure(objects: int, rounds: int, port: int) -> dict[str, dict[str, float]]:
    """By mode: microseconds of CPU per reconcile that finds nothing to do, and per one that writes twice."""
    reconciler, api, switch = ThingReconciler(), StandIn(objects), Switch()
    manager = Manager(reconciler, options=Options(concurrency=10), transport=api, tracer=switch)
    serving = asyncio.create_task(manager.serve())
    await _reach(reconciler, objects)
    keys = [Key("bench", name) for name in api.things]
    (controller,) = manager.controllers
    modes = tracers(port)
    found: dict[str, dict[str, float]] = {mode: {} for mode in modes}
    gc.freeze()
    for kind, writing in (("nothing to do", False), ("writing", True)):
        reconciler.writing = writing
        for turn in range(rounds + 1):
            for mode, (tracer, queue) in modes.items():
                switch.inner = tracer
                reconciler.round += 1
                exported = queue.exported if queue else 0
                writes, aim = api.writes, reconciler.runs + objects
                before = time.process_time()
                for key in keys:
                    controller.queue.add(key, Priority.CHANGE, "Thing updated")
                await _reach(reconciler, aim)
                while queue is not None and len(queue):
                    await asyncio.sleep(0.005)
                spent = (time.process_time() - before) / objects * 1e6
                if turn and api.writes - writes != (2 * objects if writing else 0):
                    raise SystemExit(f"{kind}: {api.writes - writes} writes: the stand-in is at fault")
                if turn:
                    found[mode][kind] = min(spent, found[mode].get(kind, spent))
                if turn and mode == "always" and queue is not None and queue.exported == exported:
                    raise SystemExit("nothing was exported: this measures nothing")
    manager.stop()
    await serving
    return found


async def _reach(reconciler: ThingReconciler, runs: int) -> None:
    while reconciler.runs < runs:
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.001)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description="What tracing costs: CPU per reconcile.")
    parser.add_argument("--objects", type=int, default=400, help="reconciles a round")
    parser.add_argument("--rounds", type=int, default=20, help="of each mode")
    given = parser.parse_args()
    configure(level="warning", format="json")
    with subprocess.Popen([sys.executable, "-c", COLLECTOR], stdout=subprocess.PIPE, text=True) as collector:
        try:
            assert collector.stdout is not None
            port = int(collector.stdout.readline())
            least = asyncio.run(measure(given.objects, given.rounds, port))
        finally:
            collector.terminate()
    print(f"{'tracing':<24} {'nothing to do':>20} {'writing':>20}   (µs of CPU per reconcile)")
    for mode, values in least.items():
        cells = [f"{it:8.1f} ({it / least['off'][name] - 1:+6.1%})" for name, it in values.items()]
        print(f"{mode:<24} {cells[0]:>20} {cells[1]:>20}")
    print(f"a span site that is off: {_site():.2f} µs; one more for each child, two for a status write")


def _site() -> float:
    count, least = 20_000, 1.0
    for _ in range(20):
        before = time.process_time()
        for _ in range(count):
            with child_span("diff"):
                pass
        least = min(least, (time.process_time() - before) / count)
    return least * 1e6


if __name__ == "__main__":
    main()
