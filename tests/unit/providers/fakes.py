"""A system outside of the cluster that lives in this process, and its provider."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from prometheus_client import CollectorRegistry

from openclaw.providers.credentials.source import Credentials, CredentialSource
from openclaw.providers.descriptors import Difference, Drift, Owner, Page, Target
from openclaw.providers.errors import ExternalAlreadyExists, ExternalInvalid, ExternalNotFound
from openclaw.providers.resilience.account import Account
from openclaw.providers.resilience.guard import Guard
from openclaw.providers.resilience.metrics import ExternalMetrics
from openclaw.providers.resilience.settings import ResilienceSettings

OWNER = Owner("Thing", "shop", "web", "uid-1")
OTHER = Owner("Thing", "shop", "other", "uid-2")
TARGET = Target("account-1", "north")
When = Literal["before", "after"]


@dataclass(frozen=True)
class Wanted:
    identity: str = "thing-1"
    owner: Owner = OWNER
    size: int = 1


@dataclass(frozen=True)
class Observed:
    identity: str
    owner_uid: str | None
    size: int


@dataclass
class System:
    """What exists, and what was asked.

    Attributes:
        on_call: called with the operation before and after its effect; may raise.
        names_itself: identities are the system's own.
        marks_owners: things carry the mark of their owner.
        stubborn: updates are taken and change nothing.
        hidden: reads of these find nothing yet.
    """

    things: dict[str, Observed] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    on_call: Callable[[str, When], None] = lambda _operation, _when: None
    names_itself: bool = False
    marks_owners: bool = True
    stubborn: bool = False
    hidden: set[str] = field(default_factory=set)
    delay: float = 0.0
    made: int = 0

    async def call(self, operation: str) -> None:
        self.calls.append(operation)
        await asyncio.sleep(self.delay)
        self.on_call(operation, "before")

    def done(self, operation: str) -> None:
        self.on_call(operation, "after")


class Provider:
    def __init__(self, system: System) -> None:
        self.system = system
        self.closed = 0

    async def get(self, identity: str) -> Observed:
        await self.system.call("get")
        found = self.system.things.get(identity)
        if found is None or identity in self.system.hidden:
            raise ExternalNotFound(f"no {identity}")
        return found

    async def create(self, wanted: Wanted) -> Observed:
        system = self.system
        await system.call("create")
        identity = f"own-{len(system.calls)}" if system.names_itself else wanted.identity
        if identity in system.things:
            raise ExternalAlreadyExists(f"{identity} exists")
        uid = wanted.owner.uid if system.marks_owners else None
        system.things[identity] = Observed(identity, uid, wanted.size)
        system.made += 1
        system.done("create")
        return system.things[identity]

    def compare(self, wanted: Wanted, observed: Observed) -> Drift:
        if wanted.size == observed.size:
            return Drift()
        refused = "can't shrink" if wanted.size < observed.size else ""
        return Drift((Difference("size", str(wanted.size), str(observed.size), refused),))

    async def update(self, wanted: Wanted, observed: Observed, drift: Drift) -> Observed:
        await self.system.call("update")
        if observed.identity not in self.system.things:
            raise ExternalNotFound(observed.identity)
        if wanted.size > 1000:
            raise ExternalInvalid("too big")
        if not self.system.stubborn:
            self.system.things[observed.identity] = replace(observed, size=wanted.size)
        self.system.done("update")
        return self.system.things[observed.identity]

    async def delete(self, identity: str, removal: None) -> None:
        await self.system.call("delete")
        if self.system.things.pop(identity, None) is None:
            raise ExternalNotFound(identity)
        self.system.done("delete")

    async def health(self) -> None:
        await self.system.call("health")

    async def close(self) -> None:
        self.closed += 1


class ListingProvider(Provider):
    """With pages of two."""

    async def list_page(self, token: str) -> Page[Observed]:
        await self.system.call("list")
        start = int(token or 0)
        things = [it for key, it in sorted(self.system.things.items()) if key not in self.system.hidden]
        rest = start + 2 < len(things)
        return Page(tuple(things[start : start + 2]), str(start + 2) if rest else "")


class FindingProvider(Provider):
    async def find(self, owner: Owner) -> Observed:
        await self.system.call("find")
        for thing in self.system.things.values():
            if thing.owner_uid == owner.uid and thing.identity not in self.system.hidden:
                return thing
        raise ExternalNotFound(f"nothing of {owner.uid}")


@dataclass
class Source:
    """Gives numbered credentials, good for `life` seconds of `clock`."""

    identity: str = "source-1"
    life: float | None = None
    clock: Callable[[], float] = lambda: 0.0
    fetched: int = 0
    failure: Exception | None = None
    delay: float = 0.0

    async def fetch(self) -> Credentials:
        self.fetched += 1
        number = self.fetched
        await asyncio.sleep(self.delay)
        if self.failure is not None:
            raise self.failure
        expires = None if self.life is None else self.clock() + self.life
        return Credentials({"token": f"secret-{number}"}, expires)


class Factory:
    def __init__(self, make: Callable[[], Provider], name: str = "fake") -> None:
        self.name = name
        self.made: list[Provider] = []
        self._make = make

    async def connect(self, target: Target, credentials: CredentialSource) -> Provider:
        await asyncio.sleep(0)
        self.made.append(self._make())
        return self.made[-1]


FAST = ResilienceSettings(rate=1000, burst=1000, concurrency=1000)


def guard_of(
    settings: ResilienceSettings = FAST, *, registry: CollectorRegistry | None = None, source: object = None
) -> Guard:
    metrics = ExternalMetrics(registry or CollectorRegistry())
    account = Account("fake", TARGET.account, settings, metrics)
    return Guard("fake", TARGET, account, settings, metrics, source=source)  # type: ignore[arg-type]
