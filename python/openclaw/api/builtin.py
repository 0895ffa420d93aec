"""The built-in kinds that operators meet most."""

from __future__ import annotations

from openclaw.api.unstructured import Unstructured


class ConfigMap(Unstructured, version="v1"):
    """Configuration data."""


class Secret(Unstructured, version="v1"):
    """Secret data, base64 in `data`."""


class Service(Unstructured, version="v1"):
    """A stable address in front of pods."""


class Pod(Unstructured, version="v1"):
    """A group of containers on one node."""


class Namespace(Unstructured, version="v1", namespaced=False):
    """A scope for names."""


class Node(Unstructured, version="v1", namespaced=False):
    """A machine of the cluster."""


class ServiceAccount(Unstructured, version="v1"):
    """An identity for processes in pods."""


class PersistentVolumeClaim(Unstructured, version="v1"):
    """A claim to storage."""


class ResourceQuota(Unstructured, version="v1"):
    """Limits on what a namespace may hold."""


class Event(Unstructured, group="events.k8s.io", version="v1"):
    """A report of something that happened to an object."""


class Deployment(Unstructured, group="apps", version="v1"):
    """Replicated pods, updated by rolling."""


class ReplicaSet(Unstructured, group="apps", version="v1"):
    """Replicated pods of one template."""


class StatefulSet(Unstructured, group="apps", version="v1"):
    """Replicated pods with stable names."""


class DaemonSet(Unstructured, group="apps", version="v1"):
    """One pod on each node."""


class Job(Unstructured, group="batch", version="v1"):
    """Pods that run to completion."""


class CronJob(Unstructured, group="batch", version="v1"):
    """Jobs on a schedule."""


class Ingress(Unstructured, group="networking.k8s.io", version="v1"):
    """HTTP routes from outside to Services."""


class NetworkPolicy(Unstructured, group="networking.k8s.io", version="v1", plural="networkpolicies"):
    """Which traffic pods accept and send."""


class PodDisruptionBudget(Unstructured, group="policy", version="v1"):
    """How many pods may be evicted at once."""


class HorizontalPodAutoscaler(Unstructured, group="autoscaling", version="v2"):
    """Sets replicas from metrics."""


class Lease(Unstructured, group="coordination.k8s.io", version="v1"):
    """Who holds what, until when."""


class Role(Unstructured, group="rbac.authorization.k8s.io", version="v1"):
    """Permissions in one namespace."""


class RoleBinding(Unstructured, group="rbac.authorization.k8s.io", version="v1"):
    """Grants a role in one namespace."""


class ClusterRole(Unstructured, group="rbac.authorization.k8s.io", version="v1", namespaced=False):
    """Permissions in the whole cluster."""


class ClusterRoleBinding(Unstructured, group="rbac.authorization.k8s.io", version="v1", namespaced=False):
    """Grants a role in the whole cluster."""


class CustomResourceDefinition(Unstructured, group="apiextensions.k8s.io", version="v1", namespaced=False):
    """Declares a kind to the API server."""
