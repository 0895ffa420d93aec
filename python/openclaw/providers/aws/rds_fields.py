"""The one table of an instance's fields: how each is made, changed, observed and compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from openclaw.providers.aws.rds_model import RDSObserved, RDSWanted, owner_tags
from openclaw.providers.descriptors import Difference, Drift

__all__ = [
    "FIELDS",
    "OWNER",
    "PASSWORD",
    "TAGS",
    "RDSField",
    "at_least",
    "compare",
    "create_parameters",
    "modify_parameters",
    "observed_values",
    "overlaid",
    "pending_values",
    "tag_list",
    "version_at_least",
]

PASSWORD: Final = "masterPasswordSecretRef"  # noqa: S105 - a field's name
"""The field under which a password that is to be set is told."""
TAGS: Final = "tags"
OWNER: Final = "owner"
"""The field under which an owner tag that is to be set is told; it is no field of a spec."""

_NUMBER: Final = re.compile(r"\d+|[a-z]+")


def _equal(wanted: Any, observed: Any) -> bool:
    return bool(wanted == observed)


def _same_text(wanted: str, observed: str) -> bool:
    return wanted.casefold() == observed.casefold()


def _same_set(wanted: Iterable[str], observed: Iterable[str]) -> bool:
    return set(wanted) == set(observed)


def _same_key(wanted: str, observed: str) -> bool:
    """RDS tells a key's ARN, whatever it was named by; an alias can't be told from another."""
    return "alias/" in wanted or observed.endswith(wanted.rpartition("/")[2])


def at_least(wanted: int, observed: int) -> bool:
    """Storage grows by 10 % or more, by itself too, and never shrinks: more than is wanted is as wanted."""
    return observed >= wanted


def version_at_least(wanted: str, observed: str) -> bool:
    """`16` admits 16.4, 16.4 admits 16.6 and 17.1: RDS goes ahead, and no version goes back."""
    return _parts(observed)[: len(_parts(wanted))] >= _parts(wanted)


def _parts(version: str) -> tuple[tuple[int, str], ...]:
    return tuple(
        (int(part), "") if part.isdigit() else (-1, part) for part in _NUMBER.findall(version.lower())
    )


@dataclass(frozen=True, slots=True)
class RDSField:
    """One field.

    Attributes:
        spec: its name in the spec.
        attribute: its name in the descriptors.
        parameter: of CreateDBInstance and, unless `modify` says otherwise, of ModifyDBInstance.
        observed: where it stands in a DBInstance, by a path of names.
        same: whether what is observed is as wanted.
        modify: the parameter of ModifyDBInstance where it has another name.
        fixed: why RDS can't change it; "" where it can.
        pending: its name in PendingModifiedValues where that is not `modify` or `parameter`.
    """

    spec: str
    attribute: str
    parameter: str
    observed: tuple[str, ...] = ()
    same: Callable[[Any, Any], bool] = _equal
    modify: str = ""
    fixed: str = ""
    pending: str = ""


_MADE_WITH: Final = "RDS sets it only when the instance is made"

FIELDS: Final = (
    RDSField("engine", "engine", "Engine", fixed="RDS can't change the engine"),
    RDSField("masterUsername", "master_username", "MasterUsername", fixed=_MADE_WITH),
    RDSField("dbName", "db_name", "DBName", fixed=_MADE_WITH),
    RDSField("storageEncrypted", "storage_encrypted", "StorageEncrypted", fixed=_MADE_WITH),
    RDSField("kmsKeyID", "kms_key_id", "KmsKeyId", same=_same_key, fixed=_MADE_WITH),
    RDSField("dbInstanceClass", "db_instance_class", "DBInstanceClass"),
    RDSField("allocatedStorage", "allocated_storage", "AllocatedStorage", same=at_least),
    RDSField("maxAllocatedStorage", "max_allocated_storage", "MaxAllocatedStorage"),
    RDSField("storageType", "storage_type", "StorageType"),
    RDSField("iops", "iops", "Iops"),
    RDSField("engineVersion", "engine_version", "EngineVersion", same=version_at_least),
    RDSField("multiAZ", "multi_az", "MultiAZ"),
    RDSField("publiclyAccessible", "publicly_accessible", "PubliclyAccessible"),
    RDSField("port", "port", "Port", ("Endpoint", "Port"), modify="DBPortNumber", pending="Port"),
    RDSField(
        "dbSubnetGroupName",
        "db_subnet_group_name",
        "DBSubnetGroupName",
        ("DBSubnetGroup", "DBSubnetGroupName"),
        same=_same_text,
    ),
    RDSField(
        "vpcSecurityGroupIDs",
        "vpc_security_group_ids",
        "VpcSecurityGroupIds",
        ("VpcSecurityGroups", "VpcSecurityGroupId"),
        same=_same_set,
    ),
    RDSField(
        "dbParameterGroupName",
        "db_parameter_group_name",
        "DBParameterGroupName",
        ("DBParameterGroups", "DBParameterGroupName"),
        same=_same_text,
    ),
    RDSField("backupRetentionPeriod", "backup_retention_period", "BackupRetentionPeriod"),
    RDSField("preferredBackupWindow", "preferred_backup_window", "PreferredBackupWindow"),
    RDSField("preferredMaintenanceWindow", "preferred_maintenance_window", "PreferredMaintenanceWindow"),
    RDSField("autoMinorVersionUpgrade", "auto_minor_version_upgrade", "AutoMinorVersionUpgrade"),
    RDSField("deletionProtection", "deletion_protection", "DeletionProtection"),
)
"""Every field that is compared, in the order in which differences are told."""

_LISTS: Final = frozenset({"vpc_security_group_ids"})


def observed_values(instance: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the fields in a DBInstance of RDS, by attribute; what RDS does not tell is absent."""
    values: dict[str, Any] = {}
    for it in FIELDS:
        found = _at(instance, it.observed or (it.parameter,))
        if it.attribute in _LISTS:
            values[it.attribute] = tuple(found)
        elif found:
            values[it.attribute] = found[0]
    return values


def _at(value: Any, path: tuple[str, ...]) -> list[Any]:
    """What is found at the path; of a list of things, in each of them."""
    if isinstance(value, list):
        return [found for item in value for found in _at(item, path)]
    if not path:
        return [] if value is None else [value]
    return _at(value.get(path[0]), path[1:]) if isinstance(value, Mapping) else []


def pending_values(instance: Mapping[str, Any]) -> dict[str, Any]:
    """The values that RDS has taken and not applied, by attribute."""
    pending = instance.get("PendingModifiedValues") or {}
    named = ((it.attribute, it.pending or it.modify or it.parameter) for it in FIELDS)
    return {attribute: pending[name] for attribute, name in named if pending.get(name) is not None}


def overlaid(observed: RDSObserved, attribute: str) -> Any:
    """The value that a field has, or will have once RDS has done what it has taken."""
    return observed.pending.get(attribute, getattr(observed, attribute))


def compare(wanted: RDSWanted, observed: RDSObserved) -> Drift:
    """Where an instance is not as wanted. Only what is set counts; what is on its way is there already."""
    differences: list[Difference] = []
    for it in FIELDS:
        value = getattr(wanted, it.attribute)
        if value is None or value == ():
            continue
        seen = overlaid(observed, it.attribute)
        if wanted.flush and seen is not None and it.same(value, seen):
            seen = getattr(observed, it.attribute)  # it is on its way, and shall be there now
        if seen is not None and it.same(value, seen):
            continue
        if it.fixed and seen is None:
            continue  # not told, and not to be changed
        differences.append(Difference(it.spec, _shown(value), _shown(seen), it.fixed))
    if wanted.password is not None:
        differences.append(Difference(PASSWORD, f"(of {wanted.password_version})", "(another)"))
    missing = {key: value for key, value in wanted.tags.items() if observed.tags.get(key) != value}
    if missing:
        there = {key: observed.tags[key] for key in missing if key in observed.tags}
        differences.append(Difference(TAGS, _shown(missing), _shown(there)))
    if observed.owner_uid != wanted.owner.uid:
        differences.append(Difference(OWNER, wanted.owner.uid, observed.owner_uid or "(none)"))
    return Drift(tuple(differences))


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={value[key]}" for key in sorted(value)) or "(none)"
    if isinstance(value, tuple | list):
        return ", ".join(sorted(map(str, value))) or "(none)"
    return "(none)" if value is None else str(value)


def create_parameters(wanted: RDSWanted) -> dict[str, Any]:
    """The parameters of CreateDBInstance, the password among them."""
    parameters: dict[str, Any] = {"DBInstanceIdentifier": wanted.identity}
    for it in FIELDS:
        value = getattr(wanted, it.attribute)
        if value is not None and value != ():
            parameters[it.parameter] = list(value) if isinstance(value, tuple) else value
    if wanted.password is not None:
        parameters["MasterUserPassword"] = wanted.password.get_secret_value()
    parameters["Tags"] = tag_list({**wanted.tags, **owner_tags(wanted.owner)})
    return parameters


def modify_parameters(wanted: RDSWanted, observed: RDSObserved, drift: Drift) -> dict[str, Any]:
    """The parameters of ModifyDBInstance for what differs; empty where that is tags at most."""
    fields = {it.field for it in drift.updatable}
    changes: dict[str, Any] = {}
    for it in FIELDS:
        if it.spec in fields and not it.fixed:
            value = getattr(wanted, it.attribute)
            changes[it.modify or it.parameter] = list(value) if isinstance(value, tuple) else value
    if PASSWORD in fields and wanted.password is not None:
        changes["MasterUserPassword"] = wanted.password.get_secret_value()
    if not changes:
        return {}
    if "StorageType" in changes or "Iops" in changes:
        # RDS takes them only together with the size, which must not be less than what is there.
        there = overlaid(observed, "allocated_storage") or 0
        changes.setdefault("AllocatedStorage", max(wanted.allocated_storage, there))
        if wanted.iops is not None:
            changes.setdefault("Iops", wanted.iops)
    if "EngineVersion" in changes and wanted.allow_major_version_upgrade is not None:
        changes["AllowMajorVersionUpgrade"] = wanted.allow_major_version_upgrade
    return {
        "DBInstanceIdentifier": wanted.identity,
        "ApplyImmediately": wanted.apply_immediately,
        **changes,
    }


def tag_list(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Tags as RDS writes them."""
    return [{"Key": key, "Value": tags[key]} for key in sorted(tags)]
