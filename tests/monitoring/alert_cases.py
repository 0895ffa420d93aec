"""Days on which an alert has to fire, and days that look like them on which it must not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["CASES", "Case"]

_POD: Final = 'namespace="openclaw-system", pod="openclaw-0"'
_OTHER_POD: Final = 'namespace="openclaw-system", pod="openclaw-1"'
_OF_POD: Final = {"namespace": "openclaw-system", "pod": "openclaw-0"}
_KIND: Final = f'{_POD}, kind="OpenClaw"'
_OF_KIND: Final = {**_OF_POD, "kind": "OpenClaw"}
_CONTROLLER: Final = f'{_POD}, controller="openclaw"'
_OF_CONTROLLER: Final = {"namespace": "openclaw-system", "controller": "openclaw"}


@dataclass(frozen=True)
class Case:
    """Series, a sample a minute, and what has become of an alert at a time.

    Attributes:
        alert: its name.
        what: the day, in words.
        at: minutes from the first sample.
        series: values by series, as promtool writes them.
        fires: the labels of each alert that fires then; none on a day on which nothing is to fire.
        value: `{{ $value }}` of them, where its texts name it.
    """

    alert: str
    what: str
    at: int
    series: dict[str, str]
    fires: tuple[dict[str, str], ...] = ()
    value: str = ""


CASES: Final = (
    Case("OpenClawAway", "nothing is scraped", 6, {}, ({"namespace": "openclaw-system"},)),
    Case(
        "OpenClawAway",
        "an operator of another namespace is no substitute",
        6,
        {'controller_runtime_max_concurrent_reconciles{namespace="shop"}': "10x10"},
        ({"namespace": "openclaw-system"},),
    ),
    Case(
        "OpenClawAway",
        "back before five minutes have passed",
        6,
        {'controller_runtime_max_concurrent_reconciles{namespace="openclaw-system"}': "10 _x4 10x5"},
    ),
    Case(
        "OpenClawWatchSilent",
        "nothing has come for more than ten minutes",
        13,
        {f"openclaw_watch_last_event_age_seconds{{{_KIND}}}": "0+60x20"},
        (_OF_KIND,),
    ),
    Case(
        "OpenClawWatchSilent",
        "a quiet kind, whose watch the server ends now and then",
        30,
        {f"openclaw_watch_last_event_age_seconds{{{_KIND}}}": "0+60x9 0+60x9 0+60x9"},
    ),
    Case(
        "OpenClawWatchRestarts",
        "it breaks every minute",
        25,
        {f'openclaw_watch_restarts_total{{{_KIND}, reason="error"}}': "0+1x40"},
        (_OF_KIND,),
    ),
    Case(
        "OpenClawWatchRestarts",
        "the server ends it every minute, and an API server was restarted",
        25,
        {
            f'openclaw_watch_restarts_total{{{_KIND}, reason="ended"}}': "0+1x40",
            f'openclaw_watch_restarts_total{{{_KIND}, reason="error"}}': "0x10 5x30",
        },
    ),
    Case(
        "OpenClawReconcileErrors",
        "runs of one shard fail all the time",
        45,
        {
            f"controller_runtime_reconcile_errors_total{{{_CONTROLLER}}}": "0+1x60",
            f'controller_runtime_reconcile_errors_total{{{_OTHER_POD}, controller="openclaw"}}': "7x60",
        },
        (_OF_CONTROLLER,),
    ),
    Case(
        "OpenClawReconcileErrors",
        "ten minutes of errors, an hour ago",
        90,
        {f"controller_runtime_reconcile_errors_total{{{_CONTROLLER}}}": "0x10 0+1x10 10x70"},
    ),
    Case(
        "OpenClawReconcilePanics",
        "the first one",
        12,
        {f"controller_runtime_reconcile_panics_total{{{_CONTROLLER}}}": "0x10 1x10"},
        (_OF_CONTROLLER,),
    ),
    Case(
        "OpenClawReconcilePanics",
        "one yesterday, and a restart",
        12,
        {f"controller_runtime_reconcile_panics_total{{{_CONTROLLER}}}": "1x5 0x10"},
    ),
    Case(
        "OpenClawReconcileStuck",
        "a run goes on and on",
        5,
        {f"workqueue_longest_running_processor_seconds{{{_CONTROLLER}}}": "0+60x10"},
        ({**_OF_POD, "controller": "openclaw"},),
    ),
    Case(
        "OpenClawReconcileStuck",
        "runs that use up their deadline, one after the other",
        20,
        {f"workqueue_longest_running_processor_seconds{{{_CONTROLLER}}}": "60x20"},
    ),
    Case(
        "OpenClawQueueBacklog",
        "it is never empty",
        11,
        {f"workqueue_depth{{{_CONTROLLER}}}": "5x20"},
        ({**_OF_POD, "controller": "openclaw"},),
    ),
    Case(
        "OpenClawQueueBacklog",
        "much work, and then it is done",
        11,
        {f"workqueue_depth{{{_CONTROLLER}}}": "1000-200x5 0 40x20"},
    ),
    Case(
        "OpenClawRequestsFail",
        "one in five has no answer, or a bad one",
        20,
        {
            f'rest_client_requests_total{{{_POD}, code="200"}}': "0+8x30",
            f'rest_client_requests_total{{{_POD}, code="503"}}': "0+1x30",
            f'rest_client_requests_total{{{_POD}, code="<error>"}}': "0+1x30",
            f'rest_client_requests_total{{{_OTHER_POD}, code="200"}}': "0+8x30",
        },
        (_OF_POD,),
    ),
    Case(
        "OpenClawRequestsFail",
        "conflicts, and what is not there",
        20,
        {
            f'rest_client_requests_total{{{_POD}, code="200"}}': "0+8x30",
            f'rest_client_requests_total{{{_POD}, code="409"}}': "0+8x30",
            f'rest_client_requests_total{{{_POD}, code="404"}}': "0+8x30",
            f'rest_client_requests_total{{{_POD}, code="500"}}': "0+1x30",
        },
    ),
    Case(
        "OpenClawEventsMalformed",
        "one event",
        12,
        {f'openclaw_cache_events_total{{{_KIND}, outcome="malformed"}}': "0x10 1x10"},
        (_OF_KIND,),
    ),
    Case(
        "OpenClawEventsMalformed",
        "events of every other sort",
        12,
        {
            f'openclaw_cache_events_total{{{_KIND}, outcome="malformed"}}': "0x20",
            f'openclaw_cache_events_total{{{_KIND}, outcome="foreign"}}': "0+100x20",
        },
    ),
    Case(
        "OpenClawSlotsUnowned",
        "no shard acts on 85 of them, as all can see",
        4,
        {f'openclaw_slots_unowned{{{pod}, job="openclaw"}}': "0 85x10" for pod in (_POD, _OTHER_POD)},
        ({"namespace": "openclaw-system", "job": "openclaw"},),
        value="85",
    ),
    Case(
        "OpenClawSlotsUnowned",
        "another operator of the namespace is well",
        4,
        {
            f'openclaw_slots_unowned{{{_POD}, job="openclaw"}}': "0 256x10",
            f'openclaw_slots_unowned{{{_OTHER_POD}, job="databases"}}': "0x11",
        },
        ({"namespace": "openclaw-system", "job": "openclaw"},),
        value="256",
    ),
    Case(
        "OpenClawSlotsUnowned",
        "one shard has an old picture, and a pod restarts",
        10,
        {
            f'openclaw_slots_unowned{{{_POD}, job="openclaw"}}': "85x20",
            f'openclaw_slots_unowned{{{_OTHER_POD}, job="openclaw"}}': "0x6 85x2 0x10",
        },
    ),
    Case(
        "OpenClawSlotsContested",
        "one shard sees two owners",
        3,
        {
            f"openclaw_slots_contested{{{_POD}}}": "0 3x10",
            f"openclaw_slots_contested{{{_OTHER_POD}}}": "0x11",
        },
        ({"namespace": "openclaw-system"},),
    ),
    Case(
        "OpenClawSlotsContested",
        "Leases that were read while one was written",
        3,
        {f"openclaw_slots_contested{{{_POD}}}": "0 0 0 3 0 0"},
    ),
    Case(
        "OpenClawShardIdle",
        "its fence has been down for minutes",
        6,
        {
            f"openclaw_shard_fence_seconds{{{_POD}}}": "8 8 -10-60x10",
            f"openclaw_shard_fence_seconds{{{_OTHER_POD}}}": "8x10",
        },
        (_OF_POD,),
    ),
    Case(
        "OpenClawShardIdle",
        "a renewal that was late",
        6,
        {f"openclaw_shard_fence_seconds{{{_POD}}}": "8 8 8 -3 8 8 8"},
    ),
    Case(
        "OpenClawFenceLost",
        "every few minutes",
        35,
        {f"openclaw_shard_fences_lost_total{{{_POD}}}": "0x10 0+0.2x40"},
        (_OF_POD,),
    ),
    Case(
        "OpenClawFenceLost",
        "once, with the API server",
        35,
        {f"openclaw_shard_fences_lost_total{{{_POD}}}": "0x20 1x20"},
    ),
    Case(
        "OpenClawShardsDiffer",
        "for more than half an hour",
        35,
        {f"openclaw_shards_different{{{_POD}}}": "1x40"},
        ({"namespace": "openclaw-system"},),
    ),
    Case(
        "OpenClawShardsDiffer",
        "while a version is rolled out",
        35,
        {f"openclaw_shards_different{{{_POD}}}": "0 1x20 0x20"},
    ),
    Case(
        "OpenClawEventLoopBlocked",
        "each look is two seconds late",
        20,
        {
            f'openclaw_event_loop_lag_seconds_bucket{{{_POD}, le="1"}}': "0x30",
            f'openclaw_event_loop_lag_seconds_bucket{{{_POD}, le="2.5"}}': "0+30x30",
            f'openclaw_event_loop_lag_seconds_bucket{{{_POD}, le="+Inf"}}': "0+30x30",
        },
        (_OF_POD,),
    ),
    Case(
        "OpenClawEventLoopBlocked",
        "one in a thousand",
        20,
        {
            f'openclaw_event_loop_lag_seconds_bucket{{{_POD}, le="0.01"}}': "0+999x30",
            f'openclaw_event_loop_lag_seconds_bucket{{{_POD}, le="1"}}': "0+999x30",
            f'openclaw_event_loop_lag_seconds_bucket{{{_POD}, le="+Inf"}}': "0+1000x30",
        },
    ),
    Case(
        "OpenClawSpansDropped",
        "the collector is away",
        30,
        {f'openclaw_spans_dropped_total{{{_POD}, reason="export"}}': "0+50x40"},
        (_OF_POD,),
    ),
    Case(
        "OpenClawSpansDropped",
        "what is dropped by design",
        30,
        {
            f'openclaw_spans_dropped_total{{{_POD}, reason="rate"}}': "0+50x40",
            f'openclaw_spans_dropped_total{{{_POD}, reason="limit"}}': "0+50x40",
        },
    ),
    Case(
        "OpenClawBreakerOpen",
        "it stays open on one shard",
        7,
        {
            f'external_api_breaker_state{{{_POD}, provider="aws-rds", account="1234"}}': "0 2x10",
            f'external_api_breaker_state{{{_OTHER_POD}, provider="aws-rds", account="1234"}}': "0x11",
        },
        ({"namespace": "openclaw-system", "provider": "aws-rds", "account": "1234"},),
    ),
    Case(
        "OpenClawBreakerOpen",
        "a probe closes it",
        7,
        {f'external_api_breaker_state{{{_POD}, provider="aws-rds", account="1234"}}': "0 2 2 1 0x10"},
    ),
    Case(
        "OpenClawExternalCallsFail",
        "one in two, for different reasons",
        30,
        {
            f'external_api_call_total{{{_POD}, provider="aws-rds", result="success"}}': "0+10x40",
            f'external_api_call_total{{{_POD}, provider="aws-rds", result="transient"}}': "0+5x40",
            f'external_api_call_total{{{_POD}, provider="aws-rds", result="throttled"}}': "0+5x40",
            f'external_api_call_total{{{_POD}, provider="http", result="success"}}': "0+10x40",
        },
        ({"namespace": "openclaw-system", "provider": "aws-rds"},),
    ),
    Case(
        "OpenClawExternalCallsFail",
        "what users ask for that there is not",
        30,
        {
            f'external_api_call_total{{{_POD}, provider="aws-rds", result="success"}}': "0+10x40",
            f'external_api_call_total{{{_POD}, provider="aws-rds", result="not_found"}}': "0+10x40",
            f'external_api_call_total{{{_POD}, provider="aws-rds", result="invalid"}}': "0+10x40",
            f'external_api_call_total{{{_POD}, provider="aws-rds", result="transient"}}': "0+1x40",
        },
    ),
    Case(
        "OpenClawResourcesFailed",
        "one of many",
        16,
        {
            f'resource_phase{{{_POD}, kind="RDSInstance", phase="Failed"}}': "1x20",
            f'resource_phase{{{_POD}, kind="RDSInstance", phase="Available"}}': "200x20",
            f'resource_phase{{{_OTHER_POD}, kind="RDSInstance", phase="Failed"}}': "0x20",
        },
        ({"namespace": "openclaw-system", "kind": "RDSInstance"},),
    ),
    Case(
        "OpenClawResourcesFailed",
        "put right within minutes",
        16,
        {f'resource_phase{{{_POD}, kind="RDSInstance", phase="Failed"}}': "1x8 0x20"},
    ),
)
