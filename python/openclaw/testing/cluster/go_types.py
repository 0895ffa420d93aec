"""How Go writes the fields of the built-in kinds, read from the sources of the control plane.

OpenAPI does not say which fields kube-apiserver writes though nobody set them (`status: {}`, `rules: null`)
and which it drops when they are zero (`paused: false`). The struct tags in `types.go` do.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

MARK: Final = "x-go"
"""The key in a property's schema. Values: `omit` (dropped when zero), `struct` (always written), `zero`
(written as `""`, 0 or false), `null` (written as null). Without it the field is a pointer: kept as it is."""

_FIELD: Final = re.compile(r'^\t(?:(\w+)\s+)?([^\s`]+)\s+`json:"([^"]*)"')
_STRUCT: Final = re.compile(r"^type (\w+) struct \{")
_MODULES: Final = {
    "io.k8s.api": "api",
    "io.k8s.apimachinery": "apimachinery",
    "io.k8s.apiextensions-apiserver": "apiextensions-apiserver",
}
_SCALAR_ZERO: Final = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
}
_TIMES: Final = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
}


def module_cache(go: str = "go") -> Path:
    """Where Go keeps the sources of modules."""
    done = subprocess.run([go, "env", "GOMODCACHE"], check=True, capture_output=True, text=True)
    return Path(done.stdout.strip())


def mark_fields(schemas: dict[str, Any], sources: Path, version: str) -> None:
    """Add the marks to the properties of `schemas`, by schema name; `version` is such as `v1.37.2`."""
    staging = version.replace("v1.", "v0.", 1)
    packages: dict[Path, dict[str, list[tuple[str, str]]]] = {}
    for name, schema in schemas.items():
        prefix = next((it for it in _MODULES if name.startswith(f"{it}.")), None)
        if prefix is None or "properties" not in schema:
            continue
        *folders, kind = name.removeprefix(f"{prefix}.").split(".")
        package = sources / "k8s.io" / f"{_MODULES[prefix]}@{staging}" / Path(*folders)
        if package not in packages:
            packages[package] = _structs(package)
        for go_type, tag in _fields(packages[package], kind):
            field, *options = tag.split(",")
            prop = schema["properties"].get(field)
            mark = prop and _mark(go_type, options, prop, schemas)
            if mark:
                prop[MARK] = mark


def _structs(package: Path) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for file in sorted(package.glob("*types*.go")):
        if file.name.startswith("zz_") or file.name.endswith(("_test.go", "_swagger_doc_generated.go")):
            continue
        current: list[tuple[str, str]] | None = None
        for line in file.read_text().splitlines():
            if match := _STRUCT.match(line):
                current = found.setdefault(match[1], [])
            elif line == "}":
                current = None
            elif current is not None and (match := _FIELD.match(line)):
                current.append((match[2], match[3]))
    return found


def _fields(structs: dict[str, list[tuple[str, str]]], kind: str) -> Iterator[tuple[str, str]]:
    for go_type, tag in structs.get(kind, ()):
        if tag.startswith(",inline") or not tag:
            yield from _fields(structs, go_type.lstrip("*"))
        else:
            yield go_type, tag


def _mark(go_type: str, options: list[str], prop: dict[str, Any], schemas: dict[str, Any]) -> str | None:
    if go_type.startswith("*"):
        return None if "omitempty" in options else "null"
    if "omitzero" in options:
        return "omit"
    reference = prop.get("$ref")
    if reference in _TIMES:
        return "null"
    if reference is not None and "properties" in schemas[reference]:
        return "struct"
    if "omitempty" in options:
        # A struct with a JSON form of its own is never empty to Go.
        return None if reference in _SCALAR_ZERO else "omit"
    return "null" if go_type.startswith(("[]", "map[")) else "zero"
