"""Credentials by way of AWS' token service, as moto and the stand-in play it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from openclaw.providers.aws.sts import (
    AssumeRoleSource,
    RoleRequest,
    WebIdentitySource,
    caller_account,
    pod_identity,
)
from openclaw.providers.credentials.cache import CachedSource
from openclaw.providers.credentials.secret import StaticSource
from openclaw.providers.credentials.source import CredentialSource
from openclaw.providers.errors import ExternalTransient, ExternalUnauthorised
from openclaw.testing.rds import RDSStandIn
from tests.contract.rds.places import ACCOUNT, MotoPlace, MotoServer

REGION = "eu-central-1"


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MotoServer]:
    server = MotoServer(tmp_path_factory.mktemp("moto") / "moto.log")
    yield server
    server.stop()


@pytest_asyncio.fixture
async def aws(moto: MotoServer) -> AsyncIterator[MotoPlace]:
    yield await moto.place()


async def static(aws: MotoPlace, *denied: str) -> StaticSource:
    key = await aws.key(*denied)
    return StaticSource({"AWS_ACCESS_KEY_ID": key.id, "AWS_SECRET_ACCESS_KEY": key.secret})


async def test_a_role_is_assumed_with_the_credentials_of_another_source(aws: MotoPlace) -> None:
    role = await aws.role()
    source = AssumeRoleSource(await static(aws), RoleRequest(role), region=REGION, endpoint=aws.url)
    credentials = await source.fetch()
    assert set(credentials.values) == {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}
    assert credentials.expires_at is not None
    assert await caller_account(source, region=REGION, endpoint=aws.url) == ACCOUNT
    for secret in list(credentials.values.values())[1:]:
        assert secret not in repr(source) + source.identity + repr(credentials)


async def test_roles_are_assumed_one_from_another_into_another_account() -> None:
    async with RDSStandIn() as aws:
        key = aws.new_key()
        base = StaticSource({"AWS_ACCESS_KEY_ID": key.id, "AWS_SECRET_ACCESS_KEY": key.secret})
        hub = aws.add_role("hub")
        session = f"arn:aws:sts::{ACCOUNT}:assumed-role/hub/chained"
        spoke = aws.add_role("spoke", "210987654321", trusts={session}, external_id="theirs")

        def assumed(source: CredentialSource, role: str, external_id: str = "") -> CachedSource:
            request = RoleRequest(role, external_id=external_id, session_name="chained", seconds=900)
            return CachedSource(AssumeRoleSource(source, request, region=REGION, endpoint=aws.url))

        first = assumed(base, hub.arn)
        second = assumed(first, spoke.arn, "theirs")
        assert await caller_account(second, region=REGION, endpoint=aws.url) == "210987654321"
        assert len({base.identity, first.identity, second.identity}) == 3
        for source in (assumed(first, spoke.arn, "wrong"), assumed(base, spoke.arn, "theirs")):
            with pytest.raises(ExternalUnauthorised, match="AccessDenied"):
                await source.fetch()
        assert second.identity != assumed(first, spoke.arn, "wrong").identity


async def test_a_chain_whose_first_session_was_revoked_is_made_anew() -> None:
    now = [1_000_000.0]
    async with RDSStandIn() as aws:
        key = aws.new_key()
        base = StaticSource({"AWS_ACCESS_KEY_ID": key.id, "AWS_SECRET_ACCESS_KEY": key.secret})
        hub, spoke = aws.add_role("hub"), aws.add_role("spoke", "210987654321")
        of_hub = AssumeRoleSource(base, RoleRequest(hub.arn), region=REGION, endpoint=aws.url)
        first = CachedSource(of_hub, clock=lambda: now[0])
        second = AssumeRoleSource(first, RoleRequest(spoke.arn), region=REGION, endpoint=aws.url)
        await second.fetch()
        aws.identities.find(
            (await first.fetch())["AWS_ACCESS_KEY_ID"], (await first.fetch())["AWS_SESSION_TOKEN"]
        ).active = False
        now[0] += 60
        assert await caller_account(second, region=REGION, endpoint=aws.url) == "210987654321"


async def test_a_pods_token_that_the_role_does_not_trust(tmp_path: Path) -> None:
    async with RDSStandIn() as aws:
        role = aws.add_role("pod", web_identities={"right"})
        file = tmp_path / "token"
        file.write_text("wrong")
        request = RoleRequest(role.arn)
        source = WebIdentitySource(request, token_file=str(file), region=REGION, endpoint=aws.url)
        with pytest.raises(ExternalUnauthorised, match="AssumeRoleWithWebIdentity") as caught:
            await source.fetch()
        assert "wrong" not in str(caught.value)
        file.write_text("right")
        assert (await source.fetch())["AWS_SESSION_TOKEN"]


async def test_what_is_refused_is_said_in_its_words(aws: MotoPlace) -> None:
    role = await aws.role()
    denied = await static(aws, "sts:AssumeRole")
    source = AssumeRoleSource(denied, RoleRequest(role), region=REGION, endpoint=aws.url)
    with pytest.raises(ExternalUnauthorised, match="AccessDenied"):
        await source.fetch()
    wrong = StaticSource({"AWS_ACCESS_KEY_ID": "AKIANOBODY", "AWS_SECRET_ACCESS_KEY": "hunter2"})
    with pytest.raises(ExternalUnauthorised) as caught:
        await caller_account(wrong, region=REGION, endpoint=aws.url)
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ExternalUnauthorised, match="no 'AWS_ACCESS_KEY_ID'"):
        await caller_account(StaticSource({"token": "x"}), region=REGION, endpoint=aws.url)


async def test_the_pods_identity_needs_no_credentials(aws: MotoPlace, tmp_path: Path) -> None:
    role = await aws.role()
    file = tmp_path / "token"
    file.write_text("the-token-of-the-pod")
    environment = {"AWS_ROLE_ARN": role, "AWS_WEB_IDENTITY_TOKEN_FILE": str(file)}
    source = pod_identity(region=REGION, endpoint=aws.url, environment=environment)
    assert isinstance(source, WebIdentitySource)
    cached = CachedSource(source)
    got = await asyncio.gather(*(cached.fetch() for _ in range(20)))
    assert len({it["AWS_ACCESS_KEY_ID"] for it in got}) == 1
    assert await caller_account(cached, region=REGION, endpoint=aws.url) == ACCOUNT
    file.unlink()
    with pytest.raises(ExternalUnauthorised, match="mount a projected"):
        await source.fetch()


def test_a_pod_without_an_identity_says_what_to_do() -> None:
    with pytest.raises(ExternalUnauthorised, match="annotate its service account with"):
        pod_identity(region=REGION, environment={"AWS_ROLE_ARN": "x"})


async def test_a_token_service_that_is_away() -> None:
    source = StaticSource({"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"})
    with pytest.raises(ExternalTransient, match="Could not connect"):
        await caller_account(source, region=REGION, endpoint="http://127.0.0.1:1")
