"""What the operator tells of an RDSInstance, and what it remembers from one run to the next."""

from __future__ import annotations

from enum import StrEnum

from openclaw.api.conditions import Conditions
from openclaw.api.field import Field
from openclaw.api.model import Model

__all__ = [
    "Change",
    "Failure",
    "ObservedInstance",
    "Operation",
    "Phase",
    "RDSInstanceStatus",
    "SentPassword",
    "SentUpdate",
]


class Phase(StrEnum):
    """Where an instance is in its life."""

    PENDING = "Pending"
    CREATING = "Creating"
    AVAILABLE = "Available"
    MODIFYING = "Modifying"
    DEGRADED = "Degraded"
    DELETING = "Deleting"
    FAILED = "Failed"


class Change(Model):
    """One field in which what is there is not what is asked for."""

    field: str = Field("", description="The field's path under spec.")
    observed: str = Field("", description="What is there.")
    wanted: str = Field("", description="What is asked for, or on its way.")
    refused: str | None = Field(None, description="Why nothing is sent for it.")


class ObservedInstance(Model):
    """The instance as RDS told it last."""

    status: str | None = Field(None, description="RDS' own word, such as storage-optimization.")
    db_instance_class: str | None = Field(None, description="The instance class.")
    allocated_storage: int | None = Field(None, description="Storage in GiB.")
    storage_type: str | None = Field(None, description="The kind of storage.")
    engine_version: str | None = Field(None, description="The version of the engine.")
    multi_az: bool | None = Field(
        None, name="multiAZ", description="Whether there is a standby in another zone."
    )


class Operation(Model):
    """What the operator waits for."""

    phase: Phase | None = Field(None, description="Creating, Modifying, Deleting or Pending.")
    started_at: str | None = Field(None, format="date-time", description="When it began.")


class SentUpdate(Model):
    """The last update that was sent."""

    digest: str | None = Field(None, description="Of the differences that it was for.")
    sent_at: str | None = Field(None, format="date-time", description="When it was sent.")
    generation: int | None = Field(None, format="int64", description="The generation for which it was sent.")
    immediate: bool | None = Field(None, description="Whether it asked to be applied at once.")
    refused: str | None = Field(None, description="Why RDS has refused it.")


class SentPassword(Model):
    """Which master password RDS has, without telling it."""

    digest: str | None = Field(None, description="scrypt of the password, salted with the object's uid.")
    secret: str | None = Field(None, description="The Secret that it was read from: uid and resourceVersion.")


class Failure(Model):
    """What the object was when it failed: only another state is tried again."""

    generation: int | None = Field(None, format="int64", description="The generation that failed.")
    inputs: str | None = Field(None, description="A digest of the referenced Secrets' versions.")


class RDSInstanceStatus(Model):
    """What was observed; written by the operator."""

    conditions: Conditions = Field(
        default_factory=Conditions,
        description="Available: the database accepts connections. Synced: it is as the spec asks. "
        "Progressing: an operation is under way. Degraded: something is wrong, and the message says what.",
    )
    observed_generation: int | None = Field(
        None, ge=0, format="int64", description="The metadata.generation that this status speaks of."
    )
    phase: Phase | None = Field(None, description="Where the instance is in its life.")
    phase_since: str | None = Field(None, format="date-time", description="When the phase last changed.")
    external_id: str | None = Field(None, name="externalID", description="The DB instance identifier in RDS.")
    arn: str | None = Field(None, description="The instance's ARN; it is there once RDS has told it.")
    resource_id: str | None = Field(
        None,
        name="resourceID",
        description="RDS' own, unchangeable name of the instance. It is there once RDS has told it.",
    )
    endpoint: str | None = Field(None, description="The host name at which the database is reached.")
    port: int | None = Field(None, format="int32", description="The port at which it is reached.")
    observed: ObservedInstance = Field(
        default_factory=ObservedInstance, description="The instance as RDS told it last."
    )
    pending_changes: list[Change] = Field(
        default_factory=list,
        list_type="atomic",
        description="Changes that RDS has taken and not made yet.",
    )
    drift: list[Change] = Field(
        default_factory=list,
        list_type="atomic",
        description="Where what is there is not what the spec asks for, and is not on its way.",
    )
    last_error_class: str | None = Field(
        None,
        description="The class of the last call's failure, such as Unauthorised or Throttled; absent when "
        "it succeeded.",
    )
    connection_secret: str | None = Field(
        None, description="The Secret with username, password, endpoint, port, dbName and uri."
    )
    final_snapshot_id: str | None = Field(
        None, name="finalSnapshotID", description="The snapshot that the deletion makes."
    )
    reconcile_requested: str | None = Field(
        None, description="The value of the annotation openclaw.dev/reconcile-now that was followed last."
    )
    adopting: str | None = Field(
        None, description="The instance of somebody else that is about to be taken over, as shown here."
    )
    operation: Operation = Field(default_factory=Operation, description="What the operator waits for.")
    last_update: SentUpdate = Field(default_factory=SentUpdate, description="The last update that was sent.")
    password: SentPassword = Field(
        default_factory=SentPassword, description="Which master password RDS has, without telling it."
    )
    failure: Failure = Field(
        default_factory=Failure,
        description="What the object was when it failed: only another state is tried again.",
    )
