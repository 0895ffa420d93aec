"""A token of a Vault: had by logging in, renewed while that goes, and had anew when it does not."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from openclaw.providers.credentials.token_file import SERVICE_ACCOUNT_TOKEN, read_token
from openclaw.providers.credentials.vault_http import VaultServer, path_of
from openclaw.providers.errors import ExternalInvalid, ExternalTransient, ProviderError
from openclaw.providers.flight import SingleFlight

__all__ = ["AppRoleLogin", "KubernetesLogin", "Login", "VaultSession", "VaultToken"]

# Of its life; what is left must last for a while when the Vault is away.
_RENEW_AFTER: Final = 1 / 2
_LOGIN_AFTER: Final = 9 / 10


class Login(Protocol):
    """A way to log in."""

    @property
    def identity(self) -> str:
        """Who logs in, without secrets."""

    async def body(self) -> tuple[str, dict[str, Any]]:
        """The path to log in at, and what to send there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesLogin:
    """Log in as the pod's service account.

    Attributes:
        role: of the Vault's auth method.
        mount: where the auth method is mounted.
        token_file: the service account's token.
    """

    role: str
    mount: str = "kubernetes"
    token_file: str = SERVICE_ACCOUNT_TOKEN

    @property
    def identity(self) -> str:
        """As in `Login`."""
        return f"kubernetes:{self.mount}:{self.role}"

    async def body(self) -> tuple[str, dict[str, Any]]:
        """As in `Login`; the token is read anew, since the kubelet replaces it."""
        jwt = await read_token(self.token_file)
        return path_of("auth", self.mount, "login"), {"role": self.role, "jwt": jwt}


@dataclass(frozen=True, slots=True, kw_only=True)
class AppRoleLogin:
    """Log in with a role id and a secret id.

    Attributes:
        role_id: which role.
        secret_id: the secret of it; in no repr. "" for a role that needs none.
        mount: where the auth method is mounted.
        version: tells secrets apart in identities: the Secret's resourceVersion, for instance.
    """

    role_id: str
    secret_id: str = field(default="", repr=False)
    mount: str = "approle"
    version: str = ""

    @property
    def identity(self) -> str:
        """As in `Login`."""
        return f"approle:{self.mount}:{self.role_id}:{self.version}"

    async def body(self) -> tuple[str, dict[str, Any]]:
        """As in `Login`."""
        given = {"role_id": self.role_id}
        if self.secret_id:
            given["secret_id"] = self.secret_id
        return path_of("auth", self.mount, "login"), given


class VaultToken(NamedTuple):
    """A token that is good now.

    Attributes:
        login: tells which login it is from: leases of another one have died with it.
        expires_at: seconds since 1970; None where it does not.
    """

    token: str
    login: int
    expires_at: float | None

    def __repr__(self) -> str:
        return f"<VaultToken of login {self.login}>"


class VaultSession:
    """One login at one Vault, kept alive as long as somebody asks for its token.

    Args:
        server: which Vault.
        login: as whom.
        clock: seconds since 1970.
    """

    def __init__(self, server: VaultServer, login: Login, *, clock: Callable[[], float] = time.time) -> None:
        self.server = server
        self._login = login
        self._clock = clock
        self._flight: SingleFlight[str, VaultToken] = SingleFlight()
        self._token: VaultToken | None = None
        self._since = 0.0
        self._full = 0.0
        self._renewable = False
        self._logins = 0

    def __repr__(self) -> str:
        return f"<VaultSession {self.identity}>"

    @property
    def identity(self) -> str:
        """Where, and as whom."""
        return f"vault:{self.server.address}:{self.server.namespace}:{self._login.identity}"

    async def token(self) -> VaultToken:
        """A token that is good now and for some time.

        Raises:
            ProviderError: there is none, and none can be had.
        """
        if self._token is not None and self._life_spent() < _RENEW_AFTER:
            return self._token
        return await self._flight.run("token", self._kept_alive)

    def refused(self, token: VaultToken) -> None:
        """The Vault does not take this token: log in anew the next time."""
        if self._token == token:
            self._token = None

    async def _kept_alive(self) -> VaultToken:
        token = self._token
        if token is not None and self._renewable and self._life_spent() < _LOGIN_AFTER:
            try:
                answer = await self.server.request(
                    "POST", "auth/token/renew-self", token=token.token, body={}
                )
            except ProviderError as error:
                if isinstance(error, ExternalTransient):
                    return token  # it is good for a while yet
            else:
                renewed = self._taken(answer, token.login)
                if self._life() >= self._full / 2:
                    return renewed
                # Near the end of all that it may live, a renewal gives little: log in instead.
        try:
            path, body = await self._login.body()
            answer = await self.server.request("POST", path, body=body)
        except ExternalTransient:
            if self._token is not None and self._life_spent() < 1:
                return self._token
            raise
        self._logins += 1
        taken = self._taken(answer, self._logins)
        self._full = self._life()
        return taken

    def _taken(self, answer: dict[str, Any], login: int) -> VaultToken:
        auth = answer.get("auth")
        if not isinstance(auth, dict) or not isinstance(auth.get("client_token"), str):
            raise ExternalInvalid(f"Vault at {self.server.address}: the answer to the login has no token")
        life = auth.get("lease_duration")
        now = self._clock()
        expires_at = now + life if isinstance(life, int) and life > 0 else None
        self._since = now
        self._renewable = auth.get("renewable") is True
        self._token = VaultToken(auth["client_token"], login, expires_at)
        return self._token

    def _life(self) -> float:
        """Seconds that the token was given; without end where it does not expire."""
        token = self._token
        return float("inf") if token is None or token.expires_at is None else token.expires_at - self._since

    def _life_spent(self) -> float:
        """The part of its life that the token has behind it, from 0 to 1 and more."""
        token = self._token
        if token is None:
            return 1.0
        return (self._clock() - self._since) / self._life()
