"""What has to hold in every simulation, whatever the operator is for."""

from openclaw.testing.simulation.invariants.acting import OneShardActs
from openclaw.testing.simulation.invariants.bounds import NothingGrows
from openclaw.testing.simulation.invariants.children import ChildrenHaveOneOwner
from openclaw.testing.simulation.invariants.declared import Declared, Root, conditions_of, describe
from openclaw.testing.simulation.invariants.deletion import DeletionEnds
from openclaw.testing.simulation.invariants.events import EventsAreFew
from openclaw.testing.simulation.invariants.finalizers import FinalizerFirst
from openclaw.testing.simulation.invariants.lists import ListsAreFew
from openclaw.testing.simulation.invariants.others import OthersAreLeftAlone
from openclaw.testing.simulation.invariants.secrecy import NothingSecret
from openclaw.testing.simulation.invariants.slots import EverySlotHasAnOwner
from openclaw.testing.simulation.invariants.standard import standard_invariants
from openclaw.testing.simulation.invariants.statuses import StatusNamesItsGeneration
from openclaw.testing.simulation.invariants.validity import WritesAreValid
from openclaw.testing.simulation.invariants.writes import NoNeedlessWrites

__all__ = [
    "ChildrenHaveOneOwner",
    "Declared",
    "DeletionEnds",
    "EventsAreFew",
    "EverySlotHasAnOwner",
    "FinalizerFirst",
    "ListsAreFew",
    "NoNeedlessWrites",
    "NothingGrows",
    "NothingSecret",
    "OneShardActs",
    "OthersAreLeftAlone",
    "Root",
    "StatusNamesItsGeneration",
    "WritesAreValid",
    "conditions_of",
    "describe",
    "standard_invariants",
]
