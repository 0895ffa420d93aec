"""`openclaw top`: what is made of what the shards say."""

from __future__ import annotations

from datetime import UTC, datetime

from openclaw.cli.top_command import render
from openclaw.cli.top_reading import Endpoint, combine, read_endpoints
from openclaw.sharding.overview import Overview
from openclaw.telemetry.metrics import Metrics

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def endpoint(metrics: Metrics, at: float) -> Endpoint:
    samples = {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
    }
    return Endpoint(metrics=samples, at=at)


def test_rates_and_latencies_are_of_the_time_between_two_looks_and_of_all_shards() -> None:
    clock = [0.0]
    shards = [Metrics(clock=lambda: clock[0], process=False) for _ in range(2)]

    def run(metrics: Metrics, seconds: float, *, fails: bool = False) -> None:
        under_way = metrics.controller("claws").begin()
        clock[0] += seconds
        under_way.end("error" if fails else "success")

    run(shards[0], 50.0)  # before the first look: it counts no more
    before = [endpoint(it, 10.0) for it in shards]
    for _ in range(3):
        run(shards[0], 0.02)
    run(shards[1], 0.02, fails=True)
    [seen] = combine(Overview(()), [endpoint(it, 12.0) for it in shards], before).controllers
    assert (seen.name, seen.rate, seen.errors) == ("claws", 2.0, 0.5)
    assert (seen.p50, seen.p99) == (0.025, 0.025)
    [first] = combine(Overview(()), before).controllers
    assert (first.rate, first.p99) == (None, 50.0)


def test_a_shard_that_began_anew_gives_no_negative_rate() -> None:
    old, new = Metrics(process=False), Metrics(process=False)
    old.controller("claws").begin().end("success")
    new.controller("claws")
    [seen] = combine(Overview(()), [endpoint(new, 2.0)], [endpoint(old, 1.0)]).controllers
    assert (seen.rate, seen.p99) == (0.0, None)


def test_the_slowest_and_the_most_often_failing_come_first_and_obey_no_terminal() -> None:
    error = {"controller": "claws", "attempt": 2, "error": "no\x1b[31m luck\nat all"}
    debug = {
        "running": [
            {"controller": "claws", "object": "shop/quick", "seconds": 0.2},
            {"controller": "claws", "object": "shop/slow", "seconds": 12.0},
        ],
        "last_errors": [error | {"object": "shop/new"}, error | {"object": "shop/old", "attempt": 9}],
    }
    text = render(combine(Overview(()), [Endpoint(debug=debug)]), NOW)
    lines = text.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("shop/")] == [
        "shop/slow",
        "shop/quick",
        "shop/old",
        "shop/new",
    ]
    assert "no [31m luck at all" in text
    assert "\x1b" not in text


async def test_a_shard_that_is_not_reached_is_said_and_hides_nothing() -> None:
    reading = combine(Overview(()), await read_endpoints(["127.0.0.1:1"], ["127.0.0.1:1"]))
    text = render(reading, NOW)
    assert text.startswith("RING")
    assert "! http://127.0.0.1:1/metrics: " in text
    assert "! http://127.0.0.1:1/debug.json: " in text
