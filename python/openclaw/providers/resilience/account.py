"""What the calls of one account share: its breaker, its buckets by region, its places for calls under way."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from openclaw.providers.errors import ExternalThrottled
from openclaw.providers.resilience.breaker import BreakerState, CircuitBreaker
from openclaw.providers.resilience.bucket import TokenBucket
from openclaw.providers.resilience.metrics import ExternalMetrics
from openclaw.providers.resilience.settings import ResilienceSettings

__all__ = ["Account", "Accounts"]


class Account:
    """See the module. Made by `Accounts`.

    Args:
        provider: the provider's name.
        account: the account's name.
        settings: the bounds.
        metrics: told of the breaker's state and of calls under way.

    Attributes:
        breaker: of all regions: what takes an account away mostly takes it away whole.
        running: calls under way.
    """

    def __init__(
        self, provider: str, account: str, settings: ResilienceSettings, metrics: ExternalMetrics
    ) -> None:
        self._provider = provider
        self._account = account
        self._settings = settings
        self._metrics = metrics
        self._buckets: dict[str, TokenBucket] = {}
        self.running = 0
        self.breaker = CircuitBreaker(
            settings,
            f"{provider} of account {account}",
            on_change=lambda state: metrics.breaker(provider, account, state),
        )
        metrics.breaker(provider, account, BreakerState.CLOSED)

    def bucket(self, region: str) -> TokenBucket:
        """The bucket of a region."""
        if (found := self._buckets.get(region)) is None:
            found = self._buckets[region] = TokenBucket(self._settings)
        return found

    def check_place(self) -> None:
        """Return, if one more call may be under way.

        Raises:
            ExternalThrottled: there are as many as may be.
        """
        if self.running >= self._settings.concurrency:
            raise ExternalThrottled(
                f"{self._provider} of account {self._account} has {self.running} calls under way, "
                "as many as may be",
                retry_after=random.uniform(0.5, 2.0),
                local=True,
            )

    @contextmanager
    def place(self) -> Iterator[None]:
        """Around a call that is under way.

        Raises:
            ExternalThrottled: there are as many as may be.
        """
        self.check_place()
        self.running += 1
        self._metrics.under_way(self._provider, self._account, self.running)
        try:
            yield
        finally:
            self.running -= 1
            self._metrics.under_way(self._provider, self._account, self.running)


class Accounts:
    """The accounts of one kind of system, each made when it is first asked for.

    Args:
        provider: the provider's name.
        settings: the bounds of each account.
        metrics: for all.
    """

    def __init__(self, provider: str, settings: ResilienceSettings, metrics: ExternalMetrics) -> None:
        self._provider = provider
        self._settings = settings
        self._metrics = metrics
        self._accounts: dict[str, Account] = {}

    def account(self, name: str) -> Account:
        """The account `name`; every call with one name gives the same."""
        if (found := self._accounts.get(name)) is None:
            found = self._accounts[name] = Account(self._provider, name, self._settings, self._metrics)
        return found
