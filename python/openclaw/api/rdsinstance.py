"""The RDSInstance kind: a database of AWS RDS."""

from __future__ import annotations

from typing import Annotated, Literal

from openclaw.api.awscredentials import AWSCredentials
from openclaw.api.cel import literal
from openclaw.api.field import Field
from openclaw.api.markers import Rule
from openclaw.api.model import Model
from openclaw.api.options import Age, Column
from openclaw.api.rdsinstance_status import Phase, RDSInstanceStatus
from openclaw.api.resource import CustomResource
from openclaw.api.secretref import SecretKeyRef, SecretRef

__all__ = ["MAX_IDENTIFIER", "Phase", "RDSInstance", "RDSInstanceSpec"]

MAX_IDENTIFIER = 63
"""Characters of a DB instance identifier."""
MAX_STORAGE = 65536
_MAX_TAGS = 40  # AWS has room for 50, some of which are ours
_ELSE = "create another RDSInstance and move the data"

_TIME = "([01][0-9]|2[0-3]):[0-5][0-9]"
_DAY = "(mon|tue|wed|thu|fri|sat|sun)"
_TAG_KEY = r"^[\w .:/=+@-]+$"

_SecurityGroup = Annotated[
    str,
    Field(
        max_length=64,
        pattern=r"^sg-[0-9a-z]+$",
        pattern_message="must be the ID of a VPC security group, such as sg-0123456789abcdef0",
    ),
]
_TagValue = Annotated[
    str,
    Field(
        max_length=256,
        pattern=r"^[\w .:/=+@-]*$",
        pattern_message="must be a tag's value: letters, digits, blanks and _.:/=+-@",
    ),
]


def _fixed(field: str, why: str) -> Rule:
    """A required field that stays as it was."""
    return Rule(rule="self == oldSelf", message=f"{field} is immutable: {why}; {_ELSE}")


def _kept(field: str, why: str) -> Rule:
    """An optional field that is neither changed nor added nor removed; stands on the spec."""
    return Rule(
        rule=f"has(self.{field}) == has(oldSelf.{field}) "
        f"&& (!has(self.{field}) || self.{field} == oldSelf.{field})",
        message=f"{field} is immutable, and can't be added or removed later: {why}; {_ELSE}",
        field_path=f".{field}",
    )


class RDSInstanceSpec(
    Model,
    rules=(
        _kept("dbName", "RDS makes the first database together with the instance"),
        _kept("dbInstanceIdentifier", "it says which instance this object is for"),
        _kept("storageEncrypted", "RDS encrypts storage only when the instance is made"),
        _kept("kmsKeyID", "RDS encrypts storage only when the instance is made"),
        Rule(
            rule="!has(self.credentialsSecretRef) || !has(self.credentials) || "
            "!(has(self.credentials.podIdentity) || has(self.credentials.vault))",
            message="give credentialsSecretRef or credentials.podIdentity or credentials.vault, one of them",
        ),
        Rule(
            rule="!has(self.maxAllocatedStorage) || self.maxAllocatedStorage > self.allocatedStorage",
            message="maxAllocatedStorage must be above allocatedStorage: it is how far storage may grow",
            field_path=".maxAllocatedStorage",
        ),
    ),
):
    """What the database is to be. A field that is left out is RDS' choice, and left alone after."""

    region: str = Field(
        max_length=32,
        pattern="^[a-z]{2,}(-[a-z]+)+-[0-9]+$",
        pattern_message="must be an AWS region such as eu-central-1",
        rules=[_fixed("region", "RDS can't move an instance")],
        description="The AWS region. Immutable.",
        examples=["eu-central-1"],
    )
    credentials_secret_ref: SecretRef | None = Field(
        None,
        description="A Secret with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, where there is one, "
        "AWS_SESSION_TOKEN. Without it see credentials.",
    )
    credentials: AWSCredentials = Field(
        default_factory=AWSCredentials,
        description="Other sources of credentials, and roles to assume. Without any of them it is the "
        "identity of the operator's pod.",
    )
    engine: str = Field(
        max_length=64,
        pattern="^[a-z][a-z0-9-]*$",
        pattern_message="must be an engine of RDS such as postgres, mysql or mariadb",
        rules=[_fixed("engine", "RDS can't change it")],
        description="The database engine. Immutable.",
        examples=["postgres"],
    )
    engine_version: str | None = Field(
        None,
        max_length=64,
        pattern=r"^[0-9][\w.-]*$",
        pattern_message="must be a version of the engine such as 16.4 or 16",
        description="The least version: RDS may be ahead of it. 16 admits any 16.x. A lower one than what "
        "runs is never sent.",
        examples=["16.4"],
    )
    allow_major_version_upgrade: bool | None = Field(
        None, description="Whether a change of engineVersion may be to another major version."
    )
    auto_minor_version_upgrade: bool | None = Field(
        None, description="Whether RDS upgrades minor versions in the maintenance window."
    )
    db_instance_identifier: str | None = Field(
        None,
        max_length=MAX_IDENTIFIER,
        pattern="^[a-z]([a-z0-9]|-[a-z0-9])*$",
        pattern_message="must be a DB instance identifier: a letter first, then lower-case letters, digits "
        "and single '-', none at the end",
        description="The instance's name in RDS; by default one is made of namespace, name and uid. Give it "
        "to adopt an instance that exists, or to observe it. Immutable.",
    )
    db_instance_class: str = Field(
        max_length=64,
        pattern=r"^db\.[a-z0-9-]+(\.[a-z0-9-]+)+$",
        pattern_message="must be an instance class such as db.t4g.medium",
        description="The instance class. A change restarts the database.",
        examples=["db.t4g.medium"],
    )
    allocated_storage: int = Field(
        ge=5,
        le=MAX_STORAGE,
        rules=[
            Rule(
                rule="self >= oldSelf",
                message=f"allocatedStorage can only grow: RDS can't shrink storage; {_ELSE}",
            )
        ],
        description="Storage in GiB. It may only grow, in RDS by 10 % or more at a time. More than this may "
        "be there.",
    )
    max_allocated_storage: int | None = Field(
        None, ge=6, le=MAX_STORAGE, description="How far RDS may grow storage by itself, in GiB."
    )
    storage_type: Literal["standard", "gp2", "gp3", "io1", "io2"] | None = Field(
        None, description="The kind of storage."
    )
    iops: int | None = Field(None, ge=1, le=256000, description="Provisioned operations a second.")
    storage_encrypted: bool | None = Field(None, description="Whether storage is encrypted. Immutable.")
    kms_key_id: str | None = Field(
        None,
        name="kmsKeyID",
        max_length=2048,
        pattern=r"^\S+$",
        description="The KMS key with which storage is encrypted: ARN, ID or alias. Immutable.",
    )
    master_username: str = Field(
        max_length=63,
        pattern="^[A-Za-z][A-Za-z0-9_]*$",
        pattern_message="must be a user name: a letter first, then letters, digits and '_'",
        rules=[_fixed("masterUsername", "RDS can't rename the master user")],
        description="The master user. Immutable.",
        examples=["shop"],
    )
    master_password_secret_ref: SecretKeyRef = Field(
        description="The master password. When it changes there, it is changed in RDS."
    )
    db_name: str | None = Field(
        None,
        max_length=64,
        pattern="^[A-Za-z_][A-Za-z0-9_]*$",
        pattern_message="must be the name of a database: letters, digits and '_', no digit first",
        description="The database that is made with the instance. Immutable.",
        examples=["shop"],
    )
    port: int | None = Field(None, ge=1150, le=65535, description="The port; by default the engine's own.")
    multi_az: bool | None = Field(
        None, name="multiAZ", description="Whether a standby is kept in another zone."
    )
    publicly_accessible: bool | None = Field(
        None, description="Whether the instance has an address outside of its VPC."
    )
    db_subnet_group_name: str | None = Field(
        None, max_length=255, pattern=r"^\S+$", description="The DB subnet group, and so the VPC."
    )
    vpc_security_group_ids: list[_SecurityGroup] = Field(
        default_factory=list,
        name="vpcSecurityGroupIDs",
        max_items=16,
        list_type="set",
        description="All VPC security groups of the instance. Empty leaves them alone.",
    )
    db_parameter_group_name: str | None = Field(
        None,
        max_length=255,
        pattern=r"^\S+$",
        description="The DB parameter group. RDS takes another one up at the next restart.",
    )
    backup_retention_period: int | None = Field(
        None, ge=0, le=35, description="Days that automatic backups are kept; 0 makes none."
    )
    preferred_backup_window: str | None = Field(
        None,
        max_length=11,
        pattern=f"^{_TIME}-{_TIME}$",
        pattern_message="must be a time of day in UTC such as 03:00-04:00",
        description="When backups are made, in UTC.",
        examples=["03:00-04:00"],
    )
    preferred_maintenance_window: str | None = Field(
        None,
        max_length=19,
        pattern=f"^{_DAY}:{_TIME}-{_DAY}:{_TIME}$",
        pattern_message="must be a time of the week in UTC such as sun:04:00-sun:05:00",
        description="When changes are made that may wait, in UTC.",
        examples=["sun:04:00-sun:05:00"],
    )
    apply_immediately: bool = Field(
        False,
        description="Whether changes are made at once. Otherwise those that interrupt the service wait for "
        "the maintenance window.",
    )
    deletion_protection: bool | None = Field(
        None,
        description="Whether RDS refuses to delete the instance. With false the operator lifts the "
        "protection when the object is deleted.",
    )
    deletion_policy: Literal["Snapshot", "Delete", "Orphan"] = Field(
        "Snapshot",
        description="What becomes of the instance when the object is deleted: it is deleted after a final "
        "snapshot, deleted without one, or left as it is.",
    )
    management_policy: Literal["Full", "Observe"] = Field(
        "Full",
        description="Observe only looks: it makes, changes and deletes nothing outside of the cluster.",
    )
    tags: dict[str, _TagValue] = Field(
        default_factory=dict,
        max_properties=_MAX_TAGS,
        rules=[
            Rule(
                rule=f"self.all(key, size(key) <= 128 && key.matches({literal(_TAG_KEY)}) "
                "&& !key.startsWith('aws:') && !key.startsWith('openclaw.dev/'))",
                message="keys must be 1 to 128 letters, digits, blanks and _.:/=+-@, and begin with neither "
                "'aws:' nor 'openclaw.dev/'",
            )
        ],
        description="Tags of the instance. One that is taken out here stays in RDS.",
    )


class RDSInstance(
    CustomResource,
    group="database.openclaw.dev",
    version="v1alpha1",
    plural="rdsinstances",
    short_names=("rds",),
    categories=("all",),
    columns=(
        Column("Phase", ".status.phase"),
        Column("Engine", ".spec.engine"),
        Column("Version", ".status.observed.engineVersion"),
        Column("Class", ".status.observed.dbInstanceClass"),
        Column("Storage", ".status.observed.allocatedStorage", "integer", description="In GiB."),
        Column("Endpoint", ".status.endpoint"),
        Column("Available", '.status.conditions[?(@.type=="Available")].status'),
        Column("Synced", '.status.conditions[?(@.type=="Synced")].status'),
        Column("RDS-Status", ".status.observed.status", priority=1),
        Column("External-ID", ".status.externalID", priority=1),
        Column("Region", ".spec.region", priority=1),
        Column("Message", '.status.conditions[?(@.type=="Degraded")].message', priority=1),
        Age,
    ),
    rules=(
        Rule(
            rule="self.spec.managementPolicy != 'Observe' || has(self.spec.dbInstanceIdentifier) || "
            "(has(self.status) && has(self.status.externalID))",
            message="managementPolicy Observe needs dbInstanceIdentifier: which instance is to be observed",
        ),
    ),
):
    """A database outside of the cluster: an instance of AWS RDS."""

    spec: RDSInstanceSpec
    status: RDSInstanceStatus = RDSInstanceStatus()
