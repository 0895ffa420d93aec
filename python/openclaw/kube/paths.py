"""REST paths of the Kubernetes API."""

from __future__ import annotations

from urllib.parse import quote

from openclaw.api.kinds import ResourceKind

__all__ = ["collection_path", "object_path"]


def collection_path(kind: ResourceKind, namespace: str | None = None) -> str:
    """The path of a collection, of one namespace or (with None, or for a cluster-scoped kind) of all."""
    root = f"/api/{kind.version}" if not kind.group else f"/apis/{kind.group}/{kind.version}"
    if kind.namespaced and namespace:
        return f"{root}/namespaces/{quote(namespace, safe='')}/{kind.plural}"
    return f"{root}/{kind.plural}"


def object_path(kind: ResourceKind, namespace: str | None, name: str, subresource: str | None = None) -> str:
    """The path of one object, or of a subresource of it.

    Raises:
        ValueError: the name is empty, or the kind is namespaced and the namespace is missing.
    """
    if not name:
        msg = f"{kind.kind}: the name is empty"
        raise ValueError(msg)
    if kind.namespaced and not namespace:
        msg = f"{kind.kind} {name!r}: the kind is namespaced, but no namespace was given"
        raise ValueError(msg)
    path = f"{collection_path(kind, namespace)}/{quote(name, safe='')}"
    return f"{path}/{subresource}" if subresource else path
