from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from openclaw.telemetry import CacheStats, Metrics

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def metrics(clock: Clock) -> Metrics:
    return Metrics(clock=clock, process=False)


@pytest.fixture
def value(metrics: Metrics) -> Callable[..., float | None]:
    def read(name: str, /, **labels: str) -> float | None:
        body, _ = metrics.render()
        for family in text_string_to_metric_families(body.decode()):
            for sample in family.samples:
                if sample.name == name and sample.labels == labels:
                    return sample.value
        return None

    return read


Value = Callable[..., float | None]


@pytest.mark.parametrize("outcome", ["success", "error", "requeue", "requeue_after"])
def test_a_run_is_counted_by_how_it_ended(metrics: Metrics, value: Value, outcome: Any) -> None:
    metrics.controller("openclaw").begin().end(outcome)
    for result in ("success", "error", "requeue", "requeue_after"):
        expected = 1 if result == outcome else 0
        assert value("controller_runtime_reconcile_total", controller="openclaw", result=result) == expected
    assert value("controller_runtime_reconcile_errors_total", controller="openclaw") == (outcome == "error")


@pytest.mark.parametrize(("terminal", "panic"), [(False, False), (True, False), (False, True)])
def test_terminal_errors_and_defects_are_counted_besides(
    metrics: Metrics, value: Value, terminal: bool, panic: bool
) -> None:
    metrics.controller("c").begin().end("error", terminal=terminal, panic=panic)
    assert value("controller_runtime_reconcile_errors_total", controller="c") == 1
    assert value("controller_runtime_terminal_reconcile_errors_total", controller="c") == terminal
    assert value("controller_runtime_reconcile_panics_total", controller="c") == panic


def test_durations(metrics: Metrics, clock: Clock, value: Value) -> None:
    run = metrics.controller("c").begin(waited=0.2)
    clock.now += 0.75
    assert run.end("success") == pytest.approx(0.75)
    assert value("controller_runtime_reconcile_time_seconds_sum", controller="c") == pytest.approx(0.75)
    assert value("controller_runtime_reconcile_time_seconds_bucket", controller="c", le="0.7") == 0
    assert value("controller_runtime_reconcile_time_seconds_bucket", controller="c", le="0.8") == 1
    queue = {"name": "c", "controller": "c"}
    assert value("workqueue_queue_duration_seconds_sum", **queue) == pytest.approx(0.2)
    assert value("workqueue_queue_duration_seconds_bucket", **queue, le="0.1") == 0
    assert value("workqueue_queue_duration_seconds_bucket", **queue, le="1.0") == 1
    assert value("workqueue_work_duration_seconds_sum", **queue) == pytest.approx(0.75)


def test_work_in_progress(metrics: Metrics, clock: Clock, value: Value) -> None:
    controller = metrics.controller("c")
    queue = {"name": "c", "controller": "c"}

    def progress() -> tuple[float | None, ...]:
        return (
            value("controller_runtime_active_workers", controller="c"),
            value("workqueue_unfinished_work_seconds", **queue),
            value("workqueue_longest_running_processor_seconds", **queue),
        )

    assert progress() == (0, 0, 0)
    first = controller.begin()
    clock.now += 10
    second = controller.begin()
    clock.now += 5
    assert progress() == (2, 20, 15)
    first.end("success")
    assert progress() == (1, 5, 5)
    second.end("error")
    assert progress() == (0, 0, 0)


def test_the_queue(metrics: Metrics, value: Value) -> None:
    controller = metrics.controller("c")
    waiting = ["a"]
    controller.follow_queue(lambda: len(waiting))
    controller.added()
    controller.added()
    controller.retried()
    queue = {"name": "c", "controller": "c"}
    assert value("workqueue_depth", **queue) == 1
    assert value("workqueue_adds_total", **queue) == 2
    assert value("workqueue_retries_total", **queue) == 1
    waiting.append("b")
    assert value("workqueue_depth", **queue) == 2


def test_concurrency(metrics: Metrics, value: Value) -> None:
    metrics.controller("c").set_concurrency(8)
    assert value("controller_runtime_max_concurrent_reconciles", controller="c") == 8


def test_one_name_is_one_controller(metrics: Metrics, value: Value) -> None:
    metrics.controller("c").begin().end("success")
    metrics.controller("c").begin().end("success")
    metrics.controller("d").begin().end("success")
    assert value("controller_runtime_reconcile_total", controller="c", result="success") == 2
    assert value("controller_runtime_reconcile_total", controller="d", result="success") == 1


def test_requests(metrics: Metrics, value: Value) -> None:
    for code in ("200", "200", "409", "<error>"):
        metrics.request(code, "PATCH", "127.0.0.1:6443")
    labels = {"method": "PATCH", "host": "127.0.0.1:6443"}
    assert value("rest_client_requests_total", code="200", **labels) == 2
    assert value("rest_client_requests_total", code="409", **labels) == 1
    assert value("rest_client_requests_total", code="<error>", **labels) == 1


def test_caches_are_read_at_the_scrape(metrics: Metrics, value: Value) -> None:
    stats = CacheStats(objects=1, bytes=2, events={"delta": 3})
    metrics.follow_cache("OpenClaw", lambda: stats)
    assert value("openclaw_cache_objects", kind="OpenClaw") == 1
    assert value("openclaw_cache_bytes", kind="OpenClaw") == 2
    assert value("openclaw_cache_events_total", kind="OpenClaw", outcome="delta") == 3
    stats = CacheStats(objects=10, bytes=20, events={"delta": 3, "unchanged": 4})
    assert value("openclaw_cache_objects", kind="OpenClaw") == 10
    assert value("openclaw_cache_events_total", kind="OpenClaw", outcome="unchanged") == 4


def test_a_cache_that_cannot_be_read_hides_no_other_metric(
    metrics: Metrics, value: Value, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> CacheStats:
        raise RuntimeError("closed")

    metrics.follow_cache("Broken", broken)
    metrics.follow_cache("Whole", lambda: CacheStats(objects=1, bytes=2))
    assert value("openclaw_cache_objects", kind="Whole") == 1
    assert value("openclaw_cache_objects", kind="Broken") is None
    assert "statistics of a cache" in caplog.text


def test_the_age_of_the_last_event_grows_until_the_next(metrics: Metrics, clock: Clock, value: Value) -> None:
    watch = metrics.watch("OpenClaw")
    assert value("openclaw_watch_last_event_age_seconds", kind="OpenClaw") is None
    last = clock.now
    watch.follow(lambda: last)
    clock.now += 30
    assert value("openclaw_watch_last_event_age_seconds", kind="OpenClaw") == 30
    last = clock.now
    assert value("openclaw_watch_last_event_age_seconds", kind="OpenClaw") == 0


def test_restarts_of_a_watch_have_a_reason(metrics: Metrics, value: Value) -> None:
    metrics.watch("OpenClaw").restarted("expired")
    metrics.watch("OpenClaw").restarted("idle")
    metrics.watch("OpenClaw").restarted("idle")
    assert value("openclaw_watch_restarts_total", kind="OpenClaw", reason="expired") == 1
    assert value("openclaw_watch_restarts_total", kind="OpenClaw", reason="idle") == 2


def test_two_managers_share_nothing() -> None:
    one, other = Metrics(process=False), Metrics(process=False)
    one.controller("c").begin().end("success")
    assert b'controller="c"' in one.render()[0]
    assert b'controller="c"' not in other.render()[0]


def test_the_names_and_labels_that_dashboards_read(metrics: Metrics) -> None:
    metrics.controller("c").begin().end("success")
    metrics.request("200", "GET", "h")
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(metrics.render()[0].decode()):
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    queue = {"name", "controller"}
    histogram = {"le"}
    assert {
        "controller_runtime_reconcile_total": {"controller", "result"},
        "controller_runtime_reconcile_errors_total": {"controller"},
        "controller_runtime_reconcile_panics_total": {"controller"},
        "controller_runtime_terminal_reconcile_errors_total": {"controller"},
        "controller_runtime_reconcile_time_seconds_bucket": {"controller"} | histogram,
        "controller_runtime_active_workers": {"controller"},
        "controller_runtime_max_concurrent_reconciles": {"controller"},
        "workqueue_depth": queue,
        "workqueue_adds_total": queue,
        "workqueue_retries_total": queue,
        "workqueue_queue_duration_seconds_bucket": queue | histogram,
        "workqueue_work_duration_seconds_bucket": queue | histogram,
        "workqueue_unfinished_work_seconds": queue,
        "workqueue_longest_running_processor_seconds": queue,
        "rest_client_requests_total": {"code", "method", "host"},
    }.items() <= labels.items()


def test_buckets_are_controller_runtimes(metrics: Metrics) -> None:
    metrics.controller("c")
    bounds: dict[str, list[float]] = {}
    for family in text_string_to_metric_families(metrics.render()[0].decode()):
        for sample in family.samples:
            if "le" in sample.labels:
                bounds.setdefault(family.name, []).append(float(sample.labels["le"]))
    reconcile = bounds["controller_runtime_reconcile_time_seconds"]
    assert (len(reconcile), reconcile[0], reconcile[-2]) == (41, 0.005, 60)
    queue = bounds["workqueue_queue_duration_seconds"]
    assert queue[:-1] == [pytest.approx(10.0**power) for power in range(-8, 4)]
    assert bounds["workqueue_work_duration_seconds"] == queue


def test_no_created_series(metrics: Metrics) -> None:
    metrics.controller("c").begin().end("success")
    assert b"_created" not in metrics.render()[0]


def test_the_process_is_measured() -> None:
    assert b"process_resident_memory_bytes " in Metrics().render()[0]


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("", "text/plain; version=0.0.4"),
        ("text/plain", "text/plain; version=0.0.4"),
        ("application/openmetrics-text; version=1.0.0", "application/openmetrics-text; version=1.0.0"),
    ],
)
def test_the_scraper_chooses_the_format(metrics: Metrics, accept: str, content_type: str) -> None:
    body, answered = metrics.render(accept)
    assert answered.startswith(content_type)
    assert body.endswith(b"# EOF\n") == ("openmetrics" in content_type)
