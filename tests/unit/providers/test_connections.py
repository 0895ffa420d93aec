"""Connections: one for all who want it, closed under nobody's feet."""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client import CollectorRegistry

from openclaw.providers.connections import Connections
from openclaw.providers.credentials.source import CredentialSource
from openclaw.providers.descriptors import Target
from openclaw.providers.errors import ExternalTerminal, ExternalThrottled
from openclaw.providers.resilience.metrics import ExternalMetrics
from openclaw.providers.resilience.settings import ResilienceSettings
from tests.unit.kube.virtual_time import virtual_time
from tests.unit.providers.fakes import (
    FAST,
    TARGET,
    Factory,
    ListingProvider,
    Observed,
    Provider,
    Source,
    System,
)


def connections(
    factory: Factory, *, most: int = 256, settings: ResilienceSettings | None = None
) -> Connections:
    return Connections(
        ExternalMetrics(CollectorRegistry()),
        factories={"fake": factory},
        most=most,
        settings={"fake": settings or FAST},
    )


@virtual_time
async def test_one_connection_for_equal_credentials_and_targets() -> None:
    factory = Factory(lambda: Provider(System()))
    async with connections(factory) as it:

        async def use(target: Target, source: CredentialSource) -> None:
            async with it.use("fake", target, source) as provider:
                await provider.health()

        await asyncio.gather(*(use(TARGET, Source()) for _ in range(20)))
        assert len(factory.made) == 1
        await use(TARGET, Source("source-2"))
        await use(Target("account-1", "south"), Source())
        await use(Target("account-1", "north", "http://elsewhere"), Source())
        assert len(factory.made) == 4
    assert [made.closed for made in factory.made] == [1] * 4


@virtual_time
async def test_accounts_share_their_limits_whatever_the_credentials() -> None:
    factory = Factory(lambda: Provider(System()))
    async with connections(factory, settings=ResilienceSettings(rate=0.1, burst=2)) as it:
        for number in range(2):
            async with it.use("fake", TARGET, Source(f"source-{number}")) as provider:
                await provider.health()
        async with it.use("fake", TARGET, Source("source-3")) as provider:
            with pytest.raises(ExternalThrottled):
                await provider.health()
        async with it.use("fake", Target("account-1", "south"), Source()) as provider:
            await provider.health()


@virtual_time
async def test_an_evicted_connection_is_closed_when_its_last_user_has_left() -> None:
    factory = Factory(lambda: Provider(System()))
    async with connections(factory) as it:
        async with it.use("fake", TARGET, Source()) as one, it.use("fake", TARGET, Source()) as two:
            await it.evict("source-1")
            await one.health()
            assert factory.made[0].closed == 0
            async with it.use("fake", TARGET, Source()) as three:
                assert three.inner is not two.inner
        assert factory.made[0].closed == 1
        await it.evict("source-1")
        assert factory.made[1].closed == 1
        await it.evict("unknown")
    assert [made.closed for made in factory.made] == [1, 1]


@virtual_time
async def test_too_many_and_idle_ones_go_those_in_use_stay() -> None:
    factory = Factory(lambda: Provider(System()))
    async with connections(factory, most=3) as it:
        async with it.use("fake", TARGET, Source("kept")) as kept:
            for number in range(10):
                async with it.use("fake", TARGET, Source(f"s-{number}")):
                    pass
            assert len(it) <= 3
            await kept.health()
            assert factory.made[0].closed == 0
        await asyncio.sleep(1000)
        async with it.use("fake", TARGET, Source("new")):
            pass
        assert len(it) == 1
    assert all(made.closed == 1 for made in factory.made)


@virtual_time
async def test_cancelled_while_it_connects_nothing_is_left() -> None:
    class Slow(Factory):
        async def connect(self, target: Target, credentials: CredentialSource) -> Provider:
            await asyncio.sleep(1)
            return await super().connect(target, credentials)

    factory = Slow(lambda: Provider(System()))
    async with connections(factory) as it:

        async def use() -> None:
            async with it.use("fake", TARGET, Source()) as provider:
                await provider.health()

        users = [asyncio.create_task(use()) for _ in range(3)]
        await asyncio.sleep(0.5)
        users[0].cancel()
        await asyncio.gather(*users[1:])
        assert len(factory.made) == 1
    assert factory.made[0].closed == 1


@virtual_time
async def test_the_listing_is_the_connections() -> None:
    system = System({f"t-{n}": Observed(f"t-{n}", "u", n) for n in range(4)})
    factory = Factory(lambda: ListingProvider(system))
    async with connections(factory) as it:

        async def look(number: int) -> int:
            async with it.use("fake", TARGET, Source(), max_age=60) as provider:
                return int((await provider.get(f"t-{number}")).size)

        assert await asyncio.gather(*(look(n) for n in range(4))) == [0, 1, 2, 3]
        assert system.calls == ["list", "list"]
        loads: list[int] = []

        async def versions() -> int:
            loads.append(1)
            return len(loads)

        for _ in range(2):
            async with it.use("fake", TARGET, Source(), max_age=60) as provider:
                assert await provider.facts.get("versions", versions) == 1


@virtual_time
async def test_an_unknown_provider_and_a_stopping_operator_say_so() -> None:
    factory = Factory(lambda: Provider(System()))
    async with connections(factory) as it:
        with pytest.raises(ExternalTerminal, match="no provider is called 'nowhere'"):
            async with it.use("nowhere", TARGET, Source()):
                pass
    with pytest.raises(ExternalTerminal, match="stopping"):
        async with it.use("fake", TARGET, Source()):
            pass


@virtual_time
async def test_the_former_credentials_of_a_holder_are_forgotten_unless_others_hold_them() -> None:
    factory = Factory(lambda: Provider(System()))
    async with connections(factory) as it:

        async def use(holder: str, source: str) -> None:
            async with it.use("fake", TARGET, Source(source), holder=holder) as provider:
                await provider.health()

        await use("a", "one")
        await use("b", "one")
        await use("a", "two")
        assert [made.closed for made in factory.made] == [0, 0]
        await use("b", "two")
        assert [made.closed for made in factory.made] == [1, 0]
        it.release("a")
        it.release("a")
        await use("b", "three")
        assert [made.closed for made in factory.made] == [1, 1, 0]
        assert it._held == {"b": "three"}


@virtual_time
async def test_a_connection_that_comes_after_the_end_is_closed() -> None:
    class Slow(Factory):
        async def connect(self, target: Target, credentials: CredentialSource) -> Provider:
            made = await super().connect(target, credentials)
            await asyncio.sleep(1)
            return made

    factory = Slow(lambda: Provider(System()))

    async def use() -> None:
        async with it.use("fake", TARGET, Source()):
            pass

    async with connections(factory) as it:
        late = asyncio.create_task(use())
        await asyncio.sleep(0.5)
    with pytest.raises(ExternalTerminal, match="stopping"):
        await late
    assert factory.made[0].closed == 1


@virtual_time
async def test_cancelled_at_any_await_every_connection_is_closed_once() -> None:
    for turns in range(25):
        factory = Factory(lambda: Provider(System()))
        async with connections(factory, most=1) as it:

            async def use(number: int, it: Connections = it) -> None:
                async with it.use("fake", TARGET, Source(f"s-{number}"), holder="h") as provider:
                    await provider.health()
                    await it.evict(f"s-{number}")
                    await provider.health()

            tasks = [asyncio.create_task(use(number % 2)) for number in range(3)]
            for _ in range(turns):
                await asyncio.sleep(0)
            for task in tasks[:2]:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await use(9)
        assert [made.closed for made in factory.made] == [1] * len(factory.made)
