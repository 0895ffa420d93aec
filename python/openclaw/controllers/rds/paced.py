"""A provider that sends no change which the instance's status does not admit, and knows what was tried."""

from __future__ import annotations

import dataclasses
from typing import Final, Literal, Protocol

from openclaw.controllers.rds.statuses import Stage, rule_of
from openclaw.providers.aws.rds_fields import OWNER, TAGS
from openclaw.providers.aws.rds_model import RDSObserved, RDSRemoval, RDSWanted
from openclaw.providers.descriptors import Difference, Drift
from openclaw.providers.errors import ExternalNotFound
from openclaw.providers.protocol import Admission, Provider

__all__ = ["RDS", "Doing", "PacedProvider"]

Doing = Literal["look", "create", "update", "delete"]


_OPTIMIZING: Final = "storage-optimization"
_OPTIMIZED: Final = "RDS takes no change of storage while it optimizes it"
_STORAGE: Final = frozenset({"allocatedStorage", "storageType", "iops"})


class RDS(Provider[RDSWanted, RDSObserved, RDSRemoval], Protocol):
    """A provider of RDS instances."""


class PacedProvider:
    """One object's provider in one run.

    Args:
        inner: makes the calls.
        unborn: nothing can be there before a create was sent, so it is not looked for until then.

    Attributes:
        doing: the last call that was begun.
        created: a create was answered, so that the instance has the password that was sent.
        observed: the instance as it was seen last.
        drift: the last comparison, before anything was held back.
    """

    def __init__(self, inner: RDS, *, unborn: bool = False) -> None:
        self._inner = inner
        self._unborn = unborn
        self.doing: Doing = "look"
        self.created = False
        self.observed: RDSObserved | None = None
        self.drift = Drift()

    def admit(self) -> None:
        """As in `Admission`."""
        if isinstance(self._inner, Admission):
            self._inner.admit()

    async def get(self, identity: str) -> RDSObserved:
        """As in the protocol."""
        self.doing = "look"
        if self._unborn:
            raise ExternalNotFound(f"{identity} was not asked for yet")
        self.observed = await self._inner.get(identity)
        return self.observed

    async def create(self, wanted: RDSWanted) -> RDSObserved:
        """As in the protocol."""
        self.doing = "create"
        self._unborn = False
        self.observed = await self._inner.create(wanted)
        self.created = True
        return self.observed

    def compare(self, wanted: RDSWanted, observed: RDSObserved) -> Drift:
        """As in the protocol; what the status does not admit now is refused, and sent later."""
        self.drift = self._inner.compare(wanted, observed)
        rule = rule_of(observed.status)
        if rule.modifiable and observed.status == _OPTIMIZING:
            return Drift(tuple(_held(it, _OPTIMIZED, only=_STORAGE) for it in self.drift))
        if rule.modifiable:
            return self.drift
        why = f"RDS takes no change while the instance is {observed.status or 'without a status'}"
        tags = frozenset({TAGS, OWNER}) if rule.stage not in (Stage.GOING, Stage.UNKNOWN) else frozenset()
        return Drift(tuple(_held(it, why, but=tags) for it in self.drift))

    async def update(self, wanted: RDSWanted, observed: RDSObserved, drift: Drift) -> RDSObserved:
        """As in the protocol."""
        self.doing = "update"
        self.observed = await self._inner.update(wanted, observed, drift)
        return self.observed

    async def delete(self, identity: str, removal: RDSRemoval) -> None:
        """As in the protocol."""
        self.doing = "delete"
        await self._inner.delete(identity, removal)

    async def health(self) -> None:
        """As in the protocol."""
        await self._inner.health()

    async def close(self) -> None:
        """The inner one is not this run's to close."""


def _held(
    difference: Difference,
    why: str,
    *,
    only: frozenset[str] | None = None,
    but: frozenset[str] = frozenset(),
) -> Difference:
    """A difference that is not sent now, if it is one of `only` and none of `but`."""
    field = difference.field
    if difference.refused or field in but or (only is not None and field not in only):
        return difference
    return dataclasses.replace(difference, refused=why)
