"""Credentials that are refused, replaced, assumed, or gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.rds.world import World, condition, degraded, in_sync, is_, quiet
from tests.integration.reliability.waiting import eventually


async def test_a_revoked_key_is_told_and_its_return_noticed(world: World) -> None:
    async with world.operator():
        await world.create()
        await world.available()
        world.key.active = False
        item = await world.until(degraded("Unauthorised"))
        assert item["status"]["phase"] == "Available", "that it cannot be seen says nothing of the database"
        assert is_(item, "Available", "Unknown")
        assert item["status"]["lastErrorClass"] == "Unauthorised"
        assert item["status"]["endpoint"]
        world.key.active = True
        item = await world.available()
        assert "lastErrorClass" not in item["status"]
    assert world.writes() == ["CreateDBInstance"]


async def test_another_key_in_the_secret_is_used_at_once(world: World) -> None:
    async with world.operator():
        await world.create()
        await world.available()
        world.key.active = False
        await world.until(degraded("Unauthorised"))
        old, world.key = world.key, world.rds.new_key(world.account.id, "second")
        await world.add_credentials()
        await world.available()
        calls = [call.access_key for call in world.rds.ledger.calls(account=world.account.id)]
        assert {calls[0], calls[-1]} == {old.id, world.key.id}


async def test_a_create_that_is_not_allowed_makes_nothing_and_goes_on_when_it_is(world: World) -> None:
    world.key.denied.add("rds:CreateDBInstance")
    async with world.operator():
        await world.create()
        item = await world.until(degraded("Unauthorised"))
        assert "rds:CreateDBInstance" in condition(item, "Degraded")["message"]
        assert item["status"]["phase"] == "Pending"
        world.key.denied.clear()
        await world.available()
    assert world.writes() == ["CreateDBInstance"]


@pytest.mark.parametrize("secret", ["aws", "master"])
async def test_a_secret_that_comes_late(world: World, secret: str) -> None:
    await world.client.delete("Secret", world.namespace, secret)
    async with world.operator():
        await world.create()
        item = await world.until(degraded("SecretMissing"))
        assert secret in condition(item, "Degraded")["message"]
        await quiet(world)
        assert world.calls("CreateDBInstance") == 0
        await world.add_secrets()
        await world.available()


async def test_a_secret_without_the_key_names_the_key(world: World) -> None:
    await world.add_secret("broken", AWS_ACCESS_KEY_ID="x")
    async with world.operator():
        await world.create(credentialsSecretRef={"name": "broken"})
        item = await world.until(degraded("SecretMissing"))
    message = condition(item, "Degraded")["message"]
    assert "AWS_SECRET_ACCESS_KEY" in message
    assert "broken" in message


async def test_roles_are_assumed_one_with_the_other(world: World) -> None:
    first = world.rds.add_role("first", world.account.id, trusts={world.key.arn})
    via = f"arn:aws:sts::{world.account.id}:assumed-role/first/"
    second = world.rds.add_role("second", "999988887777", external_id="shop")
    roles = [{"roleARN": first.arn}, {"roleARN": second.arn, "externalID": "shop"}]
    async with world.operator():
        await world.create(credentials={"assumeRoles": roles})
        await world.available()
    region = world.rds.account("999988887777").region("eu-central-1")
    assert len(region.databases) == 1
    assert world.region.databases == []
    assumed = world.rds.ledger.calls("AssumeRole", result="ok")
    assert [call.identifier for call in assumed] == [first.arn, second.arn]
    assert via


async def test_the_identity_of_the_pod(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    role = world.rds.add_role("pod", world.account.id, web_identities={"a.web.identity"})
    token = tmp_path / "token"
    token.write_text("a.web.identity")
    monkeypatch.setenv("AWS_ROLE_ARN", role.arn)
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token))
    async with world.operator():
        await world.create(credentialsSecretRef=None, credentials={"podIdentity": True})
        await world.available()
    assert len(world.rds.ledger.calls("AssumeRoleWithWebIdentity", result="ok")) == 1
    assert world.writes() == ["CreateDBInstance"]


async def test_one_session_is_for_all_and_is_renewed_before_it_ends(world: World) -> None:
    role = world.rds.add_role("shared", world.account.id)
    async with world.operator():
        for number in range(5):
            await world.create(f"db{number}", credentials={"assumeRoles": [{"roleARN": role.arn}]})
        for number in range(5):
            await world.until(in_sync, f"db{number}")
        await eventually(lambda: world.calls("CreateDBInstance") == 5, "five databases")
    assert len(world.rds.ledger.calls("AssumeRole")) == 1
