"""What has to be true of RDSInstances, of their databases and Secrets once all is well."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final

from openclaw.testing.rds import Database
from openclaw.testing.rds.external import SimulatedRDS
from openclaw.testing.simulation.contracts import World

Object = Mapping[str, Any]

INSTANCES: Final = "rdsinstances.database.openclaw.dev"
FINALIZER: Final = "database.openclaw.dev/rds-instance"
ADOPT: Final = "database.openclaw.dev/adopt"
ORPHAN: Final = "database.openclaw.dev/orphan"
IDENTITY: Final = "external.openclaw.dev/identity"
_LIVE: Final = ("Available", "Synced")


def keeps(obj: Object) -> bool:
    """Whether an object lets its instance stay when it goes."""
    spec = obj["spec"]
    orphan = (obj["metadata"].get("annotations") or {}).get(ORPHAN) == "true"
    return orphan or spec.get("deletionPolicy") == "Orphan" or spec.get("managementPolicy") == "Observe"


def condition(obj: Object, kind: str) -> Object:
    """One condition; empty where there is none."""
    for found in (obj.get("status") or {}).get("conditions") or ():
        if found["type"] == kind:
            return dict(found)
    return {}


def reason(obj: Object) -> str:
    """Why it is degraded; empty where it is not."""
    found = condition(obj, "Degraded")
    return str(found.get("reason")) if found.get("status") == "True" else ""


def database_of(rds: SimulatedRDS, obj: Object) -> Database | None:
    """The database of an object, by its marks, else by what its spec or status calls it."""
    marks = obj["metadata"].get("annotations") or {}
    status = obj.get("status") or {}
    name = marks.get(IDENTITY) or obj["spec"].get("dbInstanceIdentifier") or status.get("externalID")
    return rds.region.database(name) if name else None


def secret_value(world: World, namespace: str, name: str, key: str) -> str | None:
    """A value in a Secret; None where there is none."""
    secret = world.cluster.get("secrets", namespace, name) or {}
    value = (secret.get("data") or {}).get(key)
    return None if value is None else base64.b64decode(value).decode()


def _equal(wanted: Any, seen: Any) -> bool:
    return bool(wanted == seen)


def _version(wanted: str, seen: str) -> bool:
    parts = [int(part) for part in wanted.split(".")]
    return [int(part) for part in seen.split(".")][: len(parts)] >= parts


FIELDS: Final[Mapping[str, tuple[str, Callable[[Any, Any], bool]]]] = {
    "engine": ("Engine", _equal),
    "engineVersion": ("EngineVersion", _version),
    "dbInstanceClass": ("DBInstanceClass", _equal),
    "allocatedStorage": ("AllocatedStorage", lambda wanted, seen: seen >= wanted),
    "maxAllocatedStorage": ("MaxAllocatedStorage", _equal),
    "storageType": ("StorageType", _equal),
    "masterUsername": ("MasterUsername", _equal),
    "multiAZ": ("MultiAZ", _equal),
    "publiclyAccessible": ("PubliclyAccessible", _equal),
    "port": ("Port", _equal),
    "vpcSecurityGroupIDs": ("VpcSecurityGroupIds", lambda wanted, seen: set(wanted) == set(seen)),
    "dbParameterGroupName": ("DBParameterGroupName", _equal),
    "backupRetentionPeriod": ("BackupRetentionPeriod", _equal),
    "preferredBackupWindow": ("PreferredBackupWindow", _equal),
    "preferredMaintenanceWindow": ("PreferredMaintenanceWindow", _equal),
    "autoMinorVersionUpgrade": ("AutoMinorVersionUpgrade", _equal),
    "deletionProtection": ("DeletionProtection", _equal),
}
"""A field of a spec, what RDS calls it, and when what is there is as wanted."""


def unwell(world: World, obj: Object, lost: frozenset[str]) -> str | None:
    """What is not yet right with an object; None once all is.

    Args:
        world: where it lives.
        obj: the object.
        lost: the uids of objects whose database somebody has deleted, or broken for good.
    """
    rds: SimulatedRDS = world.external
    metadata, status = obj["metadata"], obj.get("status") or {}
    name = f"{metadata['namespace']}/{metadata['name']}"
    if "deletionTimestamp" in metadata:
        return f"{name} is being deleted: {status.get('phase')}, {reason(obj)}"
    if status.get("observedGeneration") != metadata["generation"]:
        return f"{name}: the status is of generation {status.get('observedGeneration')}"
    database = database_of(rds, obj)
    if metadata["uid"] in lost and (database is None or database.status == "failed"):
        wanted = "Broken" if database is not None else "Lost"
        if (status.get("phase"), reason(obj)) != ("Failed", wanted):
            return f"{name}: {status.get('phase')} {reason(obj)}, which has to be Failed {wanted}"
        return None
    if database is None:
        return f"{name} has no database: {status.get('phase')} {reason(obj)}"
    told = _database_unwell(obj, database) or _status_unwell(obj, database)
    return f"{name}: {told}" if told else _secrets_unwell(world, obj, database)


def _database_unwell(obj: Object, database: Database) -> str | None:
    spec = obj["spec"]
    if database.status != "available":
        return f"the database is {database.status}"
    deferred = database.pending if not spec.get("applyImmediately") else {}
    for field, (named, same) in FIELDS.items():
        if field not in spec or spec[field] == []:
            continue
        seen = deferred.get(named, database.values[named])
        if seen is None or not same(spec[field], seen):
            return f"{field} is {seen}, and has to be {spec[field]}; status {obj['status'].get('drift')}"
    missing = {key: it for key, it in (spec.get("tags") or {}).items() if database.tags.get(key) != it}
    if missing:
        return f"the tags {missing} are not there"
    if database.tags.get("openclaw.dev/owner-uid") != obj["metadata"]["uid"]:
        return f"the owner tag is {database.tags.get('openclaw.dev/owner-uid')}"
    return None


def _status_unwell(obj: Object, database: Database) -> str | None:
    status = obj["status"]
    if status.get("phase") != "Available":
        return f"the phase is {status.get('phase')} ({reason(obj)}), the database {database.status}"
    if (status.get("observed") or {}).get("status") != database.status:
        return f"what was seen last is {status.get('observed')}"
    for kind in _LIVE:
        if condition(obj, kind).get("status") != "True":
            return f"{kind} is {condition(obj, kind)}"
    if reason(obj):
        return f"it is Degraded: {reason(obj)}"
    if (status.get("endpoint"), status.get("port")) != database.endpoint:
        return f"the endpoint is {status.get('endpoint')}:{status.get('port')}"
    if status.get("lastErrorClass"):
        return f"lastErrorClass is {status['lastErrorClass']}"
    return None


def _secrets_unwell(world: World, obj: Object, database: Database) -> str | None:
    metadata, reference = obj["metadata"], obj["spec"]["masterPasswordSecretRef"]
    namespace, name = metadata["namespace"], metadata["name"]
    wanted = secret_value(world, namespace, reference["name"], reference.get("key", "password"))
    if database.password != wanted:
        return f"{name}: the database does not have the password of its Secret"
    host, port = database.endpoint
    expected = {"password": wanted, "endpoint": host, "port": str(port)}
    for key, value in expected.items():
        if secret_value(world, namespace, f"{name}-connection", key) != value:
            return f"{name}: the connection Secret has not the present {key}"
    return None
