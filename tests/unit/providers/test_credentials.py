"""Credentials: kept while they are good, fetched once for all, never shown."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest

from openclaw.api import Secret
from openclaw.providers.credentials.cache import CachedSource, CredentialCache
from openclaw.providers.credentials.secret import SecretSource, StaticSource
from openclaw.providers.credentials.token_file import read_token
from openclaw.providers.errors import ExternalTransient, ExternalUnauthorised
from tests.unit.kube.virtual_time import virtual_time
from tests.unit.providers.fakes import Source


def secret(**data: str) -> Secret:
    encoded = {key: base64.b64encode(it.encode()).decode() for key, it in data.items()}
    return Secret(name="access", namespace="shop", data=encoded)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def cached(life: float | None = 3600) -> tuple[CachedSource, Source, Clock]:
    clock = Clock()
    source = Source(life=life, clock=clock)
    return CachedSource(source, clock=clock), source, clock


@virtual_time
async def test_one_fetch_for_all_who_ask_and_for_as_long_as_they_are_good() -> None:
    it, source, clock = cached()
    source.delay = 1
    got = await asyncio.gather(*(it.fetch() for _ in range(100)))
    assert {each["token"] for each in got} == {"secret-1"}
    clock.now += 3600 - 361
    assert (await it.fetch())["token"] == "secret-1"
    assert source.fetched == 1


@virtual_time
async def test_they_are_fetched_anew_before_they_expire() -> None:
    it, _, clock = cached()
    await it.fetch()
    clock.now += 3600 - 299
    assert (await it.fetch())["token"] == "secret-2"


@virtual_time
@pytest.mark.parametrize("life", [60.0, 1.0, 0.0, -5.0])
async def test_a_short_life_does_not_make_a_storm(life: float) -> None:
    it, source, clock = cached(life)
    for _ in range(100):
        await it.fetch()
        clock.now += 0.01
    assert source.fetched <= 2


@virtual_time
async def test_those_that_do_not_expire_are_kept() -> None:
    it, source, clock = cached(None)
    for _ in range(3):
        await it.fetch()
        clock.now += 1e7
    assert source.fetched == 1


@virtual_time
async def test_while_no_new_ones_can_be_had_the_old_ones_are_used_until_they_expire() -> None:
    it, source, clock = cached()
    await it.fetch()
    source.failure = ExternalTransient("away")
    clock.now += 3600 - 200
    for _ in range(20):
        assert (await it.fetch())["token"] == "secret-1"
    assert source.fetched == 2, "and not asked for with each call"
    clock.now += 201
    with pytest.raises(ExternalTransient):
        await it.fetch()


@virtual_time
async def test_a_failure_is_told_again_for_some_seconds_without_asking() -> None:
    it, source, clock = cached()
    source.failure = ExternalUnauthorised("no such role", expired=True)
    for _ in range(200):
        with pytest.raises(ExternalUnauthorised, match="no such role") as caught:
            await it.fetch()
        assert not caught.value.expired, "which the caller would try to mend"
    assert source.fetched == 1
    source.failure = None
    clock.now += 16
    assert (await it.fetch())["token"] == "secret-2"


@virtual_time
async def test_what_was_refused_is_fetched_anew_but_not_what_was_just_fetched() -> None:
    it, source, clock = cached()
    await it.fetch()
    assert not it.refused()
    await it.fetch()
    assert source.fetched == 1
    clock.now += 6
    assert it.refused()
    assert it.refused(), "somebody else was refused too"
    assert (await it.fetch())["token"] == "secret-2"


@virtual_time
async def test_those_that_are_for_ever_are_not_fetched_anew_for_being_refused() -> None:
    it, source, clock = cached(None)
    await it.fetch()
    clock.now += 60
    assert not it.refused()
    await it.fetch()
    assert source.fetched == 1


@virtual_time
async def test_a_fetch_that_began_before_it_was_forgotten_is_not_kept() -> None:
    it, source, _ = cached(None)
    source.delay = 2
    early = asyncio.create_task(it.fetch())
    await asyncio.sleep(0.5)
    it.forget()
    source.delay = 0.1
    assert (await it.fetch())["token"] == "secret-2"
    assert (await early)["token"] == "secret-1"
    assert (await it.fetch())["token"] == "secret-2"


@virtual_time
async def test_a_waiter_that_is_cancelled_does_not_cancel_the_others() -> None:
    it, source, _ = cached()
    source.delay = 1
    waiters = [asyncio.create_task(it.fetch()) for _ in range(3)]
    await asyncio.sleep(0.5)
    waiters[0].cancel()
    got = await asyncio.gather(*waiters[1:])
    assert [each["token"] for each in got] == ["secret-1"] * 2


def test_equal_sources_share_and_the_oldest_go_first() -> None:
    cache = CredentialCache(most=2)
    first = cache.cached(Source("a"))
    assert cache.cached(Source("a")) is first
    assert cache.cached(first) is first
    cache.cached(Source("b"))
    cache.cached(Source("a"))
    cache.cached(Source("c"))
    assert cache.cached(Source("a")) is first
    assert len(cache) == 2
    cache.evict("a")
    assert cache.cached(Source("a")) is not first


async def test_a_secrets_entries() -> None:
    source = SecretSource(secret(user="admin", token="hunter2\n"), name="access", required=("user", "token"))
    credentials = await source.fetch()
    assert (credentials["user"], credentials["token"]) == ("admin", "hunter2")
    assert "hunter2" not in repr(source) + repr(credentials) + source.identity
    with pytest.raises(ExternalUnauthorised, match=r"'absent'.*token, user"):
        credentials["absent"]


def test_a_changed_secret_is_another_identity_and_equal_ones_are_the_same() -> None:
    before = SecretSource(secret(token="one"), name="a").identity
    assert SecretSource(secret(token="one"), name="b").identity == before
    assert SecretSource(secret(token="two"), name="a").identity != before
    assert StaticSource({"token": "one"}).identity == before


@pytest.mark.parametrize("entries", [{}, {"token": ""}, {"other": "x"}], ids=str)
def test_a_secret_that_lacks_something_says_what(entries: dict[str, str]) -> None:
    with pytest.raises(ExternalUnauthorised, match="'access' has no entry 'token'"):
        SecretSource(secret(**entries), name="access", required=("token",))


def test_a_missing_secret_says_where_it_was_looked_for() -> None:
    with pytest.raises(ExternalUnauthorised, match="'access' does not exist in the object's namespace"):
        SecretSource(None, name="access")


def test_entries_that_are_no_text_are_left_out() -> None:
    raw = Secret(
        name="access", data={"bytes": base64.b64encode(b"\xff\xfe").decode(), "bad": "?", "token": "eA=="}
    )
    with pytest.raises(ExternalUnauthorised, match="it has token"):
        SecretSource(raw, name="access", required=("bytes",))


async def test_the_pods_token_is_read_anew_each_time(tmp_path: Path) -> None:
    file = tmp_path / "token"
    with pytest.raises(ExternalUnauthorised, match="mount a projected"):
        await read_token(str(file))
    file.write_text("one\n")
    assert await read_token(str(file)) == "one"
    file.write_text("two")
    assert await read_token(str(file)) == "two"
    file.write_text(" \n")
    with pytest.raises(ExternalUnauthorised, match="empty"):
        await read_token(str(file))
