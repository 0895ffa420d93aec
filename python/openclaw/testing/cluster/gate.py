"""What stands before every new object: its namespace must be there, and quotas must leave room."""

from __future__ import annotations

from typing import Any, Final

from openclaw.testing.cluster.backend import Backend
from openclaw.testing.cluster.kindnames import DEFINITIONS
from openclaw.testing.cluster.routing import Target
from openclaw.testing.cluster.statuses import StatusError, forbidden, not_found

__all__ = ["IMMORTAL", "Gate"]

Object = dict[str, Any]

IMMORTAL: Final = frozenset({"default", "kube-system", "kube-public"})
"""Namespaces that cannot be deleted."""

_COUNTED: Final = frozenset(
    {
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
    }
)
"""Resources of the core group whose number a quota may limit by their mere name."""


class Gate:
    """The admission plugins NamespaceLifecycle and ResourceQuota (of the latter, the counts)."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def check_creation(self, target: Target, obj: Object) -> None:
        """Raise StatusError when the namespace is missing (404) or on its way out (403)."""
        definition = target.resource.definition
        if definition is not None:
            now = self._backend.reader.get(*DEFINITIONS, "", definition["metadata"]["name"])
            if now is None or "deletionTimestamp" in now["metadata"]:
                raise forbidden(
                    target.resource.group,
                    target.resource.plural,
                    obj["metadata"]["name"],
                    "create not allowed while custom resource definition is terminating",
                )
        if not target.resource.namespaced:
            return
        namespace = self._backend.reader.get("", "namespaces", "", target.namespace)
        if namespace is None:
            raise not_found("", "namespaces", target.namespace)
        if namespace["metadata"].get("deletionTimestamp"):
            error = forbidden(
                target.resource.group,
                target.resource.plural,
                obj["metadata"]["name"],
                f"unable to create new content in namespace {target.namespace} "
                "because it is being terminated",
            )
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {target.namespace} is being terminated",
                "field": "metadata.namespace",
            }
            error.details = {**(error.details or {}), "causes": [cause]}
            raise error

    @staticmethod
    def check_deletion(target: Target) -> None:
        """Raise StatusError (403) for a namespace that cannot be deleted."""
        resource = target.resource
        if (resource.group, resource.plural) == ("", "namespaces") and target.name in IMMORTAL:
            raise forbidden("", "namespaces", target.name, "this namespace may not be deleted")

    def check_quota(self, target: Target, obj: Object) -> None:
        """Raise StatusError (403) when a quota of the namespace has no room for one more."""
        resource = target.resource
        names = {f"count/{resource.qualified}"}
        if not resource.group and resource.plural in _COUNTED:
            names.add(resource.plural)
        for quota in self._backend.reader.list("", "resourcequotas", target.namespace):
            hard = (quota.get("spec") or {}).get("hard") or {}
            for name in sorted(names & hard.keys()):
                used = self._used(target)
                if used + 1 > int(hard[name]):
                    raise self._exceeded(target, obj, quota, name, used)

    def _used(self, target: Target) -> int:
        entries = self._backend.store.collection(target.resource.stored_as).scan(target.namespace)
        if (target.resource.group, target.resource.plural) == ("", "pods"):
            phases = ((entry.obj.get("status") or {}).get("phase") for entry in entries)
            return sum(phase not in {"Succeeded", "Failed"} for phase in phases)
        return sum(1 for _ in entries)

    @staticmethod
    def _exceeded(target: Target, obj: Object, quota: Object, name: str, used: int) -> StatusError:
        return forbidden(
            target.resource.group,
            target.resource.plural,
            obj["metadata"]["name"],
            f"exceeded quota: {quota['metadata']['name']}, requested: {name}=1, used: {name}={used}, "
            f"limited: {name}={quota['spec']['hard'][name]}",
        )
