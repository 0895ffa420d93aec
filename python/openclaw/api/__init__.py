"""Resource types, the single source of truth of CRDs, defaults, validation and RBAC needs."""

from openclaw.api.builtin import (
    ClusterRole,
    ClusterRoleBinding,
    ConfigMap,
    CronJob,
    CustomResourceDefinition,
    DaemonSet,
    Deployment,
    Event,
    HorizontalPodAutoscaler,
    Ingress,
    Job,
    Lease,
    Namespace,
    NetworkPolicy,
    Node,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    ReplicaSet,
    ResourceQuota,
    Role,
    RoleBinding,
    Secret,
    Service,
    ServiceAccount,
    StatefulSet,
)
from openclaw.api.conditions import (
    Available,
    Condition,
    Conditions,
    ConditionStatus,
    ConditionType,
    Degraded,
    Progressing,
)
from openclaw.api.errors import InvalidObjectError, SchemaError
from openclaw.api.field import Field
from openclaw.api.kinds import ResourceKind
from openclaw.api.markers import Rule
from openclaw.api.meta import ObjectMeta, OwnerReference
from openclaw.api.model import Model
from openclaw.api.openclaw import OpenClaw
from openclaw.api.options import Age, Column, ResourceOptions, Scale
from openclaw.api.quantity import Quantity
from openclaw.api.resource import CustomResource
from openclaw.api.unstructured import Unstructured

__all__ = [
    "Age",
    "Available",
    "ClusterRole",
    "ClusterRoleBinding",
    "Column",
    "Condition",
    "ConditionStatus",
    "ConditionType",
    "Conditions",
    "ConfigMap",
    "CronJob",
    "CustomResource",
    "CustomResourceDefinition",
    "DaemonSet",
    "Degraded",
    "Deployment",
    "Event",
    "Field",
    "HorizontalPodAutoscaler",
    "Ingress",
    "InvalidObjectError",
    "Job",
    "Lease",
    "Model",
    "Namespace",
    "NetworkPolicy",
    "Node",
    "ObjectMeta",
    "OpenClaw",
    "OwnerReference",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "Progressing",
    "Quantity",
    "ReplicaSet",
    "ResourceKind",
    "ResourceOptions",
    "ResourceQuota",
    "Role",
    "RoleBinding",
    "Rule",
    "Scale",
    "SchemaError",
    "Secret",
    "Service",
    "ServiceAccount",
    "StatefulSet",
    "Unstructured",
]
