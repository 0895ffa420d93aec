"""References to Secrets. They have no namespace: it is always the object's own."""

from __future__ import annotations

from typing import Annotated

from openclaw.api.field import Field
from openclaw.api.model import Model

__all__ = ["SecretKeyRef", "SecretRef"]

_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"

_Name = Annotated[
    str,
    Field(
        max_length=253,
        pattern=f"^{_SUBDOMAIN}$",
        pattern_message="must be the name of a Secret: lower-case letters, digits, '-' and '.'",
    ),
]


class SecretRef(Model):
    """A Secret in the object's own namespace."""

    name: _Name = Field(description="The name of the Secret.")


class SecretKeyRef(Model):
    """One value of a Secret in the object's own namespace."""

    name: _Name = Field(description="The name of the Secret.")
    key: str = Field(
        "password",
        max_length=253,
        pattern="^[-._a-zA-Z0-9]+$",
        pattern_message="must be a key of a Secret: letters, digits, '-', '_' and '.'",
        description="The key in the Secret's data.",
    )
