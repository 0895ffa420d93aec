"""What tracing costs: CPU per reconcile with tracing off, sampled at 1 % and 10 %, and always on.

    .venv/bin/python bench/bench_tracing.py [--objects 200] [--rounds 30]

A whole reconcile is measured, as its user pays it: the event loop, the thread that speaks HTTPS, the thread
that exports. Two kinds of it: one that writes a child and a status, and hears the echo of both, as its root
has changed; and one that finds nothing to do, as its child has changed, which a run of the same mode wrote.
The API server (a cluster in memory) and the collector are other processes, whose CPU does not count.

The modes take turns, round by round, each time in another order. A figure is the lower quartile of a mode's
rounds: whatever else runs on a machine only adds. `off, again` is `off` once more: by what it differs from
`off`, the others may be wrong. No thresholds.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import orjson

from openclaw import ConfigMap, Context, CustomResource, Field, Manager, Model, Options, Reconciler, Result
from openclaw.kube import ConfigSource, Transport
from openclaw.manifests.crd import custom_resource_definition
from openclaw.runtime.controller import Controller
from openclaw.runtime.informer import Delta
from openclaw.runtime.queue import Key, Priority
from openclaw.telemetry import spans
from openclaw.telemetry.logs import configure
from openclaw.telemetry.otel import tracer_from_environment
from openclaw.telemetry.spanqueue import ThreadedSpanQueue
from openclaw.telemetry.spans import NO_SPAN, NoSpan, Span, SpanKind, child_span
from openclaw.telemetry.tracing import NO_TRACING, Tracer
from openclaw.testing import ClusterProcess

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
NOTHING_TO_DO, WRITING = "nothing to do", "writing"
KINDS = (NOTHING_TO_DO, WRITING)
NOTHING_A_WRITE = 3
"""Rounds with nothing to do for each that writes, which take the cluster much longer."""
NAMESPACE = "bench"
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
    """Keeps a ConfigMap and a status in which is what it is told to say."""

    owns: ClassVar = (ConfigMap,)
    emits_events = False

    def __init__(self) -> None:
        self.said = "0"
        self.runs = self.aim = 0
        self.reached = asyncio.Event()

    async def reconcile(self, ctx: Context, obj: Thing) -> Result:
        """State the ConfigMap and the status."""
        await ctx.apply(ConfigMap(name=_child(obj.name), data={**obj.spec.config, "round": self.said}))
        obj.status.seen = self.said
        self.runs += 1
        if self.runs == self.aim:
            self.reached.set()
        return Result.done()


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


class Mode:
    """A tracer as a mode's variables describe it."""

    def __init__(self, variables: dict[str, str] | None = None) -> None:
        self.tracer: Tracer = NO_TRACING
        self.queued = 0
        self._queue: ThreadedSpanQueue | None = None
        if variables is None:
            return
        environment = {**os.environ, **variables}
        os.environ["OTEL_TRACES_SAMPLER_ARG"] = variables["OTEL_TRACES_SAMPLER_ARG"]
        tracer = tracer_from_environment(on_drop=_no_drops, environment=environment)
        self.tracer = tracer
        queue = tracer._queue
        assert isinstance(queue, ThreadedSpanQueue)
        self._queue, put = queue, queue.put

        def counted(spans: Sequence[Any]) -> None:
            self.queued += len(spans)
            put(spans)

        queue.put = counted  # type: ignore[method-assign]

    async def exported(self) -> None:
        """Wait until the collector has all."""
        queue = self._queue
        while queue is not None and queue.exported < self.queued:
            queue._wake.set()  # for the rest the exporter would wait five seconds
            await asyncio.sleep(0.002)


def _no_drops(reason: str, count: int) -> None:
    raise SystemExit(f"{count} spans were dropped ({reason}): this would measure nothing")


class Rig:
    """A manager that runs its reconciler for all objects when it is told to."""

    def __init__(self, kubeconfig: Path, objects: int, tracer: Tracer) -> None:
        self.reconciler = ThingReconciler()
        options = Options(concurrency=10, kubeconfig=str(kubeconfig), namespace=NAMESPACE)
        self.manager = Manager(self.reconciler, options=options, tracer=tracer)
        self._keys = [Key(NAMESPACE, name) for name in _names(objects)]
        self._deltas: dict[str, list[Delta]] = {}
        self._heard = 0

    @property
    def controller(self) -> Controller:
        """Its only one."""
        (controller,) = self.manager.controllers
        return controller

    async def start(self) -> asyncio.Task[None]:
        """Serve, until every object has its child and its status."""
        self.reconciler.aim = len(self._keys)
        serving = asyncio.create_task(self.manager.serve())
        await self._ended(2 * len(self._keys))
        children = self.controller.kinds[ConfigMap.resource].cache
        for key in self._keys:
            child = orjson.loads(children.get(NAMESPACE, _child(key.name)) or b"")
            root = Delta(key, "updated", Priority.CHANGE)
            self._deltas.setdefault(WRITING, []).append(root)
            other = Delta(key, "updated", Priority.CHILD, child["metadata"]["uid"])
            self._deltas.setdefault(NOTHING_TO_DO, []).append(other)
        return serving

    async def run(self, kind: str) -> None:
        """Reconcile each object once, and hear of all that was written."""
        reconciler, deltas = self.reconciler, self._deltas[kind]
        writes = 0
        if kind == WRITING:
            reconciler.said = str(int(reconciler.said) + 1)
            writes = 2 * len(deltas)
        reconciler.aim = reconciler.runs + len(deltas)
        reconciler.reached.clear()
        changed = Thing if kind == WRITING else ConfigMap
        enqueue = self.controller._enqueuer(changed.resource)
        for delta in deltas:
            enqueue(delta)
        await self._ended(writes)

    async def _ended(self, writes: int) -> None:
        await self.reconciler.reached.wait()
        self._heard += writes
        controller = self.controller
        # An event may come before the answer to its write, and cause a run more; so it does in every mode.
        while self._events() < self._heard or len(controller.queue) or len(controller.running):
            await asyncio.sleep(0.002)
        if self._events() > self._heard:
            raise SystemExit("more was written than was asked for: this would measure something else")

    def _events(self) -> int:
        stats = [informer.cache.stats() for informer in self.manager.informers]
        return sum(it["events_received"] for it in stats)


def _names(objects: int) -> list[str]:
    return [f"t-{number:05}" for number in range(objects)]


def _child(name: str) -> str:
    return f"{name}-config"


async def measure(kubeconfig: Path, objects: int, rounds: int, port: int) -> dict[str, dict[str, float]]:
    """By mode and kind: microseconds of CPU per reconcile."""
    switch = Switch()
    rig = Rig(kubeconfig, objects, switch)
    serving = await rig.start()
    os.environ |= {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
        "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
        # Room for all, so that what is dropped is not what makes it cheap.
        "OTEL_BSP_MAX_QUEUE_SIZE": "1000000",
    }
    modes = {"off": Mode(), **{name: Mode(own) for name, own in MODES.items()}, "off, again": Mode()}
    found: dict[str, dict[str, list[float]]] = {mode: {kind: [] for kind in KINDS} for mode in modes}
    gc.collect()
    gc.freeze()
    names = list(modes)
    for turn in range(rounds + 1):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            mode = modes[name]
            switch.inner = mode.tracer
            for kind in [WRITING, *[NOTHING_TO_DO] * NOTHING_A_WRITE]:
                gc.collect()
                before = time.process_time()
                await rig.run(kind)
                await mode.exported()
                spent = time.process_time() - before
                if turn:
                    found[name][kind].append(spent / objects * 1e6)
    if not modes["always"].queued:
        raise SystemExit("nothing was exported: this would measure nothing")
    rig.manager.stop()
    await serving
    return {
        mode: {kind: statistics.quantiles(values, n=4)[0] for kind, values in kinds.items()}
        for mode, kinds in found.items()
    }


class Counting(NoSpan):
    """A span of which nothing is kept, but how often it was asked for one."""

    __slots__ = ()
    sites = 0

    def child(self, name: str, kind: SpanKind = SpanKind.INTERNAL) -> NoSpan:
        """Count a span site."""
        Counting.sites += 1
        return self


async def sites(kubeconfig: Path, objects: int) -> dict[str, float]:
    """By kind: the span sites that a reconcile passes, its own included."""
    rig = Rig(kubeconfig, objects, NO_TRACING)
    # What runs in no span asks this one, in the tasks that begin from here on.
    token = spans._current.set(Counting())
    serving = await rig.start()
    found = {}
    for kind in KINDS:
        Counting.sites = 0
        await rig.run(kind)
        found[kind] = Counting.sites / objects + 1
    rig.manager.stop()
    await serving
    spans._current.reset(token)
    return found


def site() -> float:
    """Microseconds of a span site that is off."""
    assert spans.current_span() is NO_SPAN
    count, least = 20_000, 1.0
    for _ in range(20):
        before = time.process_time()
        for _ in range(count):
            with child_span("diff"):
                pass
        least = min(least, (time.process_time() - before) / count)
    return least * 1e6


async def _populate(kubeconfig: Path, objects: int) -> None:
    config = {f"key{number:02}": "v" * 60 for number in range(24)}
    async with Transport(ConfigSource(str(kubeconfig))) as transport:

        async def create(path: str, body: dict[str, Any]) -> None:
            await transport.request("POST", path, body=orjson.dumps(body), content_type="application/json")

        metadata = {"name": NAMESPACE}
        await create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        path = f"/apis/{Thing.resource.api_version}/namespaces/{NAMESPACE}/{Thing.resource.plural}"
        kind = {"apiVersion": Thing.resource.api_version, "kind": Thing.resource.kind}
        for name in _names(objects):
            await create(path, {**kind, "metadata": {"name": name}, "spec": {"config": config}})


async def _all(kubeconfig: Path, objects: int, rounds: int, port: int) -> None:
    await _populate(kubeconfig, objects)
    found = await measure(kubeconfig, objects, rounds, port)
    passed = await sites(kubeconfig, objects)
    print(f"{'tracing':<24} {'nothing to do':>20} {'writing':>20}   (µs of CPU per reconcile)")
    for mode, values in found.items():
        cells = [f"{it:8.1f} ({it / found['off'][kind] - 1:+6.1%})" for kind, it in values.items()]
        print(f"{mode:<24} {cells[0]:>20} {cells[1]:>20}")
    cost = site()
    shares = [
        f"{count:.0f} sites = {count * cost / found['off'][kind]:.2%}" for kind, count in passed.items()
    ]
    print(f"{'span sites when off':<24} {shares[0]:>20} {shares[1]:>20}   (of {cost:.2f} µs each)")


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description="What tracing costs: CPU per reconcile.")
    parser.add_argument("--objects", type=int, default=200, help="reconciles a round")
    parser.add_argument("--rounds", type=int, default=30, help="of each mode")
    given = parser.parse_args()
    configure(level="warning", format="json")
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen([sys.executable, "-c", COLLECTOR], stdout=subprocess.PIPE, text=True) as collector,
    ):
        try:
            assert collector.stdout is not None
            port = int(collector.stdout.readline())
            crd = Path(folder) / "things.json"
            crd.write_bytes(orjson.dumps(custom_resource_definition(Thing)))
            with ClusterProcess(crds=[crd], rbac=False) as cluster:
                asyncio.run(_all(cluster.kubeconfig, given.objects, given.rounds, port))
        finally:
            collector.terminate()


if __name__ == "__main__":
    main()
