"""What the dashboards of an operator show: pages of rows of panels. tools/dashboards.py writes them.

Every expression returns data from a healthy operator; tests/monitoring asks a real Prometheus.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Query:
    """PromQL, and what its series are called."""

    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """A graph, or with `kind="stat"` the latest value as a number.

    Attributes:
        unit: Grafana's name of it: short, s, ops, bytes, percentunit.
        width: in 24ths of the page.
        bad_above: a stat turns red above it.
        stacked: whether the series add up to a whole.
    """

    title: str
    queries: tuple[Query, ...]
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 8
    bad_above: float | None = None
    stacked: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under a heading."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A page.

    Attributes:
        variable: a label to choose values of, beside the namespace, and a metric that has it.
    """

    uid: str
    title: str
    rows: tuple[Row, ...]
    variable: tuple[str, str]


def quantiles(metric: str, where: str, by: str, legend: str) -> tuple[Query, ...]:
    """Median and 99th percentile of a histogram."""
    rate = f"sum by (le, {by}) (rate({metric}_bucket{{{where}}}[$__rate_interval]))"
    return tuple(
        Query(f"histogram_quantile({quantile}, {rate})", f"{legend} {name}")
        for quantile, name in ((0.5, "p50"), (0.99, "p99"))
    )


def summed(metric: str, where: str, by: str, legend: str) -> tuple[Query]:
    """A gauge, added up."""
    return (Query(f"sum by ({by}) ({metric}{{{where}}})", legend),)


def per_second(metric: str, where: str, by: str, legend: str) -> tuple[Query]:
    """A counter's rate, added up."""
    return (Query(f"sum by ({by}) (rate({metric}{{{where}}}[$__rate_interval]))", legend),)


HERE = 'namespace=~"$namespace"'
CONTROLLER = f'{HERE}, controller=~"$controller"'
POD = f'{HERE}, pod=~"$pod"'
PROVIDER = f'{HERE}, provider=~"$provider"'

OPERATOR = Dashboard(
    "openclaw-operator",
    "openclaw / Operator",
    variable=("controller", "controller_runtime_max_concurrent_reconciles"),
    rows=(
        Row(
            "Reconciles",
            (
                Panel(
                    "Reconciles by result",
                    per_second("controller_runtime_reconcile_total", CONTROLLER, "result", "{{result}}"),
                    "ops",
                    stacked=True,
                ),
                Panel(
                    "Errors",
                    per_second(
                        "controller_runtime_reconcile_errors_total",
                        CONTROLLER,
                        "controller",
                        "{{controller}}",
                    )
                    + per_second(
                        "controller_runtime_terminal_reconcile_errors_total",
                        CONTROLLER,
                        "controller",
                        "{{controller}} terminal",
                    )
                    + per_second(
                        "controller_runtime_reconcile_panics_total",
                        CONTROLLER,
                        "controller",
                        "{{controller}} defects",
                    ),
                    "ops",
                ),
                Panel(
                    "Duration of a reconcile",
                    quantiles(
                        "controller_runtime_reconcile_time_seconds",
                        CONTROLLER,
                        "controller",
                        "{{controller}}",
                    ),
                    "s",
                ),
                Panel(
                    "What asked for reconciles",
                    per_second("openclaw_triggers_total", CONTROLLER, "kind, reason", "{{kind}} {{reason}}"),
                    "ops",
                    width=12,
                ),
                Panel(
                    "Workers that are busy, and that there are",
                    summed(
                        "controller_runtime_active_workers", CONTROLLER, "controller", "{{controller}} busy"
                    )
                    + summed(
                        "controller_runtime_max_concurrent_reconciles",
                        CONTROLLER,
                        "controller",
                        "{{controller}} in all",
                    ),
                    width=12,
                ),
            ),
        ),
        Row(
            "Queues",
            (
                Panel(
                    "Objects that wait", summed("workqueue_depth", CONTROLLER, "controller", "{{controller}}")
                ),
                Panel(
                    "How long they wait",
                    quantiles("workqueue_queue_duration_seconds", CONTROLLER, "controller", "{{controller}}"),
                    "s",
                ),
                Panel(
                    "Oldest run under way",
                    (
                        Query(
                            "max by (controller) "
                            f"(workqueue_longest_running_processor_seconds{{{CONTROLLER}}})",
                            "{{controller}}",
                        ),
                    ),
                    "s",
                ),
                Panel(
                    "Added, and added again after a failure",
                    per_second("workqueue_adds_total", CONTROLLER, "controller", "{{controller}}")
                    + per_second("workqueue_retries_total", CONTROLLER, "controller", "{{controller}} again"),
                    "ops",
                    width=24,
                ),
            ),
        ),
        Row(
            "API server and caches",
            (
                Panel(
                    "Requests by method and code",
                    per_second("rest_client_requests_total", HERE, "method, code", "{{method}} {{code}}"),
                    "ops",
                ),
                Panel(
                    "Last word of each watch",
                    (
                        Query(
                            f"max by (kind) (openclaw_watch_last_event_age_seconds{{{HERE}}})",
                            "{{kind}}",
                        ),
                    ),
                    "s",
                ),
                Panel(
                    "Watches begun anew",
                    per_second("openclaw_watch_restarts_total", HERE, "kind, reason", "{{kind}} {{reason}}"),
                    "ops",
                ),
                Panel("Objects in the caches", summed("openclaw_cache_objects", HERE, "kind", "{{kind}}")),
                Panel(
                    "Memory of the caches",
                    summed("openclaw_cache_bytes", HERE, "kind", "{{kind}}"),
                    "bytes",
                    stacked=True,
                ),
                Panel(
                    "Watch events by what became of them",
                    per_second("openclaw_cache_events_total", HERE, "outcome", "{{outcome}}"),
                    "ops",
                ),
            ),
        ),
        Row(
            "Processes",
            (
                Panel(
                    "CPU, in cores", per_second("process_cpu_seconds_total", HERE, "pod", "{{pod}}"), width=6
                ),
                Panel(
                    "Memory",
                    summed("process_resident_memory_bytes", HERE, "pod", "{{pod}}"),
                    "bytes",
                    width=6,
                ),
                Panel(
                    "Event loop's lag",
                    quantiles("openclaw_event_loop_lag_seconds", HERE, "pod", "{{pod}}"),
                    "s",
                    width=6,
                ),
                Panel(
                    "Spans dropped",
                    per_second("openclaw_spans_dropped_total", HERE, "reason", "{{reason}}"),
                    "ops",
                    width=6,
                ),
            ),
        ),
    ),
)

SHARDS = Dashboard(
    "openclaw-shards",
    "openclaw / Shards",
    variable=("pod", "openclaw_shard_slots"),
    rows=(
        Row(
            "Who acts on what",
            (
                Panel(
                    "Slots without an owner",
                    (Query(f"max(min by (namespace, job) (openclaw_slots_unowned{{{HERE}}}))"),),
                    kind="stat",
                    width=6,
                    bad_above=0,
                ),
                Panel(
                    "Slots with two owners",
                    (Query(f"max(openclaw_slots_contested{{{HERE}}})"),),
                    kind="stat",
                    width=6,
                    bad_above=0,
                ),
                Panel(
                    "Shards in the ring",
                    (Query(f"max(openclaw_shards{{{HERE}}})"),),
                    kind="stat",
                    width=6,
                ),
                Panel(
                    "Least time to a fence",
                    (Query(f"min(openclaw_shard_fence_seconds{{{HERE}}})"),),
                    "s",
                    kind="stat",
                    width=6,
                ),
                Panel(
                    "Slots acted on",
                    summed("openclaw_shard_slots", POD, "pod", "{{pod}}"),
                    stacked=True,
                ),
                Panel(
                    "Slots of the ring",
                    summed("openclaw_shard_ring_slots", POD, "pod", "{{pod}}"),
                    stacked=True,
                ),
                Panel(
                    "Time that a shard may act without a renewal",
                    summed("openclaw_shard_fence_seconds", POD, "pod", "{{pod}}"),
                    "s",
                ),
            ),
        ),
        Row(
            "Hand-over",
            (
                Panel(
                    "Slots moved",
                    (
                        Query(
                            "sum by (pod, direction) "
                            f"(increase(openclaw_slots_moved_total{{{POD}}}[$__rate_interval]))",
                            "{{pod}} {{direction}}",
                        ),
                    ),
                    width=6,
                ),
                Panel(
                    "Time of its parts",
                    (
                        Query(
                            f"sum by (phase) (openclaw_handover_seconds_sum{{{POD}}})"
                            f" / sum by (phase) (openclaw_handover_seconds_count{{{POD}}})",
                            "{{phase}} mean",
                        ),
                    ),
                    "s",
                    width=6,
                ),
                Panel(
                    "Fences lost",
                    (
                        Query(
                            "sum by (pod) "
                            f"(increase(openclaw_shard_fences_lost_total{{{POD}}}[$__rate_interval]))",
                            "{{pod}}",
                        ),
                    ),
                    width=6,
                ),
                Panel(
                    "Writes of Leases",
                    per_second("openclaw_lease_writes_total", POD, "result", "{{result}}"),
                    "ops",
                    width=6,
                ),
            ),
        ),
        Row(
            "Work by shard",
            (
                Panel(
                    "Reconciles",
                    per_second("controller_runtime_reconcile_total", POD, "pod", "{{pod}}"),
                    "ops",
                ),
                Panel("Objects that wait", summed("workqueue_depth", POD, "pod", "{{pod}}")),
                Panel(
                    "Watch events by what became of them (foreign: of other shards)",
                    per_second("openclaw_cache_events_total", POD, "pod, outcome", "{{pod}} {{outcome}}"),
                    "ops",
                ),
            ),
        ),
    ),
)

EXTERNAL = Dashboard(
    "openclaw-external",
    "openclaw / External resources",
    variable=("provider", "external_api_call_total"),
    rows=(
        Row(
            "Objects",
            (
                Panel(
                    "Objects by phase",
                    summed("resource_phase", HERE, "kind, phase", "{{kind}} {{phase}}"),
                    width=16,
                    stacked=True,
                ),
                Panel(
                    "Objects in phase Failed",
                    (Query(f'sum(resource_phase{{{HERE}, phase="Failed"}})'),),
                    kind="stat",
                    bad_above=0,
                ),
            ),
        ),
        Row(
            "Calls",
            (
                Panel(
                    "Calls by operation",
                    per_second(
                        "external_api_call_total",
                        PROVIDER,
                        "provider, operation",
                        "{{provider}} {{operation}}",
                    ),
                    "ops",
                ),
                Panel(
                    "Calls by result",
                    per_second(
                        "external_api_call_total", PROVIDER, "provider, result", "{{provider}} {{result}}"
                    ),
                    "ops",
                    stacked=True,
                ),
                Panel(
                    "Duration of a call",
                    quantiles(
                        "external_api_call_duration_seconds",
                        PROVIDER,
                        "provider, operation",
                        "{{provider}} {{operation}}",
                    ),
                    "s",
                ),
                Panel(
                    "Calls under way",
                    summed(
                        "external_api_calls_under_way",
                        PROVIDER,
                        "provider, account",
                        "{{provider}} {{account}}",
                    ),
                ),
                Panel(
                    "Observations by where they came from",
                    per_second(
                        "external_api_observations_total",
                        PROVIDER,
                        "provider, source",
                        "{{provider}} {{source}}",
                    ),
                    "ops",
                ),
                Panel(
                    "Breakers: 0 closed, 1 half-open, 2 open",
                    (
                        Query(
                            f"max by (provider, account) (external_api_breaker_state{{{PROVIDER}}})",
                            "{{provider}} {{account}}",
                        ),
                    ),
                ),
                Panel(
                    "Seconds waited for limits, each second: ours (local) and the system's (remote)",
                    per_second(
                        "external_api_throttle_wait_seconds_sum",
                        PROVIDER,
                        "provider, source",
                        "{{provider}} {{source}}",
                    ),
                    "s",
                    width=24,
                ),
            ),
        ),
    ),
)


DASHBOARDS = (OPERATOR, SHARDS, EXTERNAL)
