"""The built-in resources: what a kube-apiserver's own discovery says of them."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson

from openclaw.testing.cluster.contracts import Resource, ScalePaths, Schemas, Version

__all__ = ["DiscoveredResource", "builtin_names", "builtin_resource", "discovered"]

_DATA: Final = Path(__file__).with_name("builtin_openapi.json.gz")

DiscoveredResource = dict[str, Any]
"""An entry of an `APIResourceList`, with its `groupVersion`."""

_PROBLEMATIC: Final = frozenset({"componentstatuses"})
"""Resources that have nothing behind them here."""

_STORAGE: Final = {("autoscaling", "horizontalpodautoscalers"): "v2"}
"""The version that is stored, where there are several."""

_VIEWS: Final = {("events.k8s.io", "events"): ("", "events")}

_SCALES: Final = {
    ("apps", "deployments"): ScalePaths(".spec.replicas", ".status.replicas", ".spec.selector"),
    ("apps", "replicasets"): ScalePaths(".spec.replicas", ".status.replicas", ".spec.selector"),
    ("apps", "statefulsets"): ScalePaths(".spec.replicas", ".status.replicas", ".spec.selector"),
    ("", "replicationcontrollers"): ScalePaths(".spec.replicas", ".status.replicas", ".spec.selector"),
}

_DEPRECATED: Final = {
    ("", "endpoints", "v1"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
}


@cache
def discovered() -> tuple[DiscoveredResource, ...]:
    """All built-in resources and subresources, in the order of the server's lists."""
    data = orjson.loads(gzip.decompress(_DATA.read_bytes()))
    return tuple(one for one in data["resources"] if one["name"].partition("/")[0] not in _PROBLEMATIC)


@cache
def builtin_names() -> frozenset[tuple[str, str]]:
    """(group, plural) of all."""
    return frozenset(
        (one["groupVersion"].rpartition("/")[0], one["name"])
        for one in discovered()
        if "/" not in one["name"]
    )


def builtin_resource(group: str, plural: str, schemas: Schemas) -> Resource:
    """A built-in resource.

    Raises KeyError when there is none.
    """
    entries = [
        one
        for one in discovered()
        if one["groupVersion"].rpartition("/")[0] == group and one["name"].partition("/")[0] == plural
    ]
    mains = [one for one in entries if "/" not in one["name"]]
    if not mains:
        raise KeyError((group, plural))
    versions = {
        version: _version(one, version, _subresources(entries, version), schemas)
        for one in mains
        for version in (one["groupVersion"].rpartition("/")[2],)
    }
    main = mains[-1]
    storage = _STORAGE.get((group, plural), next(reversed(versions)))
    everywhere = {name for version in versions for name in _subresources(entries, version)}
    return Resource(
        group=group,
        plural=plural,
        kind=main["kind"],
        namespaced=main["namespaced"],
        versions=versions,
        storage=storage,
        singular=main.get("singularName", ""),
        list_kind=f"{main['kind']}List",
        short_names=tuple(main.get("shortNames") or ()),
        categories=tuple(main.get("categories") or ()),
        verbs=tuple(main["verbs"]),
        subresources=tuple(sorted(everywhere - {"status", "scale"})),
        stored_as=_VIEWS.get((group, plural), (group, plural)),
    )


def _subresources(entries: Iterable[DiscoveredResource], version: str) -> set[str]:
    return {
        one["name"].partition("/")[2]
        for one in entries
        if "/" in one["name"] and one["groupVersion"].rpartition("/")[2] == version
    }


def _version(one: DiscoveredResource, version: str, subresources: set[str], schemas: Schemas) -> Version:
    group, plural = one["groupVersion"].rpartition("/")[0], one["name"]
    return Version(
        name=version,
        schema=schemas.builtin(group, version, one["kind"]),
        status="status" in subresources,
        scale=_SCALES.get((group, plural)) if "scale" in subresources else None,
        deprecation=_DEPRECATED.get((group, plural, version), ""),
    )
