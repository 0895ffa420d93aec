"""`python -m openclaw.testing.cluster.openapi_dump`: take the built-in kinds from a real kube-apiserver.

Starts a control plane, reads its OpenAPI v3 documents and its discovery, leaves out what no fake needs
(descriptions, paths, groups that operators do not touch), looks up in Kubernetes' sources (which Go kept when
it built the server) how Go writes each field, and writes
`builtin_openapi.json.gz` beside this file.
Run it after a new release of Kubernetes; the result is committed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from openclaw.testing.cluster.go_types import mark_fields, module_cache

DATA_FILE: Final = Path(__file__).with_name("builtin_openapi.json.gz")
"""The committed result."""

GROUP_VERSIONS: Final = (
    "v1",
    "admissionregistration.k8s.io/v1",
    "apiextensions.k8s.io/v1",
    "apps/v1",
    "authentication.k8s.io/v1",
    "authorization.k8s.io/v1",
    "autoscaling/v1",
    "autoscaling/v2",
    "batch/v1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "events.k8s.io/v1",
    "networking.k8s.io/v1",
    "policy/v1",
    "rbac.authorization.k8s.io/v1",
    "scheduling.k8s.io/v1",
    "storage.k8s.io/v1",
)
"""What is taken, as `apiVersion`s."""

_REF: Final = "#/components/schemas/"
_KEPT: Final = frozenset(
    {
        "additionalProperties",
        "default",
        "enum",
        "format",
        "items",
        "nullable",
        "oneOf",
        "properties",
        "required",
        "type",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
        "x-kubernetes-patch-merge-key",
        "x-kubernetes-patch-strategy",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-unions",
    }
)
_GVK: Final = "x-kubernetes-group-version-kind"

Fetch = Callable[[str], Any]
"""The parsed answer to a GET of a path."""


def dump(fetch: Fetch) -> dict[str, Any]:
    """What `builtin_openapi.json.gz` holds: `kubernetes` (a version), `kinds`, `schemas`, `resources`."""
    schemas: dict[str, Any] = {}
    kinds: dict[str, str] = {}
    resources: list[dict[str, Any]] = []
    for group_version in GROUP_VERSIONS:
        prefix = "api" if "/" not in group_version else "apis"
        components = fetch(f"/openapi/v3/{prefix}/{group_version}")["components"]["schemas"]
        roots = []
        listed = fetch(f"/{prefix}/{group_version}")["resources"]
        resources += [{"groupVersion": group_version, **_without_hash(one)} for one in listed]
        served = {(one.get("group"), one.get("version"), one["kind"]) for one in listed}
        group, _, version = group_version.rpartition("/")
        for name, schema in components.items():
            for gvk in schema.get(_GVK, ()):
                key = gvk["group"], gvk["version"], gvk["kind"]
                here = (group, version) == key[:2] and (None, None, gvk["kind"]) in served
                if here or key in served:
                    kinds[_kind_key(*key)] = name
                    roots.append(name)
        _reachable(roots, components, schemas)
    return {
        "kubernetes": fetch("/version")["gitVersion"],
        "kinds": dict(sorted(kinds.items())),
        "resources": resources,
        "schemas": dict(sorted(schemas.items())),
    }


def _kind_key(group: str, version: str, kind: str) -> str:
    return f"{group}/{version}/{kind}" if group else f"{version}/{kind}"


def _without_hash(resource: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in resource.items() if key != "storageVersionHash"}


def _reachable(roots: Iterable[str], components: dict[str, Any], into: dict[str, Any]) -> None:
    todo = list(roots)
    while todo:
        name = todo.pop()
        if name in into:
            continue
        used: set[str] = set()
        into[name] = _pruned(components[name], used)
        todo += sorted(used)


def _pruned(schema: Any, used: set[str]) -> Any:
    if not isinstance(schema, dict):
        return schema
    # A reference with siblings is written as `allOf` of one.
    if "allOf" in schema and len(schema["allOf"]) == 1:
        schema = {**schema["allOf"][0], **{key: value for key, value in schema.items() if key != "allOf"}}
    kept: dict[str, Any] = {}
    reference = schema.get("$ref")
    if reference is not None:
        name = reference.removeprefix(_REF)
        used.add(name)
        kept["$ref"] = name
    for key in sorted(_KEPT & schema.keys()):
        value = schema[key]
        if key == "properties":
            kept[key] = {name: _pruned(below, used) for name, below in sorted(value.items())}
        elif key in {"items", "additionalProperties"}:
            kept[key] = _pruned(value, used)
        elif key == "default" and not value:
            continue  # Go's zero value, which is not written.
        else:
            kept[key] = value
    return kept


def write(data: dict[str, Any], file: Path = DATA_FILE) -> None:
    """Write the data file; the same data gives the same bytes."""
    text = json.dumps(data, separators=(",", ":"), sort_keys=True).encode()
    file.write_bytes(gzip.compress(text, 9, mtime=0))


def main(arguments: list[str] | None = None) -> int:
    """Write the data file from a control plane of the pinned version; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m openclaw.testing.cluster.openapi_dump", description="Write builtin_openapi.json.gz."
    )
    parser.add_argument("--output", type=Path, default=DATA_FILE, metavar="FILE")
    parser.add_argument("--go", default="go", metavar="PROGRAM", help="which knows where its sources are")
    options = parser.parse_args(arguments)
    from openclaw.testing.controlplane import ControlPlane
    from openclaw.testing.requests import Requests

    with ControlPlane() as plane:
        port, folder = int(plane.url.rpartition(":")[2]), plane.folder
        admin = Requests(port, folder / "ca.crt", folder / "admin.crt", folder / "admin.key")
        data = dump(lambda path: admin.send("GET", path))
    mark_fields(data["schemas"], module_cache(options.go), data["kubernetes"])
    write(data, options.output)
    sys.stdout.write(
        f"{options.output}: {len(data['kinds'])} kinds of Kubernetes {data['kubernetes']}, "
        f"{options.output.stat().st_size // 1024} KiB\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
