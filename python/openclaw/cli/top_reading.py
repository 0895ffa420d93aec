"""What `openclaw top` shows, read from outside: the Leases, and each shard's `/metrics` and `/debug.json`."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
import orjson
from prometheus_client.parser import text_string_to_metric_families

from openclaw.sharding.overview import Overview

__all__ = ["ControllerRates", "Endpoint", "Failing", "Reading", "Running", "combine", "read_endpoints"]

_TIMEOUT: Final = aiohttp.ClientTimeout(total=3.0)
_TOTAL: Final = "controller_runtime_reconcile_total"
_TIME: Final = "controller_runtime_reconcile_time_seconds_bucket"
_WAIT: Final = "workqueue_queue_duration_seconds_bucket"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What one shard said when it was asked; a part is empty where it was not reached.

    Attributes:
        metrics: samples by name and labels.
        debug: the debug page as JSON.
        problem: why something could not be read.
        at: when, in seconds of the monotonic clock.
    """

    metrics: Mapping[tuple[str, frozenset[tuple[str, str]]], float] = field(default_factory=dict)
    debug: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class ControllerRates:
    """One controller over all shards that were reached.

    Attributes:
        name: of the controller.
        rate, errors: runs and failed runs a second; None at the first look.
        p50, p99: duration of a run in seconds, upper bounds by the histogram's buckets.
        wait_p99: how long objects that are due wait for a worker, in seconds.
        depth: objects that wait now.
        busy: runs under way.
    """

    name: str
    rate: float | None
    errors: float | None
    p50: float | None
    p99: float | None
    wait_p99: float | None
    depth: int
    busy: int


@dataclass(frozen=True, slots=True)
class Running:
    """A run under way, and for how many seconds."""

    controller: str
    object: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Failing:
    """The last error of an object that fails."""

    controller: str
    object: str
    attempt: int
    error: str


@dataclass(frozen=True, slots=True)
class Reading:
    """One look.

    Attributes:
        overview: what the Leases say.
        controllers: by name.
        slowest: runs under way, the longest first.
        failing: objects that fail, the most attempts first.
        problems: what could not be read, and why.
    """

    overview: Overview
    controllers: Sequence[ControllerRates]
    slowest: Sequence[Running]
    failing: Sequence[Failing]
    problems: Sequence[str]


async def read_endpoints(metrics: Iterable[str], debug: Iterable[str]) -> list[Endpoint]:
    """Ask all addresses at once. One that does not answer is a problem of its own, and no error."""
    async with aiohttp.ClientSession(timeout=_TIMEOUT) as session:
        asked = [_metrics(session, address) for address in metrics]
        asked += [_debug(session, address) for address in debug]
        return await asyncio.gather(*asked)


async def _metrics(session: aiohttp.ClientSession, address: str) -> Endpoint:
    body, problem = await _get(session, f"http://{address}/metrics")
    at = asyncio.get_running_loop().time()
    try:
        samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(body.decode())
            for sample in family.samples
        }
    except ValueError as error:
        return Endpoint(problem=f"http://{address}/metrics: {error}")
    return Endpoint(metrics=samples, problem=problem, at=at)


async def _debug(session: aiohttp.ClientSession, address: str) -> Endpoint:
    body, problem = await _get(session, f"http://{address}/debug.json")
    try:
        told = orjson.loads(body) if body else {}
    except orjson.JSONDecodeError:
        return Endpoint(problem=f"http://{address}/debug.json: is no JSON")
    return Endpoint(debug=told if isinstance(told, dict) else {}, problem=problem)


async def _get(session: aiohttp.ClientSession, url: str) -> tuple[bytes, str]:
    try:
        async with session.get(url) as answer:
            if not answer.ok:
                return b"", f"{url}: {answer.status}"
            return await answer.read(), ""
    except TimeoutError:
        return b"", f"{url}: no answer in {_TIMEOUT.total:g} s"
    except (aiohttp.ClientError, ValueError) as error:
        return b"", f"{url}: {error}"


def combine(overview: Overview, now: Sequence[Endpoint], before: Sequence[Endpoint] = ()) -> Reading:
    """Put together what was read; rates and quantiles are of the time since `before`, if there is one."""
    latest, earlier = _summed(now), _summed(before)
    seconds = max((it.at for it in now), default=0.0) - max((it.at for it in before), default=0.0)
    names = sorted({labels["controller"] for (name, _), labels in _labelled(latest) if name == _TOTAL})
    running = [Running(it["controller"], it["object"], it["seconds"]) for it in _listed(now, "running")]
    failing = [
        Failing(it["controller"], it["object"], it["attempt"], it["error"])
        for it in _listed(now, "last_errors")
    ]
    return Reading(
        overview,
        [_rates(name, latest, earlier if before else None, seconds) for name in names],
        sorted(running, key=lambda it: -it.seconds),
        sorted(failing, key=lambda it: -it.attempt),
        [it.problem for it in now if it.problem],
    )


_Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def _summed(endpoints: Iterable[Endpoint]) -> _Samples:
    summed: _Samples = {}
    for endpoint in endpoints:
        for key, value in endpoint.metrics.items():
            summed[key] = summed.get(key, 0.0) + value
    return summed


def _labelled(samples: _Samples) -> Iterable[tuple[tuple[str, float], dict[str, str]]]:
    for (name, labels), value in samples.items():
        yield (name, value), dict(labels)


def _listed(endpoints: Iterable[Endpoint], name: str) -> Iterable[Mapping[str, Any]]:
    for endpoint in endpoints:
        yield from endpoint.debug.get(name) or ()


def _rates(name: str, now: _Samples, before: _Samples | None, seconds: float) -> ControllerRates:
    def total(samples: _Samples, metric: str, **more: str) -> float:
        wanted = {("controller", name), *more.items()}
        return sum(value for (it, labels), value in samples.items() if it == metric and wanted <= labels)

    def rate(metric: str, **more: str) -> float | None:
        if before is None or seconds <= 0:
            return None
        # A shard that began anew counts from 0.
        return max(0.0, total(now, metric, **more) - total(before, metric, **more)) / seconds

    def quantile(metric: str, fraction: float) -> float | None:
        counts: dict[float, float] = {}
        for samples, sign in ((now, 1.0), (before or {}, -1.0)):
            for (it, labels), value in samples.items():
                if it == metric and ("controller", name) in labels:
                    bound = float(dict(labels)["le"])
                    counts[bound] = counts.get(bound, 0.0) + sign * value
        return _quantile(counts, fraction)

    return ControllerRates(
        name,
        rate(_TOTAL),
        rate(_TOTAL, result="error"),
        quantile(_TIME, 0.5),
        quantile(_TIME, 0.99),
        quantile(_WAIT, 0.99),
        int(total(now, "workqueue_depth")),
        int(total(now, "controller_runtime_active_workers")),
    )


def _quantile(counts: Mapping[float, float], fraction: float) -> float | None:
    """The upper bound of the bucket that holds the quantile; None where nothing was counted."""
    whole = counts.get(math.inf, 0.0)
    if whole <= 0:
        return None
    return next(bound for bound in sorted(counts) if counts[bound] >= fraction * whole)
