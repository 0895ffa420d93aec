"""What is counted of calls to external systems.

Labels are bounded: providers and operations are words of the code, results those of `ProviderError.result`,
accounts and regions the first so many that are seen; the rest is `other`.
"""

from __future__ import annotations

from typing import ClassVar, Final
from weakref import WeakKeyDictionary

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from openclaw.providers.descriptors import Target

__all__ = ["ExternalMetrics"]

_MOST_ACCOUNTS: Final = 100
_MOST_REGIONS: Final = 50
_OTHER: Final = "other"
# Seconds.
_DURATION_BUCKETS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_WAIT_BUCKETS: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class _Names:
    """The first `most` names; `other` for all that come after them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()

    def label(self, name: str) -> str:
        if name in self._known:
            return name
        if len(self._known) < self._most:
            self._known.add(name)
            return name
        return _OTHER


class ExternalMetrics:
    """See the module.

    Args:
        registry: where they are registered; a manager's is `manager.metrics.registry`.
    """

    _made: ClassVar[WeakKeyDictionary[CollectorRegistry, ExternalMetrics]] = WeakKeyDictionary()

    @classmethod
    def of(cls, registry: CollectorRegistry) -> ExternalMetrics:
        """Those of `registry`: the same for all controllers of a manager."""
        if (found := cls._made.get(registry)) is None:
            found = cls._made[registry] = cls(registry)
        return found

    def __init__(self, registry: CollectorRegistry) -> None:
        self._accounts = _Names(_MOST_ACCOUNTS)
        self._regions = _Names(_MOST_REGIONS)
        place = ("provider", "account", "region")
        self._calls = Counter(
            "external_api_call_total",
            "Calls to external systems by how they ended; held_back and breaker_open were not sent",
            (*place, "operation", "result"),
            registry=registry,
        )
        self._durations = Histogram(
            "external_api_call_duration_seconds",
            "How long calls to external systems took, those that were sent",
            ("provider", "operation"),
            registry=registry,
            buckets=_DURATION_BUCKETS,
        )
        self._waits = Histogram(
            "external_api_throttle_wait_seconds",
            "How long callers were asked to wait: by our own limits (local) or by the system (remote)",
            ("provider", "account", "source"),
            registry=registry,
            buckets=_WAIT_BUCKETS,
        )
        self._breaker = Gauge(
            "external_api_breaker_state",
            "The circuit breaker of an account: 0 closed, 1 half-open, 2 open",
            ("provider", "account"),
            registry=registry,
        )
        self._under_way = Gauge(
            "external_api_calls_under_way",
            "Calls to external systems under way",
            ("provider", "account"),
            registry=registry,
        )
        self._listings = Counter(
            "external_api_observations_total",
            "Observations by where they came from: listing (a new one), shared (another reconcile's), direct",
            ("provider", "source"),
            registry=registry,
        )

    def called(
        self, provider: str, target: Target, operation: str, result: str, seconds: float | None
    ) -> None:
        """Count a call; `seconds` is None where it was not sent."""
        account, region = self._accounts.label(target.account), self._regions.label(target.region)
        self._calls.labels(provider, account, region, operation, result).inc()
        if seconds is not None:
            self._durations.labels(provider, operation).observe(seconds)

    def waited(self, provider: str, target: Target, seconds: float, *, local: bool) -> None:
        """Record that a caller was asked to wait."""
        source = "local" if local else "remote"
        self._waits.labels(provider, self._accounts.label(target.account), source).observe(seconds)

    def breaker(self, provider: str, account: str, state: int) -> None:
        """State a breaker's state."""
        self._breaker.labels(provider, self._accounts.label(account)).set(state)

    def under_way(self, provider: str, account: str, calls: int) -> None:
        """State how many calls are under way."""
        self._under_way.labels(provider, self._accounts.label(account)).set(calls)

    def observed(self, provider: str, source: str) -> None:
        """Count an observation: `listing`, `shared` or `direct`."""
        self._listings.labels(provider, source).inc()
