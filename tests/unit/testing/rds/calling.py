"""Calls of the stand-in's operations without HTTP."""

from __future__ import annotations

from typing import Any

from openclaw.testing.rds import AccessKey, AWSError, Behaviour, Call, ManualClock, Region
from openclaw.testing.rds.cloud import Cloud

ACCOUNT = "123456789012"
REGION = "eu-central-1"
DATABASE = {
    "Engine": "postgres",
    "EngineVersion": "16.8",
    "DBInstanceClass": "db.t3.micro",
    "AllocatedStorage": "100",
    "MasterUsername": "shop",
    "MasterUserPassword": "correct-horse",
}


class Caller:
    """A cloud on a clock turned by hand, with one key.

    Attributes:
        clock: of the cloud.
    """

    def __init__(self, behaviour: Behaviour | None = None) -> None:
        self.clock = ManualClock()
        self.cloud = Cloud(clock=self.clock, behaviour=behaviour)
        self.key: AccessKey = self.cloud.new_key(ACCOUNT)

    @property
    def region(self) -> Region:
        return self.cloud.account(ACCOUNT).region(REGION)

    def __call__(self, operation: str, identifier: str = "", **parameters: Any) -> dict[str, Any]:
        if identifier:
            parameters["DBInstanceIdentifier"] = identifier
        call = Call(self.clock.now(), ACCOUNT, REGION, operation, identifier, self.key.id)
        return self.cloud.carry_out("rds", parameters, call, self.key)

    def create(self, identifier: str = "orders", **parameters: Any) -> dict[str, Any]:
        return self("CreateDBInstance", identifier, **DATABASE | parameters)

    def modify(self, identifier: str = "orders", *, at_once: bool = True, **parameters: Any) -> None:
        self("ModifyDBInstance", identifier, ApplyImmediately=str(at_once).lower(), **parameters)

    def describe(self, identifier: str = "orders") -> dict[str, Any]:
        (found,) = self("DescribeDBInstances", identifier)["DBInstances"]
        return dict(found)

    def status(self, identifier: str = "orders") -> str:
        return str(self.describe(identifier)["DBInstanceStatus"])

    def statuses(self, seconds: float, identifier: str = "orders") -> list[str]:
        """The different statuses of so many seconds, looked at each second."""
        seen: list[str] = []
        for _ in range(int(seconds)):
            try:
                status = self.status(identifier)
            except AWSError as error:
                status = error.code
            if seen[-1:] != [status]:
                seen.append(status)
            self.clock.advance(1)
        return seen
