"""Which rules a built-in kind has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from openclaw.testing.cluster.kinds import network, others, pods, workloads
from openclaw.testing.cluster.kinds.generic import Object, check_structs
from openclaw.testing.cluster.schema.definition import check_definition
from openclaw.testing.cluster.schema.names import (
    long_name_faults,
    path_segment_faults,
    short_name_faults,
)
from openclaw.testing.cluster.schema.node import Node
from openclaw.testing.cluster.schema.object_meta import NameRule, check_metadata
from openclaw.testing.cluster.statuses import Cause

Rule = Callable[[Object, Object | None, list[Cause]], None]

_SELECTING: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"})


_NAMES: Final[dict[str, NameRule]] = {
    "ClusterRole": path_segment_faults,
    "ClusterRoleBinding": path_segment_faults,
    "Namespace": short_name_faults,
    "Role": path_segment_faults,
    "RoleBinding": path_segment_faults,
    "Service": short_name_faults,
}


def _pod(new: Object, old: Object | None, causes: list[Cause]) -> None:
    if old is None:
        pods.check_pod_spec(new.get("spec") or {}, "spec", causes)
    else:
        pods.check_pod_update(new, old, causes)


def _job(new: Object, old: Object | None, causes: list[Cause]) -> None:
    before = None if old is None else old.get("spec") or {}
    workloads.check_job(new.get("spec") or {}, before, "spec", causes)


_RULES: Final[dict[str, Rule]] = {
    "ClusterRole": lambda new, _old, causes: others.check_role(new, causes, namespaced=False),
    "ClusterRoleBinding": lambda new, old, causes: others.check_binding(new, old, causes, namespaced=False),
    "ConfigMap": others.check_config_map,
    "CronJob": lambda new, _old, causes: workloads.check_cron_job(new.get("spec") or {}, causes),
    "HorizontalPodAutoscaler": lambda new, _old, causes: others.check_autoscaler(new, causes),
    "Ingress": lambda new, _old, causes: network.check_ingress(new, causes),
    "IngressClass": network.check_ingress_class,
    "Job": _job,
    "Lease": lambda new, _old, causes: others.check_lease(new, causes),
    "MutatingWebhookConfiguration": lambda new, _old, causes: others.check_webhooks(new, causes),
    "NetworkPolicy": lambda new, _old, causes: network.check_network_policy(new, causes),
    "PersistentVolumeClaim": others.check_claim,
    "Pod": _pod,
    "PodDisruptionBudget": lambda new, _old, causes: others.check_budget(new, causes),
    "PriorityClass": others.check_priority_class,
    "ReplicationController": lambda new, _old, causes: workloads.check_replication_controller(
        new.get("spec") or {}, causes
    ),
    "Role": lambda new, _old, causes: others.check_role(new, causes, namespaced=True),
    "RoleBinding": lambda new, old, causes: others.check_binding(new, old, causes, namespaced=True),
    "Secret": others.check_secret,
    "Service": network.check_service,
    "StorageClass": others.check_storage_class,
    "ValidatingWebhookConfiguration": lambda new, _old, causes: others.check_webhooks(new, causes),
}


def builtin_causes(node: Node, kind: str, new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """What is wrong with an object of a built-in kind."""
    causes = check_metadata(
        new.get("metadata") or {}, old and old.get("metadata"), _NAMES.get(kind, long_name_faults)
    )
    if subresource == "status":
        if kind == "Service":
            network.check_service_status(new, causes)
        return causes
    found: list[Cause] = []
    if kind == "CustomResourceDefinition":
        return causes + check_definition(new, old)
    check_structs(node, new, "", found)
    if kind in _SELECTING:
        workloads.check_workload(kind, new, old, found)
    elif kind == "Event":
        if "involvedObject" in new:
            others.check_event(new, found)
    elif rule := _RULES.get(kind):
        rule(new, old, found)
    # What one rule says of a field, another need not say again.
    return causes + list(dict.fromkeys(found))
