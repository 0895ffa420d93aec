"""From RDS' answers to descriptors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openclaw.providers.aws.rds_fields import observed_values, pending_values
from openclaw.providers.aws.rds_model import RDSObserved

__all__ = ["observed_instance"]


def observed_instance(instance: Mapping[str, Any]) -> RDSObserved:
    """A `DBInstance` of an answer."""
    pending = instance.get("PendingModifiedValues") or {}
    values = observed_values(instance)
    values.setdefault("port", instance.get("DbInstancePort") or None)
    return RDSObserved(
        identity=instance.get("DBInstanceIdentifier") or "",
        status=instance.get("DBInstanceStatus") or "",
        arn=instance.get("DBInstanceArn") or "",
        resource_id=instance.get("DbiResourceId") or "",
        endpoint=(instance.get("Endpoint") or {}).get("Address") or None,
        tags={tag["Key"]: tag.get("Value") or "" for tag in instance.get("TagList") or ()},
        pending=pending_values(instance),
        password_pending=bool(pending.get("MasterUserPassword")),
        **values,
    )
