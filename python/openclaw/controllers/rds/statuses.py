"""Every status that RDS gives an instance, and what each means here.

The words are those that AWS' own controller knows and those of the RDS user guide ("Viewing Amazon RDS DB
instance status"); neither list is complete, so a word that is not here is told of and polled slowly.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

__all__ = ["STATUSES", "UNKNOWN", "Stage", "StatusRule", "rule_of"]


class Stage(enum.Enum):
    """What an instance is doing, as its status tells."""

    BUILDING = "building"
    """It is being made, and nobody can connect yet."""
    SERVING = "serving"
    """It serves, and changes are accepted."""
    CHANGING = "changing"
    """RDS is at work on it; changes wait until it is done."""
    IMPAIRED = "impaired"
    """Something is wrong that may be put right; a change may be what does it."""
    BROKEN = "broken"
    """It will not come to life again by itself, nor by a change."""
    GOING = "going"
    """It is being deleted."""
    UNKNOWN = "unknown"
    """RDS' word is not known here."""


@dataclass(frozen=True, slots=True)
class StatusRule:
    """What a status means.

    Attributes:
        stage: what the instance is doing.
        serving: whether it accepts connections meanwhile.
        modifiable: whether RDS accepts changes in it.
        snapshot: whether RDS can make a final snapshot of it, now or once it is done.
        advice: what a person can do; "" where nothing has to be done.
    """

    stage: Stage
    serving: bool = False
    modifiable: bool = False
    snapshot: bool = True
    advice: str = ""


def _serving() -> StatusRule:
    return StatusRule(Stage.SERVING, serving=True, modifiable=True)


def _changing(*, serving: bool = False) -> StatusRule:
    return StatusRule(Stage.CHANGING, serving=serving)


def _impaired(advice: str, *, serving: bool = False, modifiable: bool = False) -> StatusRule:
    return StatusRule(Stage.IMPAIRED, serving, modifiable, advice=advice)


def _broken(advice: str) -> StatusRule:
    return StatusRule(Stage.BROKEN, snapshot=False, advice=advice)


STATUSES: Final[dict[str, StatusRule]] = {
    # It is being made.
    "creating": StatusRule(Stage.BUILDING),
    # It serves.
    "available": _serving(),
    "backing-up": _serving(),
    "configuring-enhanced-monitoring": _serving(),
    "storage-optimization": _serving(),
    "storage-initialization": _serving(),
    # RDS is at work on it.
    "backtracking": _changing(),
    "configuring-activity-stream": _changing(serving=True),
    "configuring-associated-roles": _changing(serving=True),
    "configuring-iam-database-auth": _changing(serving=True),
    "configuring-log-exports": _changing(serving=True),
    "converting-to-vpc": _changing(),
    "maintenance": _changing(),
    "modifying": _changing(serving=True),
    "moving-to-vpc": _changing(),
    "rebooting": _changing(),
    "renaming": _changing(),
    "resetting-master-credentials": _changing(serving=True),
    "starting": _changing(),
    "storage-config-upgrade": _changing(serving=True),
    "upgrading": _changing(),
    "validating-configuration": _changing(),
    # Something is wrong.
    "automation-paused": _impaired("resume automation of RDS Custom in AWS", serving=True),
    "inaccessible-encryption-credentials-recoverable": _impaired(
        "enable the KMS key, or give RDS access to it, then start the instance in AWS"
    ),
    "incompatible-credentials": _impaired("put the instance's credentials in AWS right"),
    "incompatible-network": _impaired("put the VPC, subnets or addresses right; RDS tries again by itself"),
    "incompatible-option-group": _impaired(
        "put the option group right in AWS", serving=True, modifiable=True
    ),
    "incompatible-parameters": _impaired(
        "put the parameter group right, or name another in dbParameterGroupName", modifiable=True
    ),
    "insufficient-capacity": _impaired(
        "AWS has no such instance free in the zone: wait, or choose another dbInstanceClass", modifiable=True
    ),
    "stopped": _impaired("somebody stopped it: start it in AWS. RDS starts it by itself after seven days"),
    "stopping": _impaired("somebody stops it: start it in AWS when it is stopped"),
    "storage-full": _impaired("raise allocatedStorage", modifiable=True),
    "unsupported-configuration": _impaired("put the host of RDS Custom right in AWS", serving=True),
    # It will not come to life again.
    "failed": _broken("RDS could not make or keep it: see the RDS events in AWS. Delete this object"),
    "inaccessible-encryption-credentials": _broken("its KMS key is lost: restore a backup"),
    "incompatible-create": _broken("RDS could not make it as asked: delete this object and correct it"),
    "incompatible-restore": _broken("RDS can't restore it: restore another backup"),
    "restore-error": _broken("RDS can't restore it: restore another backup"),
    # It goes.
    "delete-precheck": StatusRule(Stage.GOING, serving=True),
    "deleted": StatusRule(Stage.GOING),
    "deleting": StatusRule(Stage.GOING),
}
"""RDS' words, by what they mean."""

UNKNOWN: Final = StatusRule(Stage.UNKNOWN, advice="look at the instance in AWS")


def rule_of(status: str) -> StatusRule:
    """What a status means; `UNKNOWN` for one that is not known."""
    return STATUSES.get(status.lower(), UNKNOWN)
