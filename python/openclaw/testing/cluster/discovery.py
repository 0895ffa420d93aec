"""What the server says of itself: groups, versions, resources, its own version, health."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any, Final

import orjson

from openclaw.testing.cluster.backend import Backend
from openclaw.testing.cluster.builtin import discovered
from openclaw.testing.cluster.contracts import Resource
from openclaw.testing.cluster.openapi import document
from openclaw.testing.cluster.request import Answer, Request

__all__ = ["Discovery"]

Object = dict[str, Any]

_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_VERSION: Final = {
    "major": "1",
    "minor": "37",
    "gitVersion": "v1.37.2",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}
_HEALTH: Final = frozenset({"/healthz", "/livez", "/readyz"})
_SCALE: Final = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
_OBJECT_VERBS: Final = ["get", "patch", "update"]


class Discovery:
    """Answers the paths that are about the API itself."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def serves_group(self, group: str) -> bool:
        """Whether any resource of that group is served."""
        return any(group == name for name, _ in self._versions())

    def answer(self, request: Request) -> Answer | None:  # noqa: PLR0911 - a table of paths
        """The answer; None for a path that is not about the API."""
        if request.method != "GET":
            return None
        path = request.path.rstrip("/") or "/"
        if path in _HEALTH:
            return Answer(200, b"ok", content_type="text/plain; charset=utf-8")
        match path.split("/")[1:]:
            case ["version"]:
                return Answer.of(_VERSION)
            case ["api"]:
                return self._root(request, "")
            case ["apis"]:
                return self._root(request, "apis")
            case ["api", "v1"]:
                return Answer.of(self._resources("", "v1"))
            case ["apis", group]:
                found = self._group(group)
                return None if found is None else Answer.of({"kind": "APIGroup", "apiVersion": "v1", **found})
            case ["apis", group, version] if (group, version) in set(self._versions()):
                return Answer.of(self._resources(group, version))
            case ["openapi", "v3"]:
                return Answer.of(self._openapi_paths())
            case ["openapi", "v3", *parts]:
                return self._openapi(parts)
            case ["openapi", "v2"]:
                return Answer.of(_OPENAPI_V2)
        return None

    def _root(self, request: Request, prefix: str) -> Answer:
        if "as=APIGroupDiscoveryList" in request.accept and "v=v2" in request.accept:
            return self._aggregated(prefix)
        if not prefix:
            return Answer.of({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
        groups = [found for name in self._groups() if name and (found := self._group(name)) is not None]
        return Answer.of({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})

    def _aggregated(self, prefix: str) -> Answer:
        items: list[Object] = []
        for group in self._groups():
            if bool(group) is not bool(prefix):
                continue
            versions = [
                {
                    "version": version,
                    "resources": _aggregated_resources(self._resources(group, version)["resources"]),
                    "freshness": "Current",
                }
                for name, version in self._versions()
                if name == group
            ]
            items.append({"metadata": {"name": group} if group else {}, "versions": versions})
        body = {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": items,
        }
        return Answer(200, orjson.dumps(body), content_type=_AGGREGATED)

    def _versions(self) -> Iterator[tuple[str, str]]:
        """(group, version) of all, the preferred one of each group first."""
        pairs: dict[tuple[str, str], None] = {}
        for one in discovered():
            group, _, version = one["groupVersion"].rpartition("/")
            pairs[group, version] = None
        for resource in self._backend.registry.custom():
            for version in sorted(resource.versions.values(), key=lambda it: _priority(it.name)):
                if version.served:
                    pairs[resource.group, version.name] = None
        ordered = sorted(pairs, key=lambda pair: _priority(pair[1]))
        return iter(sorted(ordered, key=lambda pair: list(self._order(pairs)).index(pair[0])))

    @staticmethod
    def _order(pairs: dict[tuple[str, str], None]) -> dict[str, None]:
        return {group: None for group, _ in pairs}

    def _groups(self) -> list[str]:
        return list({group: None for group, _ in self._versions()})

    def _group(self, group: str) -> Object | None:
        versions = [
            {"groupVersion": f"{name}/{version}", "version": version}
            for name, version in self._versions()
            if name == group
        ]
        if not versions or not group:
            return None
        return {"name": group, "versions": versions, "preferredVersion": versions[0]}

    def _resources(self, group: str, version: str) -> Object:
        group_version = f"{group}/{version}" if group else version
        resources: list[Object] = [
            {key: value for key, value in one.items() if key != "groupVersion"}
            for one in discovered()
            if one["groupVersion"] == group_version
        ]
        for resource in self._backend.registry.custom():
            if resource.group == group and version in resource.versions:
                resources += _described(resource, version)
        return {
            "kind": "APIResourceList",
            **({"apiVersion": "v1"} if group else {}),
            "groupVersion": group_version,
            "resources": resources,
        }

    def _openapi_paths(self) -> Object:
        paths = {}
        for group, version in self._versions():
            path = f"apis/{group}/{version}" if group else f"api/{version}"
            seen = self._resources(group, version)
            mark = hashlib.sha256(orjson.dumps([seen, self._definitions(group)])).hexdigest().upper()
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={mark}"}
        return {"paths": paths}

    def _definitions(self, group: str) -> list[str]:
        return [
            resource.definition["metadata"]["resourceVersion"]
            for resource in self._backend.registry.custom()
            if resource.group == group and resource.definition is not None
        ]

    def _openapi(self, parts: list[str]) -> Answer | None:
        group, version = (
            ("", parts[-1]) if parts[0] == "api" else (parts[1] if len(parts) > 1 else "", parts[-1])
        )
        if (group, version) not in set(self._versions()):
            return None
        names = dict.fromkeys(
            one["name"].partition("/")[0] for one in self._resources(group, version)["resources"]
        )
        found = [self._backend.registry.find(group, plural) for plural in names]
        return Answer.of(document(group, version, [one for one in found if one is not None]))


def _described(resource: Resource, version: str) -> list[Object]:
    served = resource.versions[version]
    if not served.served:
        return []
    main: Object = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        main["shortNames"] = list(resource.short_names)
    if resource.categories:
        main["categories"] = list(resource.categories)
    below = {"singularName": "", "namespaced": resource.namespaced, "verbs": _OBJECT_VERBS}
    entries = [main]
    if served.status:
        entries.append({"name": f"{resource.plural}/status", **below, "kind": resource.kind})
    if served.scale is not None:
        entries.append({"name": f"{resource.plural}/scale", **below, **_SCALE})
    return entries


def _aggregated_resources(resources: list[Object]) -> list[Object]:
    """Entries of an `APIResourceList`, in the form of aggregated discovery: subresources below their own."""
    found: dict[str, Object] = {}
    for one in resources:
        plural, _, subresource = one["name"].partition("/")
        kind = {"group": one.get("group", ""), "version": one.get("version", ""), "kind": one["kind"]}
        if subresource:
            if plural in found:
                found[plural].setdefault("subresources", []).append(
                    {"subresource": subresource, "responseKind": kind, "verbs": one["verbs"]}
                )
            continue
        entry: Object = {
            "resource": plural,
            "responseKind": kind,
            "scope": "Namespaced" if one["namespaced"] else "Cluster",
            "singularResource": one.get("singularName", ""),
            "verbs": one["verbs"],
        }
        for key in ("shortNames", "categories"):
            if one.get(key):
                entry[key] = one[key]
        found[plural] = entry
    return list(found.values())


def _priority(version: str) -> tuple[int, int, int, str]:
    """The order of versions that Kubernetes prefers: v2, v1, v1beta1, v1alpha1, others."""
    match = re.fullmatch(r"v(\d+)(?:(alpha|beta)(\d+))?", version)
    if match is None:
        return 3, 0, 0, version
    stage = {None: 0, "beta": 1, "alpha": 2}[match[2]]
    return stage, -int(match[1]), -int(match[3] or 0), ""


_OPENAPI_V2: Final = {
    "swagger": "2.0",
    "info": {"title": "Kubernetes", "version": "v1.37.2"},
    "paths": {},
    "definitions": {},
}
