"""Accounts: access keys that can be revoked, roles that can be assumed, what callers may do."""

from __future__ import annotations

import base64
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from openclaw.testing.rds.clock import Clock
from openclaw.testing.rds.database import require
from openclaw.testing.rds.errors import AWSError, access_denied, invalid_token
from openclaw.testing.rds.region import Behaviour, Region
from openclaw.testing.rds.wire import parse

_SESSION_SECONDS: Final = range(900, 43201)
_FORBIDDEN: Final = 403


@dataclass(slots=True)
class AccessKey:
    """What a call is signed with.

    Attributes:
        id: the public part.
        secret: the other part.
        token: of a session; None for a user's key.
        arn: of the caller.
        account: the account's number.
        active: set it to False to revoke the key, and back.
        expires: seconds of the stand-in's clock; None for a user's key, which does not.
        denied: actions that its holder may not, such as `rds:DeleteDBInstance`.
    """

    id: str
    secret: str = field(repr=False)
    arn: str
    account: str
    token: str | None = field(default=None, repr=False)
    active: bool = True
    expires: float | None = None
    denied: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Role:
    """A role, assumed by AssumeRole or AssumeRoleWithWebIdentity.

    Attributes:
        arn: its name for callers.
        account: the account's number.
        trusts: the ARNs of those who may assume it; None for anybody with a key.
        external_id: what callers have to name; None for nothing.
        web_identities: the tokens with which it may be assumed without a key.
        denied: actions that its sessions may not.
    """

    arn: str
    account: str
    trusts: set[str] | None = None
    external_id: str | None = None
    web_identities: set[str] = field(default_factory=set, repr=False)
    denied: set[str] = field(default_factory=set)


def _key_id(kind: str, account: str, chance: random.Random) -> str:
    """A new identifier, which holds the account's number as those of AWS do since 2019."""
    number = 1 << 47 | int(account) << 7 | chance.getrandbits(7)
    return kind + base64.b32encode(number.to_bytes(6) + chance.randbytes(4)).decode()


class Account:
    """One account: its regions, and who may what.

    Attributes:
        id: twelve digits.
        behaviour: how RDS behaves for it; every account has the stand-in's, until it gets its own.
    """

    def __init__(self, number: str, clock: Clock, behaviour: Behaviour, chance: random.Random) -> None:
        self.id = number
        self.behaviour = behaviour
        self._clock = clock
        self._chance = chance
        self._regions: dict[str, Region] = {}

    def region(self, name: str) -> Region:
        """One of its regions; every name is one."""
        if name not in self._regions:
            self._regions[name] = Region(self.id, name, self._clock, self.behaviour, self._chance)
        return self._regions[name]

    @property
    def regions(self) -> list[Region]:
        """Those that were used, by name."""
        return [region for _, region in sorted(self._regions.items())]


class Identities:
    """The access keys and roles of all accounts, and STS."""

    def __init__(self, clock: Clock, chance: random.Random) -> None:
        self._clock = clock
        self._chance = chance
        self._keys: dict[str, AccessKey] = {}
        self._roles: dict[str, Role] = {}

    def new_key(self, account: str, user: str) -> AccessKey:
        """A new access key of a user."""
        key = AccessKey(
            id=_key_id("AKIA", account, self._chance),
            secret=self._chance.randbytes(20).hex(),
            arn=f"arn:aws:iam::{account}:user/{user}",
            account=account,
        )
        self._keys[key.id] = key
        return key

    def add_role(self, role: Role) -> Role:
        """Make a role known."""
        self._roles[role.arn] = role
        return role

    def find(self, key: str, token: str | None) -> AccessKey:
        """The key that a call is signed with.

        Raises AWSError when it is unknown, revoked or expired.
        """
        found = self._keys.get(key)
        if found is None or not found.active or found.token != token:
            raise invalid_token()
        if found.expires is not None and found.expires <= self._clock.now():
            raise AWSError(
                "ExpiredToken", "The security token included in the request is expired", _FORBIDDEN
            )
        return found

    # STS

    def caller_identity(self, caller: AccessKey) -> dict[str, Any]:
        """GetCallerIdentity."""
        return {"Arn": caller.arn, "UserId": caller.id, "Account": caller.account}

    def assume_role(self, caller: AccessKey, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """AssumeRole; raises AWSError when the caller may not."""
        arn = require("RoleArn", parameters)
        role = self._roles.get(arn)
        trusted = role is not None and (role.trusts is None or caller.arn in role.trusts)
        known = role is not None and role.external_id in (None, parameters.get("ExternalId"))
        if role is None or not trusted or not known:
            raise access_denied(caller.arn, "sts:AssumeRole", arn)
        return self._session(role, parameters)

    def assume_role_with_web_identity(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """AssumeRoleWithWebIdentity; raises AWSError when the token does not open the role."""
        role = self._roles.get(require("RoleArn", parameters))
        token = require("WebIdentityToken", parameters)
        if role is None or token not in role.web_identities:
            raise AWSError(
                "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity", _FORBIDDEN
            )
        return self._session(role, parameters)

    def _session(self, role: Role, parameters: Mapping[str, Any]) -> dict[str, Any]:
        name = require("RoleSessionName", parameters)
        seconds = parse(parameters.get("DurationSeconds", "3600"), int, "DurationSeconds")
        if seconds not in _SESSION_SECONDS:
            raise AWSError("ValidationError", f"DurationSeconds {seconds} is not within 900 to 43200")
        expires = self._clock.now() + seconds
        path = role.arn.rsplit("/", 1)[-1]
        key = AccessKey(
            id=_key_id("ASIA", role.account, self._chance),
            secret=self._chance.randbytes(20).hex(),
            token=self._chance.randbytes(60).hex(),
            arn=f"arn:aws:sts::{role.account}:assumed-role/{path}/{name}",
            account=role.account,
            expires=expires,
            denied=role.denied,
        )
        self._keys[key.id] = key
        return {
            "Credentials": {
                "AccessKeyId": key.id,
                "SecretAccessKey": key.secret,
                "SessionToken": key.token,
                "Expiration": datetime.fromtimestamp(expires, UTC),
            },
            "AssumedRoleUser": {"AssumedRoleId": f"AROA{path.upper()}:{name}", "Arn": key.arn},
        }
