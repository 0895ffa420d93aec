"""The metrics of one manager, under the names that controller-runtime's dashboards and alerts use.

Each `Metrics` has a registry of its own, so that two managers in one process, or two tests, do not see each
other's numbers. Label children are bound once; what happens per reconcile is a few additions. What can be
counted elsewhere (queue depth, cache sizes, running work) is read when somebody scrapes, not kept up to date.
"""

from __future__ import annotations

import logging
import math
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from openclaw.telemetry.spans import NO_SPAN, NoSpan, Span

__all__ = ["CacheStats", "ControllerMetrics", "Metrics", "Outcome", "Run", "WatchMetrics"]

log = logging.getLogger(__name__)

Outcome = Literal["success", "error", "requeue", "requeue_after"]
"""How a reconcile ended: the values of the label `result` of `controller_runtime_reconcile_total`."""

_OUTCOMES: tuple[Outcome, ...] = ("success", "error", "requeue", "requeue_after")

# Seconds; controller-runtime's, so that quantiles of the two can be compared.
_RECONCILE_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0),
    *(15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)
# Seconds; client-go's: twelve powers of ten from 10 ns.
_QUEUE_BUCKETS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
_EXEMPLAR_SECONDS: Final = 1.0

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What a cache of one kind holds and has seen.

    Attributes:
        objects: objects held now.
        bytes: memory that they take, in bytes.
        events: watch events since the start by what became of them, such as `{"unchanged": 900}`.
    """

    objects: int
    bytes: int
    events: Mapping[str, int] = field(default_factory=dict)


class Run:
    """One reconcile under way; call `end` exactly once."""

    __slots__ = ("_controller", "_started")

    def __init__(self, controller: ControllerMetrics, started: float) -> None:
        self._controller = controller
        self._started = started

    @property
    def started(self) -> float:
        """When it began, in seconds of the clock that `Metrics` was given."""
        return self._started

    def end(
        self,
        outcome: Outcome,
        *,
        terminal: bool = False,
        panic: bool = False,
        span: Span | NoSpan = NO_SPAN,
    ) -> float:
        """Record the end of the run.

        Args:
            outcome: how it ended.
            terminal: with "error": an error that only a change can mend; it is tried again slowly.
            panic: with "error": not an error of the failure model but a defect, such as a KeyError.
            span: of the run. Now and then the ids of one that is sampled are shown beside the durations, in
                the OpenMetrics format.

        Returns:
            The run's duration in seconds.
        """
        return self._controller._ended(  # noqa: SLF001 - its own run
            self, outcome, span, terminal=terminal, panic=panic
        )


class ControllerMetrics:
    """The metrics of one controller and its work queue; made by `Metrics.controller`.

    Attributes:
        added: call once for each key added to the queue.
        retried: call once for each key added again after a failure.
    """

    def __init__(self, metrics: _Families, name: str, clock: Clock) -> None:
        self.name = name
        self._clock = clock
        self._running: set[Run] = set()
        self._exemplars_due = [-math.inf] * (len(_RECONCILE_BUCKETS) + 1)
        queue = (name, name)  # the labels `name` and `controller`: a controller has one queue, of its name

        self._total = {outcome: metrics.reconcile_total.labels(name, outcome) for outcome in _OUTCOMES}
        self._errors = metrics.reconcile_errors.labels(name)
        self._terminal = metrics.terminal_errors.labels(name)
        self._panics = metrics.panics.labels(name)
        self._time = metrics.reconcile_time.labels(name)
        self._workers = metrics.max_concurrent.labels(name)
        self._wait = metrics.queue_duration.labels(*queue)
        self._work = metrics.work_duration.labels(*queue)
        self._depth = metrics.depth.labels(*queue)
        self._triggers = metrics.triggers
        self.added: Callable[[], None] = metrics.adds.labels(*queue).inc
        self.retried: Callable[[], None] = metrics.retries.labels(*queue).inc

        metrics.active_workers.labels(name).set_function(lambda: len(self._running))
        metrics.unfinished.labels(*queue).set_function(self._unfinished)
        metrics.longest.labels(*queue).set_function(lambda: max(self._ages(), default=0.0))

    def set_concurrency(self, workers: int) -> None:
        """State how many reconciles may run at once."""
        self._workers.set(workers)

    def follow_queue(self, depth: Callable[[], int]) -> None:
        """Read the number of keys that wait for a worker from `depth` at each scrape."""
        self._depth.set_function(depth)

    def trigger(self, kind: str, reason: str) -> Callable[[], None]:
        """What to call for each change of an object of `kind` that asks for a reconcile."""
        return self._triggers.labels(self.name, kind, reason).inc

    def begin(self, waited: float = 0.0) -> Run:
        """Record that a worker took a key which had been due for `waited` seconds."""
        self._wait.observe(waited)
        run = Run(self, self._clock())
        self._running.add(run)
        return run

    def _ended(
        self, run: Run, outcome: Outcome, span: Span | NoSpan, *, terminal: bool, panic: bool
    ) -> float:
        now = self._clock()
        duration = now - run.started
        self._running.discard(run)
        self._total[outcome].inc()
        self._time.observe(duration, self._exemplar(span, duration, now) if span.sampled else None)
        self._work.observe(duration)
        if outcome == "error":
            self._errors.inc()
            if terminal:
                self._terminal.inc()
            if panic:
                self._panics.inc()
        return duration

    def _exemplar(self, span: Span | NoSpan, duration: float, now: float) -> dict[str, str] | None:
        """The ids of the span, where its bucket's last are a while old: a scrape sees one of each bucket."""
        bucket = bisect_left(_RECONCILE_BUCKETS, duration)
        if now < self._exemplars_due[bucket]:
            return None
        self._exemplars_due[bucket] = now + _EXEMPLAR_SECONDS
        return dict(span.ids)

    def _ages(self) -> list[float]:
        now = self._clock()
        # A copy: a scrape from another thread must not trip over a run that ends meanwhile.
        return [now - run.started for run in tuple(self._running)]

    def _unfinished(self) -> float:
        return sum(self._ages())


_RESTARTS: Final = ("closed", "expired", "error")


class WatchMetrics:
    """The metrics of the watch of one kind; made by `Metrics.watch`."""

    def __init__(self, restarts: Counter, kind: str, clock: Clock) -> None:
        self.kind = kind
        self._restarts = restarts
        self._clock = clock
        self._last_event: Callable[[], float | None] = lambda: None
        for reason in _RESTARTS:
            restarts.labels(kind, reason)  # a rate needs the 0 before the 1

    def follow(self, last_event: Callable[[], float | None]) -> None:
        """Read from `last_event` when the server last sent something, by the clock; None: nothing so far."""
        self._last_event = last_event

    def restarted(self, reason: str) -> None:
        """Record that the watch begins anew. `reason` is one of a few words, such as "expired" or "idle"."""
        self._restarts.labels(self.kind, reason).inc()

    @property
    def last_event_age(self) -> float | None:
        """Seconds since the server last sent something; None before the first event."""
        last = self._last_event()
        return None if last is None else self._clock() - last


class Metrics:
    """All metrics of one manager.

    Args:
        clock: monotonic seconds; for tests.
        process: also export `process_*` (CPU, memory, file descriptors) of this process.
    """

    def __init__(self, *, clock: Clock = time.monotonic, process: bool = True) -> None:
        self.registry = _Registry()
        """The prometheus_client registry, for metrics of one's own."""
        self._clock = clock
        self._families = _Families(self.registry)
        self._controllers: dict[str, ControllerMetrics] = {}
        self._watches: dict[str, WatchMetrics] = {}
        self._caches: dict[str, Callable[[], CacheStats]] = {}
        self._requests: dict[tuple[str, str, str], Counter] = {}
        self.registry.register(_AtScrape(self._caches, self._watches))
        if process:
            ProcessCollector(registry=self.registry)

    def controller(self, name: str) -> ControllerMetrics:
        """The metrics of the controller `name`; every call with one name gives the same."""
        if (found := self._controllers.get(name)) is None:
            found = self._controllers[name] = ControllerMetrics(self._families, name, self._clock)
        return found

    def watch(self, kind: str) -> WatchMetrics:
        """The metrics of the watch of `kind`; every call with one kind gives the same."""
        if (found := self._watches.get(kind)) is None:
            found = self._watches[kind] = WatchMetrics(self._families.watch_restarts, kind, self._clock)
        return found

    def follow_cache(self, kind: str, stats: Callable[[], CacheStats]) -> None:
        """Read what the cache of `kind` holds from `stats` at each scrape."""
        self._caches[kind] = stats

    def request(self, code: str, method: str, host: str) -> None:
        """Count an answer of the API server at `host`; `code` is "<error>" where none came."""
        key = (code, method, host)
        if (child := self._requests.get(key)) is None:
            child = self._requests[key] = self._families.requests.labels(*key)
        child.inc()

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """The metrics as a scrape wants them.

        Args:
            accept: the request's `Accept` header: OpenMetrics when it asks for that, else Prometheus' text.

        Returns:
            The body and its content type.
        """
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type


class _Families:
    """The metric families, without their label values."""

    def __init__(self, registry: CollectorRegistry) -> None:
        by_controller = ("controller",)
        by_queue = ("name", "controller")

        def counter(name: str, text: str, labels: tuple[str, ...]) -> Counter:
            return Counter(name, text, labels, registry=registry)

        def gauge(name: str, text: str, labels: tuple[str, ...]) -> Gauge:
            return Gauge(name, text, labels, registry=registry)

        def histogram(name: str, text: str, labels: tuple[str, ...], buckets: tuple[float, ...]) -> Histogram:
            return Histogram(name, text, labels, registry=registry, buckets=buckets)

        runtime = "controller_runtime_"
        self.reconcile_total = counter(
            f"{runtime}reconcile_total", "Reconciles by how they ended", ("controller", "result")
        )
        self.reconcile_errors = counter(
            f"{runtime}reconcile_errors_total", "Reconciles that failed", by_controller
        )
        self.terminal_errors = counter(
            f"{runtime}terminal_reconcile_errors_total",
            "Reconciles that failed with an error that only a change can mend",
            by_controller,
        )
        self.panics = counter(
            f"{runtime}reconcile_panics_total",
            "Reconciles that failed by a defect of the reconciler",
            by_controller,
        )
        self.reconcile_time = histogram(
            f"{runtime}reconcile_time_seconds", "Duration of a reconcile", by_controller, _RECONCILE_BUCKETS
        )
        self.max_concurrent = gauge(
            f"{runtime}max_concurrent_reconciles", "Reconciles that may run at once", by_controller
        )
        self.active_workers = gauge(f"{runtime}active_workers", "Reconciles that run now", by_controller)

        self.depth = gauge("workqueue_depth", "Keys that are due and wait for a worker", by_queue)
        self.adds = counter("workqueue_adds_total", "Keys added to the queue", by_queue)
        self.retries = counter("workqueue_retries_total", "Keys added again after a failure", by_queue)
        self.queue_duration = histogram(
            "workqueue_queue_duration_seconds",
            "How long a key that is due waits for a worker",
            by_queue,
            _QUEUE_BUCKETS,
        )
        self.work_duration = histogram(
            "workqueue_work_duration_seconds",
            "How long a worker is busy with a key",
            by_queue,
            _QUEUE_BUCKETS,
        )
        self.unfinished = gauge(
            "workqueue_unfinished_work_seconds",
            "Ages of all work in progress, added up: grows when work is stuck",
            by_queue,
        )
        self.longest = gauge(
            "workqueue_longest_running_processor_seconds", "Age of the oldest work in progress", by_queue
        )

        self.triggers = counter(
            "openclaw_triggers_total",
            "Changes that asked for a reconcile: `reason` is added, updated or deleted",
            ("controller", "kind", "reason"),
        )
        self.requests = counter(
            "rest_client_requests_total", "Requests to the API server by answer", ("code", "method", "host")
        )
        self.watch_restarts = counter(
            "openclaw_watch_restarts_total", "Watches begun anew", ("kind", "reason")
        )


class _AtScrape(Collector):
    """The families whose numbers others keep."""

    def __init__(self, caches: dict[str, Callable[[], CacheStats]], watches: dict[str, WatchMetrics]) -> None:
        self._caches = caches
        self._watches = watches

    def describe(self) -> Iterable[Metric]:
        """The families without samples: what registration asks, when there may be nothing to read yet."""
        return self._new_families()

    def collect(self) -> Iterable[Metric]:
        """Read all caches and watches."""
        objects, size, events, age = families = self._new_families()
        for kind, read in tuple(self._caches.items()):
            try:
                stats = read()
            except Exception:  # one cache that cannot be read must not hide every other metric
                log.exception("cannot read the statistics of a cache", extra={"kind": kind})
                continue
            objects.add_metric((kind,), stats.objects)
            size.add_metric((kind,), stats.bytes)
            for outcome, count in stats.events.items():
                events.add_metric((kind, outcome), count)
        for kind, watch in tuple(self._watches.items()):
            seconds = watch.last_event_age
            if seconds is not None:
                age.add_metric((kind,), seconds)
        return families

    @staticmethod
    def _new_families() -> tuple[
        GaugeMetricFamily, GaugeMetricFamily, CounterMetricFamily, GaugeMetricFamily
    ]:
        return (
            GaugeMetricFamily("openclaw_cache_objects", "Objects held in the cache", labels=("kind",)),
            GaugeMetricFamily(
                "openclaw_cache_bytes", "Memory that the cached objects take", labels=("kind",)
            ),
            CounterMetricFamily(
                "openclaw_cache_events_total",
                "Watch events by what became of them",
                labels=("kind", "outcome"),
            ),
            GaugeMetricFamily(
                "openclaw_watch_last_event_age_seconds",
                "Time since the server last sent something, bookmarks included",
                labels=("kind",),
            ),
        )


class _Registry(CollectorRegistry):
    """A registry without `*_created` series: they would double a scrape, and no dashboard reads them."""

    def collect(self) -> Iterable[Metric]:
        """All metrics, as prometheus_client's own but for the samples named above."""
        for metric in super().collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric
