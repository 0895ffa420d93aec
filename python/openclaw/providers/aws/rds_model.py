"""What is wanted of an RDS instance, what is observed, and how one is to go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import SecretStr

from openclaw.providers.descriptors import Owner

__all__ = ["OWNER_TAG", "RDSObserved", "RDSRemoval", "RDSWanted", "owner_tags"]

OWNER_TAG = "openclaw.dev/owner-uid"
"""The tag that says whose an instance is: the uid of its object."""
_OWNER_NAME_TAG = "openclaw.dev/owner"
_OWNER_KIND_TAG = "openclaw.dev/owner-kind"


def owner_tags(owner: Owner) -> dict[str, str]:
    """The tags of an owner: the uid decides, the rest is for people."""
    return {
        OWNER_TAG: owner.uid,
        _OWNER_KIND_TAG: owner.kind,
        _OWNER_NAME_TAG: f"{owner.namespace}/{owner.name}"[:256],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RDSWanted:
    """An instance as it shall be. What is None or empty is RDS' choice, and is not compared.

    Attributes:
        identity: the DB instance identifier.
        owner: the object that it is for.
        password: the master password, where it is to be set; None leaves it as it is.
        password_version: tells this password from others, without telling it.
        allocated_storage: GiB, at least.
        engine_version: at least; `16` admits any 16.x.
        tags: at least these.
        apply_immediately: make changes at once, not in the maintenance window.
        flush: what waits for the maintenance window is to be made at once, too.
    """

    identity: str
    owner: Owner
    engine: str
    db_instance_class: str
    allocated_storage: int
    master_username: str
    password: SecretStr | None = None
    password_version: str = ""
    db_name: str | None = None
    engine_version: str | None = None
    allow_major_version_upgrade: bool | None = None
    auto_minor_version_upgrade: bool | None = None
    max_allocated_storage: int | None = None
    storage_type: str | None = None
    iops: int | None = None
    storage_encrypted: bool | None = None
    kms_key_id: str | None = None
    port: int | None = None
    multi_az: bool | None = None
    publicly_accessible: bool | None = None
    db_subnet_group_name: str | None = None
    vpc_security_group_ids: tuple[str, ...] = ()
    db_parameter_group_name: str | None = None
    backup_retention_period: int | None = None
    preferred_backup_window: str | None = None
    preferred_maintenance_window: str | None = None
    deletion_protection: bool | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    apply_immediately: bool = False
    flush: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RDSObserved:
    """An instance as RDS tells it; None where RDS does not tell.

    Attributes:
        identity: the DB instance identifier.
        status: RDS' own word, such as `storage-optimization`.
        arn: its ARN, by which it is tagged.
        resource_id: RDS' own unchangeable name of it.
        endpoint: the host name, once there is one.
        pending: values that RDS has taken and not applied, under the names of the attributes here.
        password_pending: a new master password is among them.
    """

    identity: str
    status: str = ""
    arn: str = ""
    resource_id: str = ""
    endpoint: str | None = None
    port: int | None = None
    engine: str | None = None
    engine_version: str | None = None
    db_instance_class: str | None = None
    allocated_storage: int | None = None
    max_allocated_storage: int | None = None
    storage_type: str | None = None
    iops: int | None = None
    storage_encrypted: bool | None = None
    kms_key_id: str | None = None
    master_username: str | None = None
    db_name: str | None = None
    multi_az: bool | None = None
    publicly_accessible: bool | None = None
    auto_minor_version_upgrade: bool | None = None
    db_subnet_group_name: str | None = None
    vpc_security_group_ids: tuple[str, ...] = ()
    db_parameter_group_name: str | None = None
    backup_retention_period: int | None = None
    preferred_backup_window: str | None = None
    preferred_maintenance_window: str | None = None
    deletion_protection: bool | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    pending: Mapping[str, object] = field(default_factory=dict)
    password_pending: bool = False

    @property
    def owner_uid(self) -> str | None:
        """The uid in its owner tag."""
        return self.tags.get(OWNER_TAG)


@dataclass(frozen=True, slots=True, kw_only=True)
class RDSRemoval:
    """How an instance is to go.

    Attributes:
        final_snapshot: the name of a snapshot to make before; None makes none.
        lift_protection: whether protection from deletion may be taken off for it.
    """

    final_snapshot: str | None = None
    lift_protection: bool = False
