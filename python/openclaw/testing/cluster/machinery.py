"""The shipped machinery: schemas, patches, apply, conversion and admission."""

from __future__ import annotations

from openclaw.testing.cluster.contracts import Machinery, Reader
from openclaw.testing.cluster.conversion import VersionConversion
from openclaw.testing.cluster.fields.management import FieldManager
from openclaw.testing.cluster.patch.patches import PatchEngine
from openclaw.testing.cluster.schema.schemas import SchemaFactory
from openclaw.testing.cluster.webhooks.admission import WebhookAdmission
from openclaw.testing.cluster.webhooks.calling import Caller, HttpCaller


def build_machinery(reader: Reader, caller: Caller | None = None) -> Machinery:
    """The machinery of a cluster.

    Args:
        reader: what is stored, for the namespaces and configurations that admission looks at.
        caller: what webhooks are called with; default: HTTP(S).
    """
    calls = caller or HttpCaller()
    conversion = VersionConversion(calls)
    return Machinery(
        schemas=SchemaFactory(),
        patches=PatchEngine(),
        fields=FieldManager(),
        conversion=conversion,
        admission=WebhookAdmission(reader, conversion, calls),
    )
