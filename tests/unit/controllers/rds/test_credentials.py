"""From a spec to a source of credentials, and to the account that they are of."""

from __future__ import annotations

import base64
from typing import Any, cast

import pytest

from openclaw.api.builtin import Secret
from openclaw.controllers.rds.credentials import ObjectCredentials
from openclaw.controllers.rds.reconciler import RDSInstanceReconciler
from openclaw.controllers.rds.settings import RDSSettings
from openclaw.providers.connections import Connections
from openclaw.providers.credentials.cache import CredentialCache
from openclaw.providers.credentials.source import Credentials
from openclaw.providers.credentials.vault_http import VaultServer
from openclaw.providers.errors import ExternalUnauthorised
from openclaw.runtime import Context, Key
from tests.unit.controllers.rds.test_identity import named
from tests.unit.controllers.rds.test_parts import key_of
from tests.unit.controllers.rds.world import World

VAULT = VaultServer(address="https://vault.example.com:8200")
ROLE = "arn:aws:iam::210987654321:role/databases"
POD_ROLE = "arn:aws:iam::123456789012:role/openclaw"


class Secrets:
    """As much of a context as is needed."""

    def __init__(self, **secrets: dict[str, str]) -> None:
        self.key = Key("shop", "orders")
        self._secrets = {
            name: Secret(
                {
                    "metadata": {"name": name, "uid": name, "resourceVersion": "1"},
                    "data": {key: base64.b64encode(it.encode()).decode() for key, it in values.items()},
                }
            )
            for name, values in secrets.items()
        }

    def get(self, kind: type[Secret], name: str) -> Secret | None:
        assert kind is Secret
        return self._secrets.get(name)


KEYS = {"AWS_ACCESS_KEY_ID": key_of(123456789012), "AWS_SECRET_ACCESS_KEY": "s"}


async def source_of(
    settings: RDSSettings | None = None, secrets: Secrets | None = None, **spec: Any
) -> tuple[str, str]:
    """The identity of the source, and the account."""
    given = {"credentialsSecretRef": None, **spec}
    credentials = ObjectCredentials(CredentialCache(), settings or RDSSettings())
    obj = named("orders", **given)
    source, account = await credentials.of(cast("Context", secrets or Secrets(aws=KEYS)), obj)
    return source.identity, account


async def test_from_a_secret_with_the_account_of_its_key() -> None:
    identity, account = await source_of(credentialsSecretRef={"name": "aws"})
    assert account == "123456789012"
    assert KEYS["AWS_ACCESS_KEY_ID"] not in identity


async def test_a_secret_that_is_missing_is_named() -> None:
    with pytest.raises(ExternalUnauthorised, match="'aws'"):
        await source_of(secrets=Secrets(), credentialsSecretRef={"name": "aws"})
    with pytest.raises(ExternalUnauthorised, match="AWS_SECRET_ACCESS_KEY"):
        await source_of(secrets=Secrets(aws={"AWS_ACCESS_KEY_ID": "A"}), credentialsSecretRef={"name": "aws"})


async def test_roles_are_assumed_one_from_another_and_the_last_ones_account_counts() -> None:
    identity, account = await source_of(
        credentialsSecretRef={"name": "aws"},
        credentials={"assumeRoles": [{"roleARN": POD_ROLE}, {"roleARN": ROLE, "externalID": "shop"}]},
    )
    assert account == "210987654321"
    assert identity.index(POD_ROLE) < identity.index(ROLE)
    assert "shop" in identity


async def test_the_pods_identity_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ROLE_ARN", POD_ROLE)
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "/token")
    identity, account = await source_of(credentials={"assumeRoles": [{"roleARN": ROLE}]})
    assert POD_ROLE in identity
    assert account == "210987654321"


async def test_the_pods_identity_may_be_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ROLE_ARN", POD_ROLE)
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "/token")
    with pytest.raises(ExternalUnauthorised, match="credentialsSecretRef"):
        await source_of(RDSSettings(pod_identity=False), credentials={"podIdentity": True})


async def test_a_pod_without_an_identity_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ROLE_ARN", raising=False)
    with pytest.raises(ExternalUnauthorised, match="service account"):
        await source_of()


async def test_vault_is_where_the_operator_says(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fetched(_: object) -> Credentials:
        return Credentials(KEYS)

    monkeypatch.setattr("openclaw.providers.credentials.vault.VaultAwsSource.fetch", fetched)
    monkeypatch.setattr("openclaw.providers.credentials.vault.VaultKvSource.fetch", fetched)
    settings = RDSSettings(vault=VAULT)
    vault: dict[str, Any] = {"kubernetesRole": "openclaw", "awsRole": "databases"}
    identity, account = await source_of(settings, credentials={"vault": vault})
    assert identity.startswith("vault:https://vault.example.com:8200")
    assert identity.endswith("aws/creds/databases")
    assert account == "123456789012"
    secrets = Secrets(approle={"role_id": "r-1", "secret_id": "never-shown"})
    vault = {"appRoleSecretRef": {"name": "approle"}, "kvPath": "shop/aws", "mount": "kv"}
    identity, _ = await source_of(settings, secrets, credentials={"vault": vault})
    assert "kv/data/shop/aws" in identity
    assert "never-shown" not in identity


async def test_without_a_vault_the_way_out_is_told() -> None:
    with pytest.raises(ExternalUnauthorised, match="VAULT_ADDR"):
        await source_of(credentials={"vault": {"kubernetesRole": "r", "awsRole": "a"}})


async def test_calls_count_against_the_account_and_its_region() -> None:
    world = World()
    world.secret("aws", **KEYS)
    await world.run()
    assert [(it.account, it.region) for it in world.rds.targets] == [("123456789012", "eu-central-1")]


async def test_changed_credentials_are_used_at_once() -> None:
    world = World()
    await world.available()
    world.rds.keys = {"AKIA-NEW"}
    await world.run(after=60)
    assert world.said("Degraded") == ("True", "Unauthorised")
    assert world.said("Available")[0] == "Unknown"
    world.secret("aws", AWS_ACCESS_KEY_ID="AKIA-NEW", AWS_SECRET_ACCESS_KEY="s")
    await world.run()
    assert world.said("Degraded") == ("False", "AsExpected")
    assert world.said("Available") == ("True", "Available")


async def test_what_was_opened_with_credentials_that_nobody_has_any_more_is_closed() -> None:
    evicted: list[str] = []

    class Recorded:
        async def evict(self, identity: str) -> None:
            evicted.append(identity)

    reconciler = RDSInstanceReconciler(RDSSettings())
    reconciler._connections = cast("Connections", Recorded())
    one, other = Key("shop", "one"), Key("shop", "other")
    for key, identity in ((one, "old"), (other, "old"), (one, "old"), (one, "new")):
        await reconciler._forget_former(key, identity)
    assert evicted == [], "the other object still has them"
    await reconciler._forget_former(other, "new")
    assert evicted == ["old"]
