"""`metadata` of a declared resource."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class _Meta(BaseModel):
    # Not a Model: its schema is the API server's own, and what it does not name must survive a round trip.
    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        extra="allow",
    )

    def to_dict(self) -> dict[str, Any]:
        """The JSON of the API, without what is empty."""
        return self.model_dump(mode="json", exclude_defaults=True)


class OwnerReference(_Meta):
    """The owner of an object; it goes when its last owner goes."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(_Meta):
    """What every object has. Absent parts are empty; times are RFC 3339 text as the server wrote them."""

    name: str = ""
    namespace: str | None = None
    generate_name: str | None = None
    uid: str = ""
    resource_version: str | None = None
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    finalizers: list[str] = Field(default_factory=list)
    owner_references: list[OwnerReference] = Field(default_factory=list)

    @property
    def is_being_deleted(self) -> bool:
        """Whether a deletion was asked for and finalizers hold it back."""
        return self.deletion_timestamp is not None
