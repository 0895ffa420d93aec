"""What an object's instance is called in RDS: the same in every run, and nobody else's."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from typing import Final

from openclaw.api.rdsinstance import MAX_IDENTIFIER, RDSInstance
from openclaw.providers.descriptors import Owner

__all__ = ["identifier", "owner_of", "snapshot_name"]

_DIGITS: Final = 12
_LONGEST_SNAPSHOT: Final = 255


def owner_of(obj: RDSInstance) -> Owner:
    """Whom the instance is for."""
    return Owner(obj.kind, obj.namespace or "", obj.name, obj.uid)


def identifier(obj: RDSInstance) -> str:
    """The DB instance identifier: that of the spec, else one made of namespace, name and uid.

    RDS wants 1 to 63 letters, digits and hyphens, first a letter, no hyphen at the end nor two in a row.
    """
    given = obj.spec.db_instance_identifier
    if given is not None:
        return given
    stem = _plain(f"{obj.namespace}-{obj.name}", MAX_IDENTIFIER - _DIGITS - 1)
    return f"{stem}-{_digest(obj)}"


def snapshot_name(obj: RDSInstance, instance: str) -> str:
    """The final snapshot of this deletion: another one for each object, the same in each run."""
    began = obj.metadata.deletion_timestamp or ""
    try:
        stamp = datetime.fromisoformat(began).strftime("%Y%m%d%H%M%S")
    except ValueError:
        stamp = "0"
    tail = f"-final-{stamp}-{_digest(obj)}"
    return _plain(instance, _LONGEST_SNAPSHOT - len(tail)) + tail


def _digest(obj: RDSInstance) -> str:
    told = f"{obj.namespace}/{obj.name}/{obj.uid}"
    return hashlib.sha256(told.encode()).hexdigest()[:_DIGITS]


def _plain(text: str, length: int) -> str:
    text = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if not text[:1].isalpha():
        text = f"db-{text}"
    return text[:length].rstrip("-")
