"""From what an object says of its credentials to a source of them, and to the account that they are of."""

from __future__ import annotations

import os
from typing import Final

from openclaw.api.awscredentials import VaultCredentials
from openclaw.api.builtin import Secret
from openclaw.api.rdsinstance import RDSInstance
from openclaw.controllers.rds.account import account_of_key, account_of_role
from openclaw.controllers.rds.settings import RDSSettings
from openclaw.providers.aws.clients import OpenClient, open_client
from openclaw.providers.aws.sts import AssumeRoleSource, RoleRequest, pod_identity
from openclaw.providers.credentials.cache import CredentialCache
from openclaw.providers.credentials.secret import SecretSource, secret_values
from openclaw.providers.credentials.source import CredentialSource
from openclaw.providers.credentials.vault import VaultAwsSource, VaultKvSource
from openclaw.providers.credentials.vault_login import AppRoleLogin, KubernetesLogin, Login, VaultSession
from openclaw.providers.errors import ExternalUnauthorised
from openclaw.runtime import Context

__all__ = ["ObjectCredentials"]

_KEYS: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_MOST_SESSIONS: Final = 256


class ObjectCredentials:
    """Makes the sources of all objects.

    Args:
        cache: keeps what sources gave.
        settings: what objects may use.
        clients: gives the SDK's clients.
    """

    def __init__(
        self, cache: CredentialCache, settings: RDSSettings, *, clients: OpenClient = open_client
    ) -> None:
        self._clients = clients
        self._cache = cache
        self._settings = settings
        self._sessions: dict[str, VaultSession] = {}

    async def of(self, ctx: Context, obj: RDSInstance) -> tuple[CredentialSource, str]:
        """The source of an object's credentials, and their account.

        Raises:
            ExternalUnauthorised: they are missing, or not to be had.
            ProviderError: whoever gives them did not answer.
        """
        source = self._base(ctx, obj)
        account: str | None = None
        for role in obj.spec.credentials.assume_roles:
            request = RoleRequest(role.role_arn, external_id=role.external_id or "")
            source = AssumeRoleSource(
                self._cache.cached(source), request, region=obj.spec.region, clients=self._clients
            )
            account = account_of_role(role.role_arn)
        source = self._cache.cached(source)
        if account is None:
            account = account_of_key((await source.fetch())[_KEYS[0]])
        return source, account

    def _base(self, ctx: Context, obj: RDSInstance) -> CredentialSource:
        spec = obj.spec
        if spec.credentials_secret_ref is not None:
            name = spec.credentials_secret_ref.name
            return SecretSource(ctx.get(Secret, name), name=name, required=_KEYS)
        if spec.credentials.vault is not None:
            return self._vault(ctx, spec.credentials.vault)
        if not self._settings.pod_identity:
            raise ExternalUnauthorised(
                "this operator lets no object use its pod's identity: set spec.credentialsSecretRef",
                code="PodIdentityDenied",
            )
        return pod_identity(region=spec.region, environment=os.environ)

    def _vault(self, ctx: Context, vault: VaultCredentials) -> CredentialSource:
        if self._settings.vault is None:
            raise ExternalUnauthorised(
                "this operator knows no Vault: set VAULT_ADDR where it runs, or give other credentials",
                code="NoVault",
            )
        login: Login
        if vault.app_role_secret_ref is not None:
            name = vault.app_role_secret_ref.name
            secret = ctx.get(Secret, name)
            values = secret_values(secret, name=name, required=["role_id", "secret_id"])
            login = AppRoleLogin(
                role_id=values["role_id"],
                secret_id=values["secret_id"],
                mount=vault.auth_mount or "approle",
                version=f"{ctx.key.namespace}/{name}/{secret.resource_version if secret else ''}",
            )
        else:
            login = KubernetesLogin(role=vault.kubernetes_role or "", mount=vault.auth_mount or "kubernetes")
        session = self._session(VaultSession(self._settings.vault, login))
        if vault.kv_path is not None:
            return VaultKvSource(session, vault.kv_path, mount=vault.mount or "secret")
        return VaultAwsSource(session, vault.aws_role or "", mount=vault.mount or "aws")

    def _session(self, session: VaultSession) -> VaultSession:
        """The login that is there already, where one of its identity is."""
        known = self._sessions.pop(session.identity, session)
        self._sessions[session.identity] = known
        while len(self._sessions) > _MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return known
