"""The shipped provider, which knows neither, makes, changes and removes an instance at both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from openclaw.providers.aws.rds import RDSProvider, RDSProviderFactory
from openclaw.providers.aws.rds_model import RDSRemoval, RDSWanted
from openclaw.providers.credentials.source import Credentials
from openclaw.providers.descriptors import Owner, SecretStr, Target
from openclaw.providers.errors import (
    ExternalAlreadyExists,
    ExternalConflict,
    ExternalInvalid,
    ExternalNotFound,
    ExternalUnauthorised,
)
from tests.contract.rds.places import ACCOUNT, REGION, Keys, Place

OWNER = Owner("RDSInstance", "shop", "orders", "6f3c9a52-0000-4000-8000-000000000001")


class _Source:
    """One key, as a source of credentials."""

    def __init__(self, key: Keys, secret: str | None = None) -> None:
        self.identity = key.id
        self._values = {"AWS_ACCESS_KEY_ID": key.id, "AWS_SECRET_ACCESS_KEY": secret or key.secret}

    async def fetch(self) -> Credentials:
        return Credentials(self._values)


@asynccontextmanager
async def connected(place: Place, source: _Source) -> AsyncIterator[RDSProvider]:
    target = Target(account=ACCOUNT, region=REGION, endpoint=place.url)
    provider = await RDSProviderFactory().connect(target, source)
    try:
        yield provider
    finally:
        await provider.close()


def wanted(**more: object) -> RDSWanted:
    given = {
        "identity": "orders",
        "owner": OWNER,
        "engine": "postgres",
        "db_instance_class": "db.t3.micro",
        "allocated_storage": 20,
        "master_username": "shop",
        "password": SecretStr("correct-horse"),
        "password_version": "1",
        "db_name": "shop",
        "tags": {"team": "shop"},
        "apply_immediately": True,
    }
    return RDSWanted(**given | more)  # type: ignore[arg-type]


def settled(**more: object) -> RDSWanted:
    """As wanted once the password is there."""
    return wanted(password=None, **more)


async def test_an_instance_is_made_changed_and_removed(place: Place) -> None:
    async with connected(place, _Source(await place.key())) as provider:
        await provider.health()
        with pytest.raises(ExternalNotFound):
            await provider.get("orders")
        made = await provider.create(wanted())
        assert (made.identity, made.owner_uid) == ("orders", OWNER.uid)
        with pytest.raises(ExternalAlreadyExists):
            await provider.create(wanted())

        observed = await provider.get("orders")
        assert not provider.compare(settled(), observed)
        assert (observed.status, observed.port, observed.tags["team"]) == ("available", 5432, "shop")
        page = await provider.list_page("")
        assert [it.identity for it in page.items] == ["orders"]
        assert page.next_token == ""

        change = settled(allocated_storage=40, db_instance_class="db.t3.small", tags={"team": "ops"})
        drift = provider.compare(change, observed)
        assert {it.field for it in drift} == {"allocatedStorage", "dbInstanceClass", "tags"}
        await provider.update(change, observed, drift)
        observed = await provider.get("orders")
        assert not provider.compare(change, observed)
        assert (observed.allocated_storage, observed.tags["team"]) == (40, "ops")

        await provider.delete("orders", RDSRemoval(final_snapshot="orders-last"))
        with pytest.raises(ExternalNotFound):
            await provider.get("orders")
        with pytest.raises(ExternalNotFound):
            await provider.delete("orders", RDSRemoval())


async def test_protection_is_lifted_only_when_that_is_asked_for(place: Place) -> None:
    async with connected(place, _Source(await place.key())) as provider:
        await provider.create(wanted(deletion_protection=True))
        with pytest.raises(ExternalConflict):
            await provider.delete("orders", RDSRemoval())
        assert (await provider.get("orders")).deletion_protection is True
        await provider.delete("orders", RDSRemoval(lift_protection=True))
        with pytest.raises(ExternalNotFound):
            await provider.get("orders")


async def test_what_is_refused_says_so_and_tells_no_password(place: Place) -> None:
    async with connected(place, _Source(await place.key())) as provider:
        with pytest.raises(ExternalInvalid) as refused:
            await provider.create(wanted(engine="dbase"))
    assert "correct-horse" not in f"{refused.value!r} {refused.value} {refused.value.__context__!r}"


async def test_refused_credentials_and_rights(place: Place) -> None:
    key = await place.key("rds:CreateDBInstance")
    async with connected(place, _Source(key)) as provider:
        await provider.health()
        with pytest.raises(ExternalUnauthorised) as refused:
            await provider.create(wanted())
        assert not refused.value.expired
    async with connected(place, _Source(key, secret="wrong")) as provider:
        with pytest.raises(ExternalUnauthorised):
            await provider.health()
    async with connected(place, _Source(key)) as provider:
        await place.revoke(key)
        with pytest.raises(ExternalUnauthorised):
            await provider.health()
