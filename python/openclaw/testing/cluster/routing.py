"""From a path to what it names."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from openclaw.testing.cluster.contracts import Resource, Version
from openclaw.testing.cluster.registry import Registry
from openclaw.testing.cluster.request import Answer

__all__ = ["PLAIN_NOT_FOUND", "Target", "resolve"]

PLAIN_NOT_FOUND = Answer(404, b"404 page not found\n", content_type="text/plain; charset=utf-8")
"""What the server's mux says of a path that nothing is behind."""

_OF_A_NAMESPACE = frozenset({"status", "finalize"})


@dataclass(frozen=True, slots=True)
class Target:
    """What a request is about.

    Attributes:
        namespace: "" for cluster-scoped objects, and for a collection of all namespaces.
        name: "" for a collection.
        watch: the path is one of the old `/watch/` ones.
    """

    resource: Resource
    version: Version
    namespace: str
    name: str
    subresource: str
    watch: bool = False

    @property
    def api_version(self) -> str:
        """The `apiVersion` of the request."""
        return self.resource.api_version(self.version.name)


def resolve(path: str, registry: Registry) -> Target | None:
    """The resource, object or subresource behind a path (still percent-encoded); None where there is none."""
    parts = [unquote(part) for part in path.split("/")[1:]]
    match parts:
        case ["api", "v1", *rest]:
            group, version = "", "v1"
        case ["apis", group, version, *rest]:
            pass
        case _:
            return None
    watch = bool(rest) and rest[0] == "watch"
    if watch:
        rest = rest[1:]
    namespace = ""
    match rest:
        case ["namespaces", named, plural, *below] if plural not in _OF_A_NAMESPACE:
            namespace, rest = named, [plural, *below]
    if not rest or len(rest) > 3 or not all(rest):  # noqa: PLR2004 - plural, name, subresource
        return None
    plural, name, subresource = [*rest, "", ""][:3]
    resource = registry.find(group, plural)
    if resource is None:
        return None
    served = resource.versions.get(version)
    if served is None or not served.served:
        return None
    if namespace and not resource.namespaced:
        return None
    if resource.namespaced and name and not namespace:
        return None
    return Target(resource, served, namespace, name, subresource, watch)
