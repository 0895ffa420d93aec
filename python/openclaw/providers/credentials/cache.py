"""Credentials kept while they are good: one fetch for all who ask, and a new one before they expire."""

from __future__ import annotations

import random
import time
from collections import OrderedDict
from collections.abc import Callable
from copy import copy
from typing import Final

from openclaw.providers.credentials.source import Credentials, CredentialSource
from openclaw.providers.errors import ExternalUnauthorised, ProviderError
from openclaw.providers.flight import SingleFlight

__all__ = ["CachedSource", "CredentialCache"]

# Credentials are renewed this long before they expire, or when a third of their life is left if that is less.
_AHEAD_SECONDS: Final = 300.0
_AHEAD_SHARE: Final = 1 / 3
# Right after a fetch, a refusal is of credentials from before it.
_JUST_FETCHED_SECONDS: Final = 5.0
_RETRY_SECONDS: Final = 15.0
# Of a failure, for that long: hundreds of objects with one source do not ask hundreds of times.
_FAILED_SECONDS: Final = 10.0


class CachedSource:
    """A source whose credentials are kept; made by `CredentialCache`.

    They are fetched anew ahead of their end. While that fails, those that there are go on being used until
    they expire: whoever gives them may be away for a while.

    Args:
        source: what gives them.
        clock: seconds since 1970.
    """

    def __init__(self, source: CredentialSource, *, clock: Callable[[], float] = time.time) -> None:
        self._source = source
        self._clock = clock
        self._flight: SingleFlight[int, Credentials] = SingleFlight()
        self._kept: Credentials | None = None
        self._fetched_at = 0.0
        self._renew_at = float("inf")
        self._era = 0
        self._failure: ProviderError | None = None
        self._failed_until = 0.0

    def __repr__(self) -> str:
        return f"<CachedSource {self._source.identity}>"

    @property
    def identity(self) -> str:
        """The source's."""
        return self._source.identity

    async def fetch(self) -> Credentials:
        """Credentials that are good now; mostly without a call.

        Raises:
            ProviderError: there are none, and none can be had; the same for some seconds, without asking.
        """
        kept, now = self._kept, self._clock()
        if kept is not None and now < self._renew_at:
            return kept
        if self._failure is not None and now < self._failed_until:
            raise copy(self._failure)
        try:
            return await self._flight.run(self._era, self._renewed)
        except ProviderError as error:
            if kept is None or kept is not self._kept or not _lasts(kept, now):
                if isinstance(error, ExternalUnauthorised):
                    error.expired = False  # of what the source itself needs, which no new fetch brings
                self._failure = error
                wait = error.retry_after or random.uniform(0.5, 1.5) * _FAILED_SECONDS
                self._failed_until = now + min(wait, _RETRY_SECONDS)
                raise
            self._renew_at = now + random.uniform(0.5, 1.5) * _RETRY_SECONDS
            return kept

    def refused(self) -> bool:
        """As in `RefreshingSource`."""
        kept = self._kept
        if kept is not None:
            if kept.expires_at is None or self._clock() - self._fetched_at < _JUST_FETCHED_SECONDS:
                return False
            self.forget()
        return True

    def forget(self) -> None:
        """Keep nothing: the next `fetch` asks the source, and joins no fetch that began before."""
        self._kept = self._failure = None
        self._era += 1

    async def _renewed(self) -> Credentials:
        era = self._era
        credentials = await self._source.fetch()
        if era == self._era:
            now = self._clock()
            self._kept, self._fetched_at = credentials, now
            self._failure = None
            self._renew_at = float("inf")
            if credentials.expires_at is not None:
                left = credentials.expires_at - now
                ahead = min(_AHEAD_SECONDS, left * _AHEAD_SHARE) * random.uniform(1.0, 1.2)
                # Never at once again, however short their life is said to be.
                self._renew_at = now + max(1.0, left - ahead)
        return credentials


def _lasts(credentials: Credentials, now: float) -> bool:
    return credentials.expires_at is None or now < credentials.expires_at


class CredentialCache:
    """The sources of an operator by their identity, so that equal ones share what they were given.

    Args:
        most: sources kept; those not asked for the longest go first.
        clock: seconds since 1970.
    """

    def __init__(self, *, most: int = 1024, clock: Callable[[], float] = time.time) -> None:
        self._most = most
        self._clock = clock
        self._sources: OrderedDict[str, CachedSource] = OrderedDict()

    def __len__(self) -> int:
        """Sources kept."""
        return len(self._sources)

    def cached(self, source: CredentialSource) -> CachedSource:
        """The cached form of `source`: the one that is there where one of its identity was asked for."""
        if isinstance(source, CachedSource):
            return source
        found = self._sources.pop(source.identity, None)
        if found is None:
            found = CachedSource(source, clock=self._clock)
        self._sources[source.identity] = found
        while len(self._sources) > self._most:
            self._sources.popitem(last=False)
        return found

    def evict(self, identity: str) -> None:
        """Forget a source and what it gave."""
        if (found := self._sources.pop(identity, None)) is not None:
            found.forget()
