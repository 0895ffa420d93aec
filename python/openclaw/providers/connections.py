"""The connections of an operator: guarded providers, one for each set of credentials, region and endpoint.

    async with connections.use("aws-rds", target, source, max_age=60) as provider:
        outcome = await Lifecycle(provider, marks).converge(wanted)

A connection is made once for all who want it at the same time, kept while it is used, and closed when nobody
has used it for some time, when there are too many, or when its credentials are evicted: never under a call.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from openclaw.providers.credentials.cache import CredentialCache
from openclaw.providers.credentials.source import CredentialSource
from openclaw.providers.descriptors import Target
from openclaw.providers.errors import ExternalTerminal
from openclaw.providers.flight import SingleFlight
from openclaw.providers.observation import SharedListing, TtlCache
from openclaw.providers.protocol import Fence, Lister, Provider, ProviderFactory
from openclaw.providers.registry import UnknownProviderError, load_provider
from openclaw.providers.resilience.account import Accounts
from openclaw.providers.resilience.guard import Guard
from openclaw.providers.resilience.guarded import GuardedProvider, guarded
from openclaw.providers.resilience.metrics import ExternalMetrics
from openclaw.providers.resilience.settings import ResilienceSettings
from openclaw.telemetry.logs import Log
from openclaw.telemetry.spans import SpanKind, child_span

__all__ = ["Connections"]

log = Log(__name__)

_MOST: Final = 256
_IDLE_SECONDS: Final = 900.0
_FACTS_SECONDS: Final = 600.0


class _Place(NamedTuple):
    provider: str
    credentials: str
    target: Target


@dataclass(slots=True, eq=False)
class _Connection:
    provider: Provider[Any, Any, Any]
    guard: Guard
    listing: SharedListing[Any] | None
    facts: TtlCache[Any, Any] = field(default_factory=lambda: TtlCache(_FACTS_SECONDS))
    users: int = 0
    used_at: float = 0.0
    retired: bool = False


class Connections:
    """See the module. An async context manager; leaving it closes all of them.

    Args:
        metrics: counts the calls.
        settings: the bounds by provider; `ResilienceSettings()` for those that are not named.
        credentials: keeps what sources gave; a new cache by default.
        fence: asked before every write.
        factories: providers by name instead of those that are installed, for tests.
        most: connections kept.
        idle: seconds after which one that nobody uses is closed.
    """

    def __init__(
        self,
        metrics: ExternalMetrics,
        *,
        settings: Mapping[str, ResilienceSettings] | None = None,
        credentials: CredentialCache | None = None,
        fence: Fence | None = None,
        factories: Mapping[str, ProviderFactory[Any, Any, Any]] | None = None,
        most: int = _MOST,
        idle: float = _IDLE_SECONDS,
    ) -> None:
        self.metrics = metrics
        self.credentials = credentials or CredentialCache()
        self._fence = fence
        self._settings = dict(settings or {})
        self._factories = dict(factories or {})
        self._accounts: dict[str, Accounts] = {}
        self._open: OrderedDict[_Place, _Connection] = OrderedDict()
        self._opening: SingleFlight[_Place, _Connection] = SingleFlight()
        self._held: dict[Hashable, str] = {}
        self._holders: Counter[str] = Counter()
        self._most = most
        self._idle = idle
        self._closed = False

    def __len__(self) -> int:
        """Connections that are kept."""
        return len(self._open)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        await self._drop(lambda _place, _connection: True)

    @asynccontextmanager
    async def use(
        self,
        name: str,
        target: Target,
        source: CredentialSource,
        *,
        max_age: float = 0.0,
        holder: Hashable = None,
    ) -> AsyncIterator[GuardedProvider[Any, Any, Any]]:
        """A guarded provider for the block.

        Args:
            name: the provider's.
            target: where it acts.
            source: whose credentials it uses; cached here.
            max_age: seconds that what `get` tells may be old. Above 0, a provider that can list is asked for
                one listing that serves all; what the block itself writes is asked for directly afterwards.
            holder: whose credentials these are, such as an object's namespace and name. When a holder comes
                with others, and nobody else holds the former ones, those are forgotten.

        Raises:
            ExternalTerminal: there is no such provider here.
            ProviderError: it could not connect.
        """
        if holder is not None:
            await self._hold(holder, source.identity)
        place = _Place(name, source.identity, target)
        while (connection := self._open.get(place)) is None:
            # The first one may have to import an SDK: whoever waits shall see for what.
            with child_span(f"{name} connect", SpanKind.CLIENT) as span:
                span.set("openclaw.external.provider", name)
                span.set("openclaw.external.account", target.account)
                span.set("openclaw.external.region", target.region)
                made = await self._opening.run(place, lambda: self._connect(place, source))
            if not made.retired:  # by an eviction since
                connection = made
                break
        connection.users += 1
        try:
            if self._open.get(place) is connection:
                self._open.move_to_end(place)
            yield guarded(
                connection.provider,
                connection.guard,
                fence=self._fence,
                listing=connection.listing,
                max_age=max_age,
                facts=connection.facts,
            )
        finally:
            connection.users -= 1
            connection.used_at = asyncio.get_running_loop().time()
            if connection.retired and not connection.users:
                await self._close(connection)

    def release(self, holder: Hashable) -> None:
        """Forget a holder; what it has used goes when it was idle for long enough."""
        former = self._held.pop(holder, None)
        if former is not None:
            self._holders[former] -= 1
            if self._holders[former] <= 0:
                del self._holders[former]

    async def _hold(self, holder: Hashable, identity: str) -> None:
        former = self._held.get(holder)
        if former == identity:
            return
        self.release(holder)
        self._held[holder] = identity
        self._holders[identity] += 1
        if former is not None and former not in self._holders:
            await self.evict(former)

    async def evict(self, identity: str) -> None:
        """Forget a source's credentials, and close the connections made with them once nobody uses them."""
        self.credentials.evict(identity)
        await self._drop(lambda place, _: place.credentials == identity)

    async def _connect(self, place: _Place, source: CredentialSource) -> _Connection:
        self._check_open()
        factory = self._factory(place.provider)
        cached = self.credentials.cached(source)
        provider = await factory.connect(place.target, cached)
        settings = self._settings.get(place.provider) or ResilienceSettings()
        accounts = self._accounts.get(place.provider)
        if accounts is None:
            accounts = self._accounts[place.provider] = Accounts(place.provider, settings, self.metrics)
        account = accounts.account(place.target.account)
        guard = Guard(place.provider, place.target, account, settings, self.metrics, source=cached)
        connection = _Connection(provider, guard, _listing_of(provider, guard))
        try:
            self._check_open()  # it may have ended since
        except ExternalTerminal:
            await self._close(connection)
            raise
        connection.used_at = asyncio.get_running_loop().time()
        self._open[place] = connection
        log.debug(
            "connected",
            provider=place.provider,
            account=place.target.account,
            region=place.target.region,
            connections=len(self._open),
        )
        await self._make_room(place)
        return connection

    def _check_open(self) -> None:
        if self._closed:
            raise ExternalTerminal("the operator is stopping: no connection is made any more")

    def _factory(self, name: str) -> ProviderFactory[Any, Any, Any]:
        if (factory := self._factories.get(name)) is None:
            try:
                factory = self._factories[name] = load_provider(name)
            except UnknownProviderError as error:
                raise ExternalTerminal(str(error), code="UnknownProvider") from error
        return factory

    async def _make_room(self, newest: _Place) -> None:
        now = asyncio.get_running_loop().time()
        surplus = len(self._open) - self._most
        # In the order of their last use.
        oldest = {place for place, _ in list(self._open.items())[: max(0, surplus)]}
        await self._drop(
            lambda place, it: (
                place != newest and (place in oldest or (not it.users and now - it.used_at > self._idle))
            )
        )

    async def _drop(self, which: Callable[[_Place, _Connection], bool]) -> None:
        dropped = [(place, it) for place, it in self._open.items() if which(place, it)]
        for place, connection in dropped:
            del self._open[place]
            connection.retired = True
        for _, connection in dropped:
            if not connection.users:
                await self._close(connection)

    @staticmethod
    async def _close(connection: _Connection) -> None:
        try:
            await connection.provider.close()
        except Exception as error:  # noqa: BLE001 - nothing depends on it
            log.warning(
                "a connection could not be closed", provider=connection.guard.provider, error=str(error)
            )


def _listing_of(provider: Provider[Any, Any, Any], guard: Guard) -> SharedListing[Any] | None:
    if not isinstance(provider, Lister):
        return None
    lister: Lister[Any] = provider
    return SharedListing(
        lambda token: guard.read("list", lambda: lister.list_page(token)),
        lambda identity: guard.read("get", lambda: provider.get(identity)),
        count=lambda how: guard.metrics.observed(guard.provider, how),
    )
