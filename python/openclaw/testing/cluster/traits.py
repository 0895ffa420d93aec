"""What sets the built-in kinds apart, as far as their OpenAPI does not say it.

Generation, creation by PUT, updates without a resourceVersion and what a deletion answers with were read off
a kube-apiserver; selectable fields are those of `pkg/apis/*/conversion.go`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["CUSTOM", "Traits", "traits_of"]

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Traits:
    """How the server treats a kind.

    Attributes:
        generation: whether `metadata.generation` counts changes.
        create_on_update: a PUT of an object that is missing creates it.
        unconditional_update: a PUT may leave out the resourceVersion.
        returns_deleted: a deletion answers with the object, not with a Status.
        orphans: a deletion that names no propagation policy orphans the dependents.
        fields: paths of the fields that field selectors may name, besides the name and the namespace.
        closed_fields: others are told `field label not supported`.
    """

    generation: bool = False
    create_on_update: bool = False
    unconditional_update: bool = True
    returns_deleted: bool = False
    orphans: bool = False
    fields: dict[str, str] = field(default_factory=dict)
    closed_fields: bool = False


def _same(*paths: str) -> dict[str, str]:
    return {path: f".{path}" for path in paths}


_INVOLVED: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_EVENT_FIELDS: Final = {
    **{f"involvedObject.{name}": f".involvedObject.{name}" for name in _INVOLVED},
    **_same("reason", "type"),
    "reportingComponent": ".reportingComponent",
    "source": ".source.component",
}

CUSTOM: Final = Traits(generation=True, unconditional_update=False, closed_fields=True)
"""Of custom resources."""

_GENERATION: Final = Traits(generation=True)
_UPSERT: Final = Traits(create_on_update=True)
_GUARDED: Final = Traits(generation=True, unconditional_update=False)

_TRAITS: Final = {
    ("", "configmaps"): Traits(),
    ("", "endpoints"): _UPSERT,
    ("", "events"): Traits(create_on_update=True, fields=_EVENT_FIELDS, closed_fields=True),
    ("", "limitranges"): _UPSERT,
    ("", "namespaces"): Traits(
        returns_deleted=True, fields={"name": ".metadata.name", **_same("status.phase")}, closed_fields=True
    ),
    ("", "nodes"): Traits(fields=_same("spec.unschedulable"), closed_fields=True),
    ("", "persistentvolumeclaims"): Traits(returns_deleted=True, fields={"name": ".metadata.name"}),
    ("", "persistentvolumes"): Traits(returns_deleted=True, fields={"name": ".metadata.name"}),
    ("", "pods"): Traits(
        generation=True,
        returns_deleted=True,
        fields=_same(
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ),
        closed_fields=True,
    ),
    ("", "podtemplates"): Traits(generation=True, returns_deleted=True),
    ("", "replicationcontrollers"): Traits(
        generation=True, orphans=True, fields=_same("status.replicas"), closed_fields=True
    ),
    ("", "resourcequotas"): Traits(returns_deleted=True),
    ("", "secrets"): Traits(fields=_same("type"), closed_fields=True),
    ("", "serviceaccounts"): Traits(returns_deleted=True),
    ("", "services"): Traits(
        create_on_update=True,
        returns_deleted=True,
        fields=_same("spec.clusterIP", "spec.type"),
        closed_fields=True,
    ),
    ("apiextensions.k8s.io", "customresourcedefinitions"): _GUARDED,
    ("apps", "daemonsets"): _GENERATION,
    ("apps", "deployments"): _GENERATION,
    ("apps", "replicasets"): Traits(generation=True, fields=_same("status.replicas"), closed_fields=True),
    ("apps", "statefulsets"): _GENERATION,
    ("autoscaling", "horizontalpodautoscalers"): _GENERATION,
    ("batch", "cronjobs"): _GENERATION,
    ("batch", "jobs"): Traits(
        generation=True,
        orphans=True,
        fields={"status.successful": ".status.succeeded"},
        closed_fields=True,
    ),
    ("coordination.k8s.io", "leases"): Traits(create_on_update=True, unconditional_update=False),
    ("discovery.k8s.io", "endpointslices"): _GENERATION,
    ("events.k8s.io", "events"): Traits(
        create_on_update=True,
        fields={
            **{f"regarding.{name}": f".involvedObject.{name}" for name in _INVOLVED},
            **_same("reason", "type"),
            "reportingController": ".reportingComponent",
        },
        closed_fields=True,
    ),
    ("networking.k8s.io", "ingressclasses"): _GENERATION,
    ("networking.k8s.io", "ingresses"): _GENERATION,
    ("networking.k8s.io", "networkpolicies"): _GENERATION,
    ("policy", "poddisruptionbudgets"): _GUARDED,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _UPSERT,
    ("rbac.authorization.k8s.io", "clusterroles"): _UPSERT,
    ("rbac.authorization.k8s.io", "rolebindings"): _UPSERT,
    ("rbac.authorization.k8s.io", "roles"): _UPSERT,
    ("scheduling.k8s.io", "priorityclasses"): _GENERATION,
    ("storage.k8s.io", "storageclasses"): Traits(returns_deleted=True),
    **{
        ("admissionregistration.k8s.io", plural): _GUARDED
        for plural in (
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
            "mutatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "validatingwebhookconfigurations",
        )
    },
}

_PLAIN: Final = Traits()


def traits_of(group: str, plural: str, *, custom: bool = False) -> Traits:
    """How the server treats a resource."""
    return CUSTOM if custom else _TRAITS.get((group, plural), _PLAIN)
