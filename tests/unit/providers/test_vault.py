"""What no Vault can be made to do within a test: ends of lives that are hours away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from openclaw.providers.credentials.vault import VaultAwsSource
from openclaw.providers.credentials.vault_login import AppRoleLogin, VaultSession
from openclaw.providers.errors import ExternalInvalid, ExternalTransient, ExternalUnauthorised


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Life:
    """A Vault: tokens live `ttl`, renewed up to `longest`; leases live `lease`, renewed up to twice that."""

    def __init__(self, clock: Clock, *, ttl: int = 3600, longest: int = 7200, lease: int = 900) -> None:
        self.clock, self.ttl, self.longest, self.lease = clock, ttl, longest, lease
        self.address, self.namespace = "http://vault", ""
        self.born = 0.0
        self.leased = 0.0
        self.asked: list[str] = []
        self.number = 0
        self.failure: Exception | None = None
        self.renewable = True

    async def request(
        self, method: str, path: str, *, token: str = "", body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        self.asked.append(path)
        if self.failure is not None:
            raise self.failure
        now = self.clock()
        if path.startswith("auth/"):
            if path.endswith("login"):
                self.born = now
                self.number += 1
            left = min(self.ttl, self.longest - (now - self.born))
            return {
                "auth": {
                    "client_token": f"token-{self.number}",
                    "lease_duration": int(left),
                    "renewable": True,
                }
            }
        if path == "sys/leases/renew":
            left = min(self.lease, self.leased + self.lease * 2 - now)
            if left <= 0:
                raise ExternalUnauthorised("lease not found", code="400")
            return {"lease_duration": int(left), "renewable": True}
        self.leased = now
        self.number += 1
        return {
            "data": {"access_key": f"key-{self.number}", "secret_key": "s", "security_token": None},
            "lease_id": f"lease-{self.number}",
            "lease_duration": self.lease,
            "renewable": self.renewable,
        }


def session_of(life: Life) -> VaultSession:
    return VaultSession(life, AppRoleLogin(role_id="r"), clock=life.clock)  # type: ignore[arg-type]


async def test_near_the_end_of_all_that_a_token_may_live_a_new_one_is_had() -> None:
    life = Life(Clock())
    session = session_of(life)
    assert (await session.token()).token == "token-1"
    for _ in range(2):  # renewed at 2000 s and 4000 s, when 3200 s are left
        life.clock.now += 2000
        assert (await session.token()).token == "token-1"
    life.clock.now += 1700  # 1500 s are left, whatever it is renewed for
    assert (await session.token()).token == "token-2"
    assert life.asked.count("auth/approle/login") == 2


async def test_a_token_that_does_not_expire_is_kept() -> None:
    life = Life(Clock(), ttl=0)
    session = session_of(life)
    await session.token()
    life.clock.now += 1e9
    await session.token()
    assert life.asked == ["auth/approle/login"]


async def test_a_lease_is_renewed_while_that_gives_something_and_dies_with_its_token() -> None:
    life = Life(Clock(), ttl=36000, longest=72000)
    session = session_of(life)
    source = VaultAwsSource(session, "deploy", clock=life.clock)
    first = await source.fetch()
    assert first.expires_at == life.clock.now + 900
    life.clock.now += 700
    renewed = await source.fetch()
    assert renewed.values == first.values
    assert renewed.expires_at == life.clock.now + 900
    life.clock.now += 800  # all of its 1800 s are nearly over
    assert (await source.fetch())["AWS_ACCESS_KEY_ID"] != first["AWS_ACCESS_KEY_ID"]
    session.refused(await session.token())
    life.asked.clear()
    await source.fetch()
    assert life.asked == ["auth/approle/login", "aws/creds/deploy"]


async def test_credentials_end_with_the_token_that_they_were_had_with() -> None:
    life = Life(Clock(), ttl=600, longest=600)
    credentials = await VaultAwsSource(session_of(life), "deploy", clock=life.clock).fetch()
    assert credentials.expires_at == life.clock.now + 600


async def test_a_vault_that_is_away_while_a_lease_is_renewed_loses_no_lease() -> None:
    life = Life(Clock(), ttl=36000, longest=72000)
    source = VaultAwsSource(session_of(life), "deploy", kind="sts", clock=life.clock)
    first = await source.fetch()
    life.clock.now += 700
    life.failure = ExternalTransient("away")
    with pytest.raises(ExternalTransient):
        await source.fetch()
    life.failure = None
    assert (await source.fetch()).values == first.values


async def test_an_answer_without_a_token() -> None:
    class Odd(Life):
        async def request(self, *_: Any, **__: Any) -> dict[str, Any]:
            return {"auth": {"client_token": None}}

    with pytest.raises(ExternalInvalid, match="has no token"):
        await session_of(Odd(Clock())).token()
