"""A provider with everything around it: what controllers call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Generic, TypeVar, cast

from openclaw.providers.descriptors import Drift, ObservedDescriptor, Owner, Page, WantedDescriptor
from openclaw.providers.observation import SharedListing, TtlCache
from openclaw.providers.protocol import Fence, Finder, Lister, Provider
from openclaw.providers.resilience.guard import Guard

__all__ = ["GuardedProvider", "guarded"]

W = TypeVar("W", bound=WantedDescriptor)
Obs = TypeVar("Obs", bound=ObservedDescriptor)
R = TypeVar("R")


class GuardedProvider(Generic[W, Obs, R]):
    """A provider whose every call goes through a guard; made by `guarded`. Cheap: make one for each run.

    Attributes:
        inner: the provider itself, for calls of its own that are no part of the protocol.
        guard: makes them: `await it.guard.read("describe_engine_versions", it.inner.engine_versions)`.
        facts: keeps what changes slowly, such as that; shared by all who use the connection.
    """

    def __init__(
        self,
        inner: Provider[W, Obs, R],
        guard: Guard,
        *,
        fence: Fence | None = None,
        listing: SharedListing[Obs] | None = None,
        max_age: float = 0.0,
        facts: TtlCache[Any, Any] | None = None,
    ) -> None:
        self.inner = inner
        self.guard = guard
        self.facts: TtlCache[Any, Any] = facts or TtlCache(0.0)
        self._fence = fence
        self._listing = listing
        self._max_age = max_age

    def around(self, inner: Provider[W, Obs, R]) -> GuardedProvider[W, Obs, R]:
        """Another provider on the same connection, with the same around it, but for the shared listing."""
        return guarded(inner, self.guard, fence=self._fence, facts=self.facts)

    def admit(self) -> None:
        """As in `Admission`."""
        self.guard.admit("create")

    async def get(self, identity: str) -> Obs:
        """As in `Provider`; may be as old as was asked for, but not older than the last write made here."""
        if self._listing is not None and self._max_age > 0:
            return await self._listing.get(identity, max_age=self._max_age)
        return await self.get_now(identity)

    async def get_now(self, identity: str) -> Obs:
        """As `get`, asked for now whatever age was asked for."""
        return await self.guard.read("get", lambda: self.inner.get(identity))

    async def create(self, wanted: W) -> Obs:
        """As in `Provider`."""
        with self._writing(wanted.identity):
            return await self.guard.write("create", lambda: self.inner.create(wanted), fence=self._fence)

    def compare(self, wanted: W, observed: Obs) -> Drift:
        """As in `Provider`."""
        return self.inner.compare(wanted, observed)

    async def update(self, wanted: W, observed: Obs, drift: Drift) -> Obs:
        """As in `Provider`."""
        with self._writing(observed.identity):
            return await self.guard.write(
                "update", lambda: self.inner.update(wanted, observed, drift), fence=self._fence
            )

    async def delete(self, identity: str, removal: R) -> None:
        """As in `Provider`."""
        with self._writing(identity):
            await self.guard.write("delete", lambda: self.inner.delete(identity, removal), fence=self._fence)

    async def health(self) -> None:
        """As in `Provider`."""
        await self.guard.read("health", self.inner.health)

    async def close(self) -> None:
        """As in `Provider`."""
        await self.inner.close()

    @contextmanager
    def _writing(self, identity: str) -> Iterator[None]:
        try:
            yield
        finally:
            # Also where it failed: it may have had its effect.
            if self._listing is not None and identity:
                self._listing.written(identity)


class _Listing(GuardedProvider[W, Obs, R]):
    async def list_page(self, token: str) -> Page[Obs]:
        """As in `Lister`."""
        inner = cast("Lister[Obs]", self.inner)
        return await self.guard.read("list", lambda: inner.list_page(token))


class _Finding(GuardedProvider[W, Obs, R]):
    async def find(self, owner: Owner) -> Obs:
        """As in `Finder`."""
        inner = cast("Finder[Obs]", self.inner)
        return await self.guard.read("find", lambda: inner.find(owner))


class _ListingAndFinding(_Listing[W, Obs, R], _Finding[W, Obs, R]):
    pass


# What it can do beyond the protocol is what its provider can: callers ask with isinstance.
_CLASSES: Final[dict[tuple[bool, bool], type[GuardedProvider[Any, Any, Any]]]] = {
    (False, False): GuardedProvider,
    (True, False): _Listing,
    (False, True): _Finding,
    (True, True): _ListingAndFinding,
}


def guarded(
    provider: Provider[W, Obs, R],
    guard: Guard,
    *,
    fence: Fence | None = None,
    listing: SharedListing[Obs] | None = None,
    max_age: float = 0.0,
    facts: TtlCache[Any, Any] | None = None,
) -> GuardedProvider[W, Obs, R]:
    """`provider` behind `guard`; a `Lister` or `Finder` where it is one.

    Args:
        provider: what knows the system.
        guard: what is around it.
        fence: asked before every write.
        listing: what `get` is served from.
        max_age: seconds that it may be old; 0 to ask each time.
        facts: kept for all who use the provider; none are by default.
    """
    cls = _CLASSES[isinstance(provider, Lister), isinstance(provider, Finder)]
    return cls(provider, guard, fence=fence, listing=listing, max_age=max_age, facts=facts)
