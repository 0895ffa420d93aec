"""The scale subresource: a Deployment, or whatever else has replicas, seen as a `Scale`."""

from __future__ import annotations

from typing import Any

from openclaw.testing.cluster.backend import Backend
from openclaw.testing.cluster.contracts import FieldValidation, ScalePaths
from openclaw.testing.cluster.paths import first, put
from openclaw.testing.cluster.routing import Target
from openclaw.testing.cluster.statuses import Cause, bad_request, internal, invalid

__all__ = ["Scaling"]

Object = dict[str, Any]


class Scaling:
    """Shows objects as scales, and writes back what a scale says."""

    def __init__(self, backend: Backend) -> None:
        self.schema = backend.machinery.schemas.builtin("autoscaling", "v1", "Scale")

    def shown(self, target: Target, obj: Object) -> Object:
        """The scale of an object."""
        paths = _paths(target)
        metadata = obj["metadata"]
        kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        scale: Object = {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {key: metadata[key] for key in kept if key in metadata},
            "spec": {},
            "status": {"replicas": first(paths.status_replicas, obj) or 0},
        }
        replicas = first(paths.spec_replicas, obj)
        if replicas:
            scale["spec"]["replicas"] = replicas
        selector = first(paths.label_selector, obj) if paths.label_selector else None
        if selector:
            scale["status"]["selector"] = selector if isinstance(selector, str) else _text(selector)
        return scale

    @staticmethod
    def check_shown(target: Target, obj: Object) -> None:
        """Raise StatusError (500) for a custom resource without replicas, of which nobody can get a scale."""
        path = _paths(target).spec_replicas
        if target.resource.definition is not None and first(path, obj) is None:
            raise internal(f'the spec replicas field "{path}" does not exist')

    def read(self, target: Target, body: bytes) -> Object:
        """The scale that a request body holds.

        Raises StatusError (400).
        """
        scale = self.schema.decode(body, FieldValidation.IGNORE).object
        kind = scale.get("kind") or "Scale"
        if kind != "Scale":
            if target.resource.definition is not None:
                raise bad_request("no kind is registered for the type v1.Scale in scheme")
            version = str(scale.get("apiVersion", ""))
            raise bad_request(
                f'{kind} in version "{version.rpartition("/")[2]}" cannot be handled as a Scale: '
                f'no kind "{kind}" is registered for version "{version}" in scheme'
            )
        name = (scale.get("metadata") or {}).get("name")
        if name and name != target.name:
            raise bad_request(
                f"the name of the object ({name}) does not match the name on the URL ({target.name})"
            )
        return scale

    @staticmethod
    def scaled(target: Target, live: Object, scale: Object) -> Object:
        """The object as a scale wants it; conditional on the scale's resourceVersion and uid.

        Raises StatusError (422).
        """
        replicas = (scale.get("spec") or {}).get("replicas", 0)
        custom = target.resource.definition is not None
        if not isinstance(replicas, int):
            raise bad_request("no kind is registered for the type v1.Scale in scheme")
        if replicas < 0 and custom:
            path = _paths(target).spec_replicas
            cause = Cause.of("FieldValueInvalid", path, "should be a non-negative integer", str(replicas))
            raise invalid(target.resource.group, target.resource.kind, target.name, [cause])
        if replicas < 0:
            cause = Cause.of(
                "FieldValueInvalid", "spec.replicas", "must be greater than or equal to 0", str(replicas)
            )
            raise invalid("autoscaling", "Scale", target.name, [cause])
        said = scale.get("metadata") or {}
        obj = put(_paths(target).spec_replicas, live, replicas)
        metadata = dict(live["metadata"])
        for key in ("resourceVersion", "uid"):
            if said.get(key):
                metadata[key] = said[key]
        return {**obj, "metadata": metadata}


def _paths(target: Target) -> ScalePaths:
    paths = target.version.scale
    if paths is None:
        raise LookupError(f"{target.resource.qualified} has no scale")
    return paths


def _text(selector: Object) -> str:
    """A LabelSelector as a query would have it."""
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for expression in selector.get("matchExpressions") or ():
        key, values = expression["key"], ",".join(sorted(expression.get("values") or ()))
        parts.append(
            {
                "In": f"{key} in ({values})",
                "NotIn": f"{key} notin ({values})",
                "Exists": key,
                "DoesNotExist": f"!{key}",
            }[expression["operator"]]
        )
    return ",".join(parts)
