"""The invariants that hold for every operator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from openclaw.runtime.reconciler import Reconciler
from openclaw.testing.simulation.contracts import Invariant
from openclaw.testing.simulation.invariants.acting import OneShardActs
from openclaw.testing.simulation.invariants.bounds import NothingGrows
from openclaw.testing.simulation.invariants.children import ChildrenHaveOneOwner
from openclaw.testing.simulation.invariants.declared import Declared
from openclaw.testing.simulation.invariants.deletion import DeletionEnds
from openclaw.testing.simulation.invariants.events import EventsAreFew
from openclaw.testing.simulation.invariants.finalizers import FinalizerFirst
from openclaw.testing.simulation.invariants.lists import ListsAreFew
from openclaw.testing.simulation.invariants.others import OthersAreLeftAlone
from openclaw.testing.simulation.invariants.secrecy import NothingSecret
from openclaw.testing.simulation.invariants.slots import EverySlotHasAnOwner
from openclaw.testing.simulation.invariants.statuses import StatusNamesItsGeneration
from openclaw.testing.simulation.invariants.validity import WritesAreValid
from openclaw.testing.simulation.invariants.writes import NoNeedlessWrites

__all__ = ["standard_invariants"]


def standard_invariants(
    reconcilers: Iterable[Reconciler[Any]], *, field_manager: str = "openclaw"
) -> list[Invariant]:
    """New ones for one run.

    Args:
        reconcilers: those of one shard; they are asked for their declarations only.
        field_manager: the name under which the operator owns fields.
    """
    declared = Declared(reconcilers, field_manager)
    return [
        OneShardActs(declared),
        NoNeedlessWrites(declared),
        StatusNamesItsGeneration(declared),
        OthersAreLeftAlone(declared),
        FinalizerFirst(declared),
        ChildrenHaveOneOwner(declared),
        DeletionEnds(declared),
        EventsAreFew(declared),
        NothingSecret(declared),
        NothingGrows(declared),
        EverySlotHasAnOwner(),
        ListsAreFew(),
        WritesAreValid(declared),
    ]
