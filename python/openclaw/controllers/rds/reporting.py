"""What was seen of an instance, into the status."""

from __future__ import annotations

from openclaw.api.rdsinstance import RDSInstance
from openclaw.api.rdsinstance_status import Change, ObservedInstance
from openclaw.providers.aws.rds_fields import FIELDS
from openclaw.providers.aws.rds_model import RDSObserved
from openclaw.providers.descriptors import Drift

__all__ = ["pending_changes", "report_drift", "report_observed"]


def report_observed(obj: RDSInstance, observed: RDSObserved) -> None:
    """Fill in what RDS tells; where it does not tell an endpoint, there is none."""
    status = obj.status
    status.external_id = observed.identity
    status.arn = observed.arn or status.arn
    status.resource_id = observed.resource_id or status.resource_id
    status.endpoint = observed.endpoint
    status.port = observed.port if observed.endpoint is not None else None
    status.observed = ObservedInstance(
        status=observed.status or None,
        db_instance_class=observed.db_instance_class,
        allocated_storage=observed.allocated_storage,
        storage_type=observed.storage_type,
        engine_version=observed.engine_version,
        multi_az=observed.multi_az,
    )
    status.pending_changes = pending_changes(observed)


def pending_changes(observed: RDSObserved) -> list[Change]:
    """What RDS has taken and not made yet."""
    changes = [
        Change(
            field=it.spec,
            observed=_text(getattr(observed, it.attribute)),
            wanted=_text(observed.pending[it.attribute]),
        )
        for it in FIELDS
        if it.attribute in observed.pending
    ]
    if observed.password_pending:
        changes.append(Change(field="masterPasswordSecretRef", observed="(set before)", wanted="(changed)"))
    return changes


def report_drift(obj: RDSInstance, drift: Drift) -> None:
    """Tell the differences."""
    obj.status.drift = [
        Change(field=it.field, observed=it.observed, wanted=it.wanted, refused=it.refused or None)
        for it in drift
    ]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
