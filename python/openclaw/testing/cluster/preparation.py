"""What the server adds to new and changed objects of some built-in kinds, beyond defaults.

Follows the `PrepareForCreate` and `PrepareForUpdate` of `pkg/registry/*/strategy.go`; for what admission adds
to pods see `podadmission`.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final

from openclaw.testing.cluster.contracts import Reader
from openclaw.testing.cluster.podadmission import admit_pod
from openclaw.testing.cluster.services import changed_service, new_service

__all__ = ["prepare_created", "prepare_updated"]

Object = dict[str, Any]

_STATUSES: Final[dict[tuple[str, str], Object]] = {
    ("", "namespaces"): {"phase": "Active"},
    ("", "persistentvolumeclaims"): {"phase": "Pending"},
    ("", "persistentvolumes"): {"phase": "Pending"},
    ("", "replicationcontrollers"): {"replicas": 0},
    ("", "resourcequotas"): {},
    ("", "services"): {"loadBalancer": {}},
    ("apps", "daemonsets"): {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    },
    ("apps", "deployments"): {},
    ("apps", "replicasets"): {"replicas": 0},
    ("apps", "statefulsets"): {"replicas": 0, "availableReplicas": 0},
    ("autoscaling", "horizontalpodautoscalers"): {"desiredReplicas": 0, "currentMetrics": None},
    ("batch", "cronjobs"): {},
    ("batch", "jobs"): {},
    ("networking.k8s.io", "ingresses"): {"loadBalancer": {}},
    ("policy", "poddisruptionbudgets"): {
        "disruptionsAllowed": 0,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
    },
}
"""The status of a new object, as clients see it before any controller has looked."""


def prepare_created(resource: tuple[str, str], obj: Object, reader: Reader) -> Object:
    """A new object (of a resource with a status subresource without what the client said of it)."""
    status = _STATUSES.get(resource)
    if status is not None:
        obj = {**obj, "status": dict(status)}
    preparing = _CREATED.get(resource)
    return obj if preparing is None else preparing(obj, reader)


def prepare_updated(resource: tuple[str, str], obj: Object, old: Object, reader: Reader) -> Object:
    """Another state of an object."""
    preparing = _UPDATED.get(resource)
    return obj if preparing is None else preparing(obj, old, reader)


def _definition(obj: Object, _: Reader) -> Object:
    storage = [one["name"] for one in obj["spec"].get("versions") or () if one.get("storage")]
    status = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": storage}
    return {**obj, "status": status}


def _namespace(obj: Object, _: Reader) -> Object:
    metadata, name = obj["metadata"], obj["metadata"]["name"]
    labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": name}
    spec = obj.get("spec") or {}
    finalizers = list(dict.fromkeys([*(spec.get("finalizers") or ()), "kubernetes"]))
    return {
        **obj,
        "metadata": {**metadata, "labels": labels},
        "spec": {**spec, "finalizers": finalizers},
        "status": {"phase": "Active"},
    }


def _namespace_updated(obj: Object, old: Object, _: Reader) -> Object:
    metadata = obj["metadata"]
    labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}
    spec = {**(obj.get("spec") or {}), "finalizers": (old.get("spec") or {}).get("finalizers") or []}
    return {**obj, "metadata": {**metadata, "labels": labels}, "spec": spec}


def _secret(obj: Object) -> Object:
    plain = obj.get("stringData")
    if not plain:
        return {key: value for key, value in obj.items() if key != "stringData"}
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
    rest = {key: value for key, value in obj.items() if key != "stringData"}
    return {**rest, "data": {**(obj.get("data") or {}), **encoded}}


def _node(obj: Object, _: Reader) -> Object:
    spec = dict(obj.get("spec") or {})
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    spec["taints"] = [*(spec.get("taints") or ()), taint]
    return {**obj, "spec": spec}


def _job(obj: Object, _: Reader) -> Object:
    metadata, spec = obj["metadata"], dict(obj["spec"])
    if spec.get("manualSelector"):
        return obj
    uid, name = metadata["uid"], metadata["name"]
    ours = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    template = spec["template"]
    below = template.get("metadata") or {}
    labels = {**(below.get("labels") or {}), **ours}
    spec["template"] = {**template, "metadata": {**below, "labels": labels}}
    spec.setdefault("manualSelector", False)
    spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    if metadata.get("labels") in (None, {}, below.get("labels")):
        # A job without labels has those of its template, these included.
        metadata = {**metadata, "labels": labels}
    return {**obj, "metadata": metadata, "spec": spec}


def _job_updated(obj: Object, old: Object, _: Reader) -> Object:
    spec = dict(obj.get("spec") or {})
    if not spec.get("selector") and "selector" in old["spec"]:
        spec["selector"] = old["spec"]["selector"]
    return {**obj, "spec": spec}


def _protected(finalizer: str) -> Callable[[Object, Reader], Object]:
    """What the admission plugin StorageObjectInUseProtection puts on claims and volumes."""

    def protect(obj: Object, _: Reader) -> Object:
        metadata = obj["metadata"]
        finalizers = list(dict.fromkeys([*(metadata.get("finalizers") or ()), finalizer]))
        return {**obj, "metadata": {**metadata, "finalizers": finalizers}}

    return protect


def _volume(obj: Object, reader: Reader) -> Object:
    status = {"phase": "Pending", "lastPhaseTransitionTime": obj["metadata"]["creationTimestamp"]}
    return {**_protected("kubernetes.io/pv-protection")(obj, reader), "status": status}


_CREATED: Final[dict[tuple[str, str], Callable[[Object, Reader], Object]]] = {
    ("", "namespaces"): _namespace,
    ("", "nodes"): _node,
    ("", "persistentvolumeclaims"): _protected("kubernetes.io/pvc-protection"),
    ("", "persistentvolumes"): _volume,
    ("", "pods"): admit_pod,
    ("", "secrets"): lambda obj, _: _secret(obj),
    ("", "services"): new_service,
    ("apiextensions.k8s.io", "customresourcedefinitions"): _definition,
    ("batch", "jobs"): _job,
}
_UPDATED: Final[dict[tuple[str, str], Callable[[Object, Object, Reader], Object]]] = {
    ("", "namespaces"): _namespace_updated,
    ("", "secrets"): lambda obj, _, __: _secret(obj),
    ("", "services"): changed_service,
    ("batch", "jobs"): _job_updated,
}
