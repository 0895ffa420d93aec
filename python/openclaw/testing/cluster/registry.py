"""Which resources there are: the built-in ones, and those of CustomResourceDefinitions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from openclaw.testing.cluster.builtin import builtin_names, builtin_resource
from openclaw.testing.cluster.contracts import Column, Object, Resource, ScalePaths, Schemas, Version

__all__ = ["Registry"]

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


class Registry:
    """Finds resources by their path; built-in ones are made when they are first asked for."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._builtin: dict[tuple[str, str], Resource] = {}
        self._custom: dict[tuple[str, str], Resource] = {}

    def find(self, group: str, plural: str) -> Resource | None:
        """The resource of that group and plural name."""
        name = (group, plural)
        found = self._builtin.get(name) or self._custom.get(name)
        if found is None and name in builtin_names():
            found = self._builtin[name] = builtin_resource(group, plural, self._schemas)
        return found

    def custom(self) -> Iterator[Resource]:
        """The custom resources that are served."""
        return iter(list(self._custom.values()))

    def all(self) -> Iterator[Resource]:
        """Every resource; makes all of them."""
        for name in sorted(builtin_names()):
            found = self.find(*name)
            if found is not None:
                yield found
        yield from self.custom()

    def serve(self, definition: Object) -> Resource:
        """Serve what a CustomResourceDefinition defines, in place of what it defined before."""
        resource = self._defined(definition)
        self._custom[resource.group, resource.plural] = resource
        return resource

    def withdraw(self, group: str, plural: str) -> None:
        """Serve it no more."""
        self._custom.pop((group, plural), None)

    def _defined(self, definition: Object) -> Resource:
        spec = definition["spec"]
        names = (definition.get("status") or {}).get("acceptedNames") or spec["names"]
        versions = {one["name"]: self._version(definition, one) for one in spec["versions"]}
        return Resource(
            group=spec["group"],
            plural=spec["names"]["plural"],
            kind=names.get("kind") or spec["names"]["kind"],
            namespaced=spec["scope"] == "Namespaced",
            versions=versions,
            storage=next(one["name"] for one in spec["versions"] if one["storage"]),
            singular=names.get("singular") or spec["names"]["kind"].lower(),
            list_kind=names.get("listKind") or f"{spec['names']['kind']}List",
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            verbs=_VERBS,
            stored_as=(spec["group"], spec["names"]["plural"]),
            definition=definition,
        )

    def _version(self, definition: Object, version: Object) -> Version:
        subresources = version.get("subresources") or {}
        scale = subresources.get("scale")
        deprecation = ""
        if version.get("deprecated"):
            spec = definition["spec"]
            deprecation = version.get("deprecationWarning") or (
                f"{spec['group']}/{version['name']} {spec['names']['kind']} is deprecated"
                f"{_instead(definition, version)}"
            )
        return Version(
            name=version["name"],
            schema=self._schemas.custom(definition, version["name"]),
            served=version["served"],
            status="status" in subresources,
            scale=ScalePaths(
                scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath")
            )
            if scale
            else None,
            columns=tuple(
                Column(
                    name=one["name"],
                    type=one["type"],
                    path=one["jsonPath"],
                    description=one.get("description", ""),
                    format=one.get("format", ""),
                    priority=one.get("priority", 0),
                )
                for one in version.get("additionalPrinterColumns") or ()
            ),
            selectable=tuple(one["jsonPath"] for one in version.get("selectableFields") or ()),
            deprecation=deprecation,
        )


def _instead(definition: Object, version: Object) -> str:
    """What to use instead of a deprecated version: the highest that is served and not deprecated."""
    spec = definition["spec"]
    others = [one["name"] for one in spec["versions"] if one["served"] and not one.get("deprecated")]
    if not others or version["name"] in others:
        return ""
    best = max(others, key=_rank)
    return f"; use {spec['group']}/{best} {spec['names']['kind']}"


def _rank(version: str) -> tuple[int, int, int]:
    """How stable and how new a version is: `v2` above `v1`, above `v2beta1`, above `v2alpha1`."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (0, 0, 0)
    level = {"": 3, "beta": 2, "alpha": 1}[match[2] or ""]
    return (level, int(match[1]), int(match[3] or 0))
