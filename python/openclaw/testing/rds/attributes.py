"""What an instance can be told, by RDS' own names: type, default, and when a change takes hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from openclaw.testing.rds.wire import parse


@dataclass(frozen=True, slots=True)
class Attribute:
    """One parameter of CreateDBInstance and ModifyDBInstance.

    Attributes:
        kind: int, bool, str or list (of texts).
        default: what an instance has that was not told.
        modifiable: whether ModifyDBInstance knows it.
        waits: whether a change without ApplyImmediately waits for the maintenance window.
        works: whether a change takes RDS some work, seen in the instance's status.
        shown_as: its name in what is described, where that is another one.
    """

    kind: type
    default: Any = None
    modifiable: bool = True
    waits: bool = True
    works: bool = True
    shown_as: str | None = None


_AT_ONCE: Final[dict[str, Any]] = {"waits": False, "works": False}
_FIXED: Final[dict[str, Any]] = {"modifiable": False}

# Which changes wait is from the description of ModifyDBInstance in the RDS API reference.
ATTRIBUTES: Final[Mapping[str, Attribute]] = {
    "AllocatedStorage": Attribute(int),
    "AutoMinorVersionUpgrade": Attribute(bool, default=True, **_AT_ONCE),
    "AvailabilityZone": Attribute(str, **_FIXED),
    "BackupRetentionPeriod": Attribute(int, default=1),
    "CopyTagsToSnapshot": Attribute(bool, default=False, **_AT_ONCE),
    "DBInstanceClass": Attribute(str),
    "DBName": Attribute(str, **_FIXED),
    # The group is changed at once; its parameters wait for a restart.
    "DBParameterGroupName": Attribute(str, **_AT_ONCE),
    "DBSubnetGroupName": Attribute(str),
    "DeletionProtection": Attribute(bool, default=False, **_AT_ONCE),
    "EnableIAMDatabaseAuthentication": Attribute(
        bool, default=False, shown_as="IAMDatabaseAuthenticationEnabled"
    ),
    "Engine": Attribute(str, **_FIXED),
    "EngineVersion": Attribute(str),
    "Iops": Attribute(int),
    "KmsKeyId": Attribute(str, **_FIXED),
    "MasterUserPassword": Attribute(str, waits=False),
    "MasterUsername": Attribute(str, **_FIXED),
    "MaxAllocatedStorage": Attribute(int, **_AT_ONCE),
    "MultiAZ": Attribute(bool, default=False),
    "Port": Attribute(int),
    "PreferredBackupWindow": Attribute(str, default="03:00-03:30", **_AT_ONCE),
    "PreferredMaintenanceWindow": Attribute(str, default="sun:04:00-sun:04:30", **_AT_ONCE),
    "PubliclyAccessible": Attribute(bool, default=False, waits=False),
    "StorageEncrypted": Attribute(bool, default=False, **_FIXED),
    "StorageThroughput": Attribute(int),
    "StorageType": Attribute(str, default="gp3"),
    "VpcSecurityGroupIds": Attribute(list, default=("sg-0123456789abcdef0",), waits=False, works=False),
}
SECRET: Final = "MasterUserPassword"  # noqa: S105  (a parameter's name)


def read(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes among a call's parameters, each with its own type.

    Raises AWSError when a value is not of the attribute's type.
    """
    return {
        name: parse(parameters[name], attribute.kind, name)
        for name, attribute in ATTRIBUTES.items()
        if name in parameters
    }


_SHOWN_OTHERWISE: Final = frozenset(
    {SECRET, "Port", "DBSubnetGroupName", "DBParameterGroupName", "VpcSecurityGroupIds"}
)


def shown(values: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes as they are described: no password, and in the form that descriptions have."""
    subnets = values.get("DBSubnetGroupName")
    return {
        **{
            attribute.shown_as or name: values.get(name)
            for name, attribute in ATTRIBUTES.items()
            if name not in _SHOWN_OTHERWISE
        },
        "DbInstancePort": values["Port"],
        "DBSubnetGroup": {"DBSubnetGroupName": subnets} if subnets else None,
        "DBParameterGroups": [
            {"DBParameterGroupName": values["DBParameterGroupName"], "ParameterApplyStatus": "in-sync"}
        ],
        "VpcSecurityGroups": [
            {"VpcSecurityGroupId": group, "Status": "active"} for group in values["VpcSecurityGroupIds"]
        ],
    }
