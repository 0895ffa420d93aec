"""From a spec to what is wanted of RDS."""

from __future__ import annotations

from openclaw.api.rdsinstance import RDSInstance
from openclaw.controllers.rds.identity import owner_of
from openclaw.controllers.rds.inputs import MasterPassword
from openclaw.providers.aws.rds_model import RDSWanted

__all__ = ["wanted_of"]

# What has one name in the spec and in the descriptor.
_SAME = (
    *("engine", "engine_version", "allow_major_version_upgrade", "auto_minor_version_upgrade"),
    *("db_instance_class", "allocated_storage", "max_allocated_storage", "storage_type", "iops"),
    *("storage_encrypted", "kms_key_id", "master_username", "db_name", "port", "multi_az"),
    *("publicly_accessible", "db_subnet_group_name", "db_parameter_group_name"),
    *("backup_retention_period", "preferred_backup_window", "preferred_maintenance_window"),
    *("deletion_protection", "apply_immediately"),
)


def wanted_of(
    obj: RDSInstance, identity: str, *, password: MasterPassword | None, flush: bool = False
) -> RDSWanted:
    """What the spec asks for.

    Args:
        obj: the object.
        identity: the DB instance identifier.
        password: the master password where it is to be set; None leaves it as it is.
        flush: what waits for the maintenance window is to be made at once.
    """
    spec = obj.spec
    return RDSWanted(
        identity=identity,
        owner=owner_of(obj),
        password=None if password is None else password.value,
        password_version="" if password is None else password.version,
        vpc_security_group_ids=tuple(spec.vpc_security_group_ids),
        tags=dict(spec.tags),
        flush=flush,
        **{name: getattr(spec, name) for name in _SAME},
    )
