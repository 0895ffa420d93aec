"""Credentials from a Vault: what is stored in its KV engine (version 2), or made by its AWS engine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

from openclaw.providers.credentials.source import Credentials
from openclaw.providers.credentials.vault_http import path_of
from openclaw.providers.credentials.vault_login import VaultSession, VaultToken
from openclaw.providers.errors import ExternalInvalid, ExternalTransient, ExternalUnauthorised, ProviderError

__all__ = ["VaultAwsSource", "VaultKvSource"]

_AWS_NAMES: Final = {
    "access_key": "AWS_ACCESS_KEY_ID",
    "secret_key": "AWS_SECRET_ACCESS_KEY",
    "security_token": "AWS_SESSION_TOKEN",
}
_KV_SECONDS: Final = 300.0
# The status of an expired token, and of one that may not: Vault does not tell them apart.
_NOT_TAKEN: Final = "403"


class VaultKvSource:
    """A secret of the KV engine, version 2; read again after a while, since it tells nobody of its changes.

    Args:
        session: a login.
        path: of the secret, within the mount.
        mount: of the engine.
        keep: seconds until it is read again.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        session: VaultSession,
        path: str,
        *,
        mount: str = "secret",
        keep: float = _KV_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._session = session
        self._path = path_of(mount, "data", path)
        self._keep = keep
        self._clock = clock

    def __repr__(self) -> str:
        return f"<VaultKvSource {self.identity}>"

    @property
    def identity(self) -> str:
        """Which secret, and as whom it is read."""
        return f"{self._session.identity}:kv:{self._path}"

    async def fetch(self) -> Credentials:
        """The entries of the newest version.

        Raises:
            ExternalUnauthorised: there is none, or it may not be read.
            ProviderError: the Vault did not answer as it should.
        """
        answer, _ = await _read(self._session, self._path)
        data = answer.get("data")
        entries = data.get("data") if isinstance(data, dict) else None
        if not isinstance(entries, dict):
            raise ExternalUnauthorised(f"the Vault's {self._path} has no current version")
        values = {key: it for key, it in entries.items() if isinstance(it, str)}
        return Credentials(values, expires_at=self._clock() + self._keep)


class _Lease(NamedTuple):
    id: str
    login: int
    renewable: bool
    values: dict[str, str]
    seconds: float


class VaultAwsSource:
    """Credentials that the AWS engine makes for a role, renewed while that goes.

    Its leases die with the token under which they were had: after a new login new ones are asked for.

    Args:
        session: a login.
        role: of the engine.
        mount: of the engine.
        kind: `creds` for those of a user that the engine makes or assumes as the role says, `sts` for short
            ones of a role that is assumed or a federation.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        session: VaultSession,
        role: str,
        *,
        mount: str = "aws",
        kind: Literal["creds", "sts"] = "creds",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._session = session
        self._path = path_of(mount, kind, role)
        self._clock = clock
        self._lease: _Lease | None = None

    def __repr__(self) -> str:
        return f"<VaultAwsSource {self.identity}>"

    @property
    def identity(self) -> str:
        """Which role, and as whom it is asked for."""
        return f"{self._session.identity}:aws:{self._path}"

    async def fetch(self) -> Credentials:
        """Credentials of a lease that is good now.

        Raises:
            ExternalUnauthorised: the role is none, or may not be asked for.
            ProviderError: the Vault did not answer as it should.
        """
        token = await self._session.token()
        if (renewed := await self._renewed(token)) is not None:
            return renewed
        answer, token = await _read(self._session, self._path)
        data = answer.get("data")
        if not isinstance(data, dict) or not all(
            isinstance(data.get(it), str) for it in ("access_key", "secret_key")
        ):
            raise ExternalInvalid(f"the Vault's {self._path} gave no AWS credentials")
        values = {
            name: data[key]
            for key, name in _AWS_NAMES.items()
            if isinstance(data.get(key), str) and data[key]
        }
        seconds = answer.get("lease_duration")
        lease = _Lease(
            id=str(answer.get("lease_id") or ""),
            login=token.login,
            renewable=answer.get("renewable") is True,
            values=values,
            seconds=float(seconds) if isinstance(seconds, int | float) else 0.0,
        )
        self._lease = lease
        return self._credentials(lease.values, lease.seconds, token)

    async def _renewed(self, token: VaultToken) -> Credentials | None:
        lease, self._lease = self._lease, None
        if lease is None or not lease.id or not lease.renewable or lease.login != token.login:
            return None
        try:
            answer = await self._session.server.request(
                "POST", "sys/leases/renew", token=token.token, body={"lease_id": lease.id}
            )
        except ExternalTransient:
            self._lease = lease
            raise
        except ProviderError:
            return None  # revoked, or at its end
        seconds = answer.get("lease_duration")
        # Near the end of all that it may live, a renewal gives little: ask for new ones.
        if not isinstance(seconds, int | float) or seconds < lease.seconds / 2:
            return None
        self._lease = lease
        return self._credentials(lease.values, float(seconds), token)

    def _credentials(self, values: dict[str, str], seconds: float, token: VaultToken) -> Credentials:
        ends = [self._clock() + seconds] if seconds > 0 else []
        if token.expires_at is not None:
            ends.append(token.expires_at)
        return Credentials(values, expires_at=min(ends) if ends else None)


async def _read(session: VaultSession, path: str) -> tuple[dict[str, Any], VaultToken]:
    """What is at `path`, and the token it was read with: a new one where the first was not taken."""
    token = await session.token()
    try:
        return await session.server.request("GET", path, token=token.token), token
    except ExternalUnauthorised as error:
        if error.code != _NOT_TAKEN:
            raise
    session.refused(token)
    token = await session.token()
    return await session.server.request("GET", path, token=token.token), token
