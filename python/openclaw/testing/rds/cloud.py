"""The stand-in itself: accounts, clock, faults and ledger, and how one call goes through them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from typing import Any, Final

from openclaw.testing.rds.accounts import AccessKey, Account, Identities, Role
from openclaw.testing.rds.clock import Clock, WallClock
from openclaw.testing.rds.errors import AWSError, access_denied
from openclaw.testing.rds.faults import Faults, Throttle
from openclaw.testing.rds.ledger import Call, Ledger
from openclaw.testing.rds.operations import OPERATIONS
from openclaw.testing.rds.region import Behaviour

STS: Final = frozenset({"GetCallerIdentity", "AssumeRole", "AssumeRoleWithWebIdentity"})


class Cloud:
    """RDS and STS for any number of accounts, without a server: see `RDSStandIn` for one that listens.

    Args:
        clock: which everything goes by; the machine's own by default.
        behaviour: what every account begins with.
        chance: what keys and names are drawn from; give one for runs that are to be the same each time.

    Attributes:
        faults: what goes wrong.
        ledger: what was asked.
        late: the calls on their way whose effect comes whatever becomes of the client.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        behaviour: Behaviour | None = None,
        chance: random.Random | None = None,
    ) -> None:
        self.clock: Clock = clock or WallClock()
        self.behaviour = behaviour or Behaviour()
        self.faults = Faults()
        self.ledger = Ledger()
        self.chance = chance or random.SystemRandom()
        self.identities = Identities(self.clock, self.chance)
        self._accounts: dict[str, Account] = {}
        self._throttles: dict[str, Throttle] = {}
        self.late: set[asyncio.Future[dict[str, Any]]] = set()

    @property
    def accounts(self) -> list[Account]:
        """All accounts, by number."""
        return [account for _, account in sorted(self._accounts.items())]

    def account(self, number: str = "123456789012", behaviour: Behaviour | None = None) -> Account:
        """The account of that number; a new one behaves as `behaviour` says, or as all do."""
        if number not in self._accounts:
            self._accounts[number] = Account(number, self.clock, behaviour or self.behaviour, self.chance)
        return self._accounts[number]

    def new_key(self, account: str = "123456789012", user: str = "openclaw") -> AccessKey:
        """A new access key of a user of an account. Revoke it by `key.active = False`."""
        return self.identities.new_key(self.account(account).id, user)

    def add_role(self, name: str, account: str = "123456789012", **options: Any) -> Role:
        """A role of an account; the options are the attributes of `Role`."""
        number = self.account(account).id
        return self.identities.add_role(Role(f"arn:aws:iam::{number}:role/{name}", number, **options))

    def throttle(self, account: str, *, rate: float, burst: float) -> None:
        """From now on refuse an account's calls to RDS beyond `burst` at once and `rate` a second.

        Every second here is one of the stand-in's clock.
        """
        self._throttles[account] = Throttle(rate, burst, self.clock.now)

    def unthrottle(self, account: str) -> None:
        """Refuse none of an account's calls for their number."""
        self._throttles.pop(account, None)

    def carry_out(
        self, service: str, parameters: Mapping[str, Any], call: Call, caller: AccessKey | None
    ) -> dict[str, Any]:
        """The effect of a call, and its answer.

        Raises AWSError for a refusal.
        """
        rest = {name: value for name, value in parameters.items() if name not in ("Action", "Version")}
        if service == "sts" and call.operation in STS:
            return self._sts(call, rest, caller)
        operation = OPERATIONS.get(call.operation) if service == "rds" else None
        if operation is None:
            raise AWSError("InvalidAction", f"Could not find operation {call.operation} of {service}")
        if caller is None:
            raise AWSError("MissingAuthenticationToken", "The request is not signed", 403)
        throttle = self._throttles.get(caller.account)
        if throttle is not None and not throttle.admits():
            raise AWSError("Throttling", "Rate exceeded")
        region = self.account(caller.account).region(call.region)
        if f"rds:{call.operation}" in caller.denied:
            raise access_denied(caller.arn, f"rds:{call.operation}", region.arn("db", call.identifier or "*"))
        return operation(region, rest)

    def _sts(self, call: Call, parameters: Mapping[str, Any], caller: AccessKey | None) -> dict[str, Any]:
        if call.operation == "AssumeRoleWithWebIdentity":
            return self.identities.assume_role_with_web_identity(parameters)
        if caller is None:
            raise AWSError("MissingAuthenticationToken", "The request is not signed", 403)
        if call.operation == "AssumeRole":
            return self.identities.assume_role(caller, parameters)
        return self.identities.caller_identity(caller)
