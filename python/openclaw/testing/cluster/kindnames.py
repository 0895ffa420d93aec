"""Names that several parts know: (group, plural) of resources, and finalizers."""

from __future__ import annotations

from typing import Final

from openclaw.testing.cluster.store import Name

__all__ = [
    "CLEANUP",
    "DEFINITIONS",
    "DEPLOYMENTS",
    "JOBS",
    "NAMESPACES",
    "NODES",
    "PODS",
    "REPLICA_SETS",
    "SERVICE_ACCOUNTS",
    "STATEFUL_SETS",
    "VOLUMES",
    "VOLUME_CLAIMS",
]

DEFINITIONS: Final[Name] = ("apiextensions.k8s.io", "customresourcedefinitions")
DEPLOYMENTS: Final[Name] = ("apps", "deployments")
JOBS: Final[Name] = ("batch", "jobs")
NAMESPACES: Final[Name] = ("", "namespaces")
NODES: Final[Name] = ("", "nodes")
PODS: Final[Name] = ("", "pods")
REPLICA_SETS: Final[Name] = ("apps", "replicasets")
SERVICE_ACCOUNTS: Final[Name] = ("", "serviceaccounts")
STATEFUL_SETS: Final[Name] = ("apps", "statefulsets")
VOLUMES: Final[Name] = ("", "persistentvolumes")
VOLUME_CLAIMS: Final[Name] = ("", "persistentvolumeclaims")

CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer of a definition whose objects have to go first."""
