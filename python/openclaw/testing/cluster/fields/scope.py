"""The part of an object that a write can change, and so own: all but the status, or only that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from openclaw.testing.cluster.fields.comparison import Comparison
from openclaw.testing.cluster.fields.sets import FieldSet, only, without

_STATUS: Final = frozenset({"f:status"})
_SPEC: Final = frozenset({"f:spec"})


@dataclass(frozen=True, slots=True)
class Scope:
    """Which top-level fields count."""

    included: frozenset[str] | None = None
    excluded: frozenset[str] = frozenset()

    def fields(self, fields: FieldSet) -> FieldSet:
        """Those fields of a set that count."""
        if self.included is not None:
            return only(fields, self.included)
        return without(fields, self.excluded) if self.excluded else fields

    def of(self, comparison: Comparison) -> Comparison:
        """The differences that count."""
        if self.included is None and not self.excluded:
            return comparison
        return comparison.map(self.fields)


def scope_of(subresource: str, *, has_status: bool, custom: bool) -> Scope:
    """The scope of a write to an object or one of its subresources."""
    if subresource == "status":
        return Scope(included=_STATUS) if custom else Scope(excluded=_SPEC)
    if not subresource and has_status:
        return Scope(excluded=_STATUS)
    return Scope()
