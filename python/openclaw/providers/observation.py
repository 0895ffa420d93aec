"""Observing many things by few calls: one listing for an account and region, and facts kept for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from openclaw.providers.descriptors import ObservedDescriptor, Page
from openclaw.providers.errors import ExternalTerminal, ExternalThrottled
from openclaw.providers.flight import SingleFlight

__all__ = ["SharedListing", "TtlCache"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Obs = TypeVar("Obs", bound=ObservedDescriptor)

_MOST_PAGES: Final = 1000
# A listing waits for the bucket itself, this long at most: begun anew, it would ask for all its pages again.
_LONGEST_PAGE_WAIT: Final = 10.0


@dataclass(slots=True)
class _Snapshot(Generic[Obs]):
    begun_at: float
    things: dict[str, Obs] = field(default_factory=dict)


class SharedListing(Generic[Obs]):
    """What exists in one account and region, as one set of credentials sees it, listed once for all who ask.

    A listing serves every reconcile that is content with its age. It does not serve one whose thing was
    written to a moment ago, nor one that wants to know now: they ask for the one thing. That
    something is absent from a listing is always asked for again: a thing may be made, or move to another
    page, while the pages are read.

    Args:
        list_page: asks for one page, guarded.
        get: asks for one thing, guarded.
        count: told of each observation: `listing`, `shared`, `direct`.
    """

    def __init__(
        self,
        list_page: Callable[[str], Awaitable[Page[Obs]]],
        get: Callable[[str], Awaitable[Obs]],
        *,
        count: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._list_page = list_page
        self._get = get
        self._count = count
        self._snapshot: _Snapshot[Obs] | None = None
        self._written: dict[str, float] = {}
        self._flight: SingleFlight[int, _Snapshot[Obs]] = SingleFlight()
        self._era = 0

    async def get(self, identity: str, *, max_age: float) -> Obs:
        """What exists under `identity`, at most `max_age` seconds ago; 0 to ask for it now.

        Raises:
            ExternalNotFound: nothing does, asked for now.
            ProviderError: as the calls'.
        """
        now = asyncio.get_running_loop().time()
        if max_age > 0 and now - self._written.get(identity, -max_age) >= max_age:
            snapshot = await self._recent(max_age)
            found = snapshot.things.get(identity)
            if found is not None and self._written.get(identity, -1.0) < snapshot.begun_at:
                return found
        self._count("direct")
        return await self._get(identity)

    def written(self, identity: str) -> None:
        """Say that the thing was, or may have been, written to: no listing begun before now speaks of it."""
        self._written[identity] = asyncio.get_running_loop().time()

    def invalidate(self) -> None:
        """Let the next who asks wait for a new listing."""
        self._snapshot = None
        self._era += 1

    async def _recent(self, max_age: float) -> _Snapshot[Obs]:
        snapshot = self._snapshot
        if snapshot is not None and asyncio.get_running_loop().time() - snapshot.begun_at <= max_age:
            self._count("shared")
            return snapshot
        if len(self._flight):
            self._count("shared")
        return await self._flight.run(self._era, self._list)

    async def _list(self) -> _Snapshot[Obs]:
        self._count("listing")
        era, snapshot = self._era, _Snapshot[Obs](asyncio.get_running_loop().time())
        token, seen = "", {""}
        for _ in range(_MOST_PAGES):
            page = await self._page(token)
            snapshot.things.update((it.identity, it) for it in page.items)
            token = page.next_token
            if not token:
                if era == self._era:
                    self._snapshot = snapshot
                    self._forget_old(snapshot)
                return snapshot
            if token in seen:
                raise ExternalTerminal(
                    "the listing does not end: the system names a page again that was read"
                )
            seen.add(token)
        raise ExternalTerminal(f"the listing does not end: more than {_MOST_PAGES} pages")

    async def _page(self, token: str) -> Page[Obs]:
        waited = 0.0
        while True:
            try:
                return await self._list_page(token)
            except ExternalThrottled as error:
                wait = error.retry_after or 1.0
                waited += wait
                if waited > _LONGEST_PAGE_WAIT:
                    raise
            await asyncio.sleep(wait)

    def _forget_old(self, snapshot: _Snapshot[Obs]) -> None:
        """Of things written to before the listing began, it knows all."""
        self._written = {key: at for key, at in self._written.items() if at >= snapshot.begun_at}


class TtlCache(Generic[K, V]):
    """Slow-moving facts, such as engine versions: loaded once for all who ask, and kept for a while.

    Args:
        ttl: seconds for which a fact is kept. A failure is not kept.
        most: facts kept; the oldest go first.
    """

    def __init__(self, ttl: float, *, most: int = 1024) -> None:
        self._ttl = ttl
        self._most = most
        self._kept: dict[K, tuple[float, V]] = {}
        self._flight: SingleFlight[K, V] = SingleFlight()

    async def get(self, key: K, load: Callable[[], Awaitable[V]]) -> V:
        """The fact under `key`; `load` is called where it is not there or too old.

        Raises:
            Exception: what `load` raised.
        """
        kept = self._kept.get(key)
        if kept is not None and asyncio.get_running_loop().time() - kept[0] < self._ttl:
            return kept[1]

        async def loaded() -> V:
            value = await load()
            self._kept.pop(key, None)
            self._kept[key] = (asyncio.get_running_loop().time(), value)
            while len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
            return value

        return await self._flight.run(key, loaded)

    def forget(self, key: K) -> None:
        """Load it anew the next time."""
        self._kept.pop(key, None)
