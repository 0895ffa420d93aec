"""A stand-in for Amazon RDS (and as much of STS as leads to it), to test and show operators with.

It speaks AWS' query protocol to any AWS client over HTTP, keeps databases whose statuses follow declared
timelines on a clock that a test can turn, and misbehaves as asked. What it was asked is in its ledger.

    async with RDSStandIn(clock=ManualClock()) as rds:
        key = rds.new_key()
        rds.faults.add(Fault(LoseAnswer(), operation="CreateDBInstance"))
        ...
        rds.clock.advance(300)
        assert rds.account().region("eu-central-1").database("orders").status == "available"

`tests/contract/rds` holds it to moto.
"""

from openclaw.testing.rds.accounts import AccessKey, Account, Role
from openclaw.testing.rds.clock import Clock, ManualClock, WallClock
from openclaw.testing.rds.cloud import Cloud
from openclaw.testing.rds.database import Database
from openclaw.testing.rds.errors import AWSError
from openclaw.testing.rds.faults import (
    HANG,
    HANG_AFTER,
    OUTAGE,
    THROTTLE,
    Cut,
    FailAfter,
    Fault,
    Faults,
    Garble,
    Late,
    LoseAnswer,
    Outcome,
    Pretend,
    Refuse,
    Wait,
    WaitAfter,
)
from openclaw.testing.rds.ledger import Call, Ledger
from openclaw.testing.rds.operations import READS
from openclaw.testing.rds.region import Behaviour, Region, Snapshot
from openclaw.testing.rds.server import RDSStandIn
from openclaw.testing.rds.timeline import Stage, Timelines

__all__ = [
    "Cloud",
    "RDSStandIn",
    # what is in it
    "AWSError",
    "AccessKey",
    "Account",
    "Database",
    "Region",
    "Role",
    "Snapshot",
    # time
    "Behaviour",
    "Clock",
    "ManualClock",
    "Stage",
    "Timelines",
    "WallClock",
    # what goes wrong
    "HANG",
    "HANG_AFTER",
    "OUTAGE",
    "THROTTLE",
    "Cut",
    "FailAfter",
    "Fault",
    "Faults",
    "Garble",
    "Late",
    "LoseAnswer",
    "Outcome",
    "Pretend",
    "Refuse",
    "Wait",
    "WaitAfter",
    # what was asked
    "READS",
    "Call",
    "Ledger",
]
