"""Cache, queue, controller, manager, and what a reconciler is given."""

from openclaw.runtime.apply import Applied
from openclaw.runtime.context import Context
from openclaw.runtime.errors import (
    ClassifiedError,
    ErrorClass,
    NotControlled,
    Retry,
    TerminalError,
    classify,
    reason_of,
)
from openclaw.runtime.manager import Manager, Options
from openclaw.runtime.predicates import (
    Always,
    AnnotationChanged,
    ContentChanged,
    DeletionChanged,
    FieldChanged,
    FieldEquals,
    FinalizersChanged,
    GenerationChanged,
    LabelChanged,
    OwnersChanged,
    Predicate,
    ResourceVersionChanged,
    SpecChanged,
    StatusChanged,
)
from openclaw.runtime.queue import Key, Priority
from openclaw.runtime.reconciler import Index, Owns, Reconciler, Watch, index
from openclaw.runtime.result import Result
from openclaw.runtime.services import Services

__all__ = [
    "Always",
    "AnnotationChanged",
    "Applied",
    "ClassifiedError",
    "ContentChanged",
    "Context",
    "DeletionChanged",
    "ErrorClass",
    "FieldChanged",
    "FieldEquals",
    "FinalizersChanged",
    "GenerationChanged",
    "Index",
    "Key",
    "LabelChanged",
    "Manager",
    "NotControlled",
    "Options",
    "OwnersChanged",
    "Owns",
    "Predicate",
    "Priority",
    "Reconciler",
    "ResourceVersionChanged",
    "Result",
    "Retry",
    "Services",
    "SpecChanged",
    "StatusChanged",
    "TerminalError",
    "Watch",
    "classify",
    "index",
    "reason_of",
]
