"""Roles with exactly what the declared controllers do, and roles for the people who use their kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from openclaw.api import CustomResource, ResourceKind
from openclaw.manifests.errors import ManifestError
from openclaw.runtime.reconciler import Reconciler, owned_kinds

Json = dict[str, Any]
ReconcilerClass = type[Reconciler[Any]]

RBAC = "rbac.authorization.k8s.io"

# The order in which kubectl and the documentation list them.
_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_CACHE = ("list", "watch")
_APPLY = ("create", "patch")  # a server-side apply that creates needs both

_Grants = dict[tuple[str, str], set[str]]


def operator_rules(reconcilers: Iterable[ReconcilerClass]) -> list[Json]:
    """The rules of a role that allows what the controllers declare, and nothing else."""
    grants: _Grants = {}
    for reconciler in reconcilers:
        root = reconciler.root.resource
        # `get` reads an object again when its status was written by somebody else meanwhile.
        _grant(grants, root, "get", *_CACHE)
        _grant(grants, root, "patch", subresource="status")
        if reconciler.finalizer is not None:
            _grant(grants, root, "patch")
        for owned in owned_kinds(reconciler):
            # `delete` not only for `ctx.delete`: OwnerReferencesPermissionEnforcement asks for it of whoever
            # changes the owner references of an object that exists, to put them right or to adopt it.
            _grant(grants, owned.child.resource, "get", *_CACHE, *_APPLY, "delete")
        if reconciler.owns:
            # OwnerReferencesPermissionEnforcement asks for it when children block their owner's deletion.
            _grant(grants, root, "update", subresource="finalizers")
        for watch in reconciler.watches:
            _grant(grants, watch.target.resource, *_CACHE)
        for kind in reconciler.reads:
            _grant(grants, kind.resource, "get")
        if reconciler.emits_events:
            grants.setdefault(("events.k8s.io", "events"), set()).update(_APPLY)
    return _rules(grants)


def operator_role(
    reconcilers: Sequence[ReconcilerClass], *, name: str, labels: Json, watch_namespace: str | None = None
) -> Json:
    """The operator's ClusterRole; with `watch_namespace` a Role in that namespace instead.

    Raises:
        ManifestError: a Role is asked for and a controller needs a kind that is in no namespace.
    """
    if watch_namespace is None:
        metadata: Json = {"name": name, "labels": labels}
        return _role("ClusterRole", metadata, operator_rules(reconcilers))
    for reconciler in reconcilers:
        for kind in _kinds(reconciler):
            if not kind.namespaced:
                raise ManifestError(
                    f"{reconciler.__name__} needs {kind.kind}, which is in no namespace: a Role can't "
                    "grant it; generate without a namespace"
                )
    metadata = {"name": name, "namespace": watch_namespace, "labels": labels}
    return _role("Role", metadata, operator_rules(reconcilers))


def shard_role(*, name: str, namespace: str, statefulset: str, labels: Json) -> Json:
    """What a shard may do in the operator's own namespace: keep Leases, see whether its pod comes back."""
    rules = [
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "verbs": ["list", "watch", "create", "update", "delete"],
        },
        {
            "apiGroups": ["apps"],
            "resources": ["statefulsets"],
            "resourceNames": [statefulset],
            "verbs": ["get"],
        },
    ]
    return _role("Role", {"name": name, "namespace": namespace, "labels": labels}, rules)


def service_account(*, name: str, namespace: str, labels: Json) -> Json:
    """The identity under which the operator runs; its token is mounted where a pod asks for it."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "automountServiceAccountToken": False,
    }


def binding(role: Json, account: Json) -> Json:
    """The binding that gives `role`, a ClusterRole or Role, to `account`, under the role's name."""
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{role['kind']}Binding",
        "metadata": dict(role["metadata"]),
        "roleRef": {"apiGroup": RBAC, "kind": role["kind"], "name": role["metadata"]["name"]},
        "subjects": [
            {
                "kind": "ServiceAccount",
                "name": account["metadata"]["name"],
                "namespace": account["metadata"]["namespace"],
            }
        ],
    }


def user_roles(kinds: Sequence[type[CustomResource]], *, name: str, labels: Json) -> list[Json]:
    """ClusterRoles for people: `<name>-viewer` and `<name>-editor`, added to `view`, `edit` and `admin`."""
    view: _Grants = {}
    edit: _Grants = {}
    for cls in kinds:
        _grant(view, cls.resource, "get", *_CACHE)
        _grant(edit, cls.resource, "get", *_CACHE, *_APPLY, "update", "delete", "deletecollection")
        if cls.options.status:
            _grant(view, cls.resource, "get", subresource="status")
            _grant(edit, cls.resource, "get", subresource="status")
        if cls.options.scale is not None:
            _grant(view, cls.resource, "get", subresource="scale")
            _grant(edit, cls.resource, "get", "update", "patch", subresource="scale")
    aggregated = {"viewer": (view, ("view",)), "editor": (edit, ("edit", "admin"))}
    return [
        _role(
            "ClusterRole",
            {
                "name": f"{name}-{who}",
                "labels": {**labels, **{f"{RBAC}/aggregate-to-{role}": "true" for role in roles}},
            },
            _rules(grants),
        )
        for who, (grants, roles) in aggregated.items()
    ]


def _kinds(reconciler: ReconcilerClass) -> list[ResourceKind]:
    return [
        reconciler.root.resource,
        *(owned.child.resource for owned in owned_kinds(reconciler)),
        *(watch.target.resource for watch in reconciler.watches),
        *(kind.resource for kind in reconciler.reads),
    ]


def _grant(grants: _Grants, kind: ResourceKind, *verbs: str, subresource: str | None = None) -> None:
    resource = f"{kind.plural}/{subresource}" if subresource else kind.plural
    grants.setdefault((kind.group, resource), set()).update(verbs)


def _rules(grants: _Grants) -> list[Json]:
    """One rule for the resources of a group that share their verbs, in a fixed order."""
    merged: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, resource), verbs in sorted(grants.items()):
        merged.setdefault((group, tuple(verb for verb in _VERBS if verb in verbs)), []).append(resource)
    return [
        {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}
        for (group, verbs), resources in merged.items()
    ]


def _role(kind: str, metadata: Json, rules: list[Json]) -> Json:
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules}
