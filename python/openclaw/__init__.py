"""A Kubernetes operator framework with a Rust core.

What is needed to declare a kind, write its reconciler and run it; the rest is in the subpackages. The
names are loaded when they are first used, so that `openclaw --version`, or a pytest run that only
happens to have openclaw installed, does not pay for the HTTP client and pydantic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openclaw.api import (
        Available,
        Column,
        Condition,
        Conditions,
        ConditionType,
        ConfigMap,
        CronJob,
        CustomResource,
        Degraded,
        Deployment,
        Field,
        Ingress,
        Job,
        Model,
        NetworkPolicy,
        PersistentVolumeClaim,
        Pod,
        PodDisruptionBudget,
        Progressing,
        Rule,
        Scale,
        Secret,
        Service,
        ServiceAccount,
        StatefulSet,
        Unstructured,
    )
    from openclaw.runtime import (
        AnnotationChanged,
        ContentChanged,
        Context,
        DeletionChanged,
        FieldChanged,
        FieldEquals,
        GenerationChanged,
        LabelChanged,
        Manager,
        Options,
        Owns,
        Predicate,
        Reconciler,
        Result,
        Retry,
        SpecChanged,
        StatusChanged,
        TerminalError,
        Watch,
        index,
    )

__all__ = [
    "AnnotationChanged",
    "Available",
    "Column",
    "Condition",
    "ConditionType",
    "Conditions",
    "ConfigMap",
    "ContentChanged",
    "Context",
    "CronJob",
    "CustomResource",
    "Degraded",
    "DeletionChanged",
    "Deployment",
    "Field",
    "FieldChanged",
    "FieldEquals",
    "GenerationChanged",
    "Ingress",
    "Job",
    "LabelChanged",
    "Manager",
    "Model",
    "NetworkPolicy",
    "Options",
    "Owns",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "Predicate",
    "Progressing",
    "Reconciler",
    "Result",
    "Retry",
    "Rule",
    "Scale",
    "Secret",
    "Service",
    "ServiceAccount",
    "SpecChanged",
    "StatefulSet",
    "StatusChanged",
    "TerminalError",
    "Unstructured",
    "Watch",
    "index",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from openclaw import api, runtime  # noqa: PLC0415 - see above

    value = getattr(api if hasattr(api, name) else runtime, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
