"""`python -m openclaw.testing.cluster.protobuf_dump`: how the built-in kinds are written as protobuf.

Reads the `generated.proto` files of the modules `k8s.io/api` and `k8s.io/apimachinery` in Go's module cache,
at the release that `openclaw.testing.binaries` names, and writes `builtin_protobuf.json.gz` beside this file:
of each message its fields by number, under their names in JSON. Run it after `openapi_dump`; the result is
committed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from openclaw.testing.binaries import KUBERNETES_VERSION
from openclaw.testing.cluster.openapi_dump import DATA_FILE as OPENAPI_FILE

DATA_FILE: Final = Path(__file__).with_name("builtin_protobuf.json.gz")
"""The committed result."""

_MODULES: Final = ("api", "apimachinery")
_PACKAGE: Final = re.compile(r"^package ([\w.]+);", re.MULTILINE)
_MESSAGE: Final = re.compile(r"^message (\w+) \{(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD: Final = re.compile(
    r"^\s*(?:optional|required|(repeated))?\s*(map<string, ([\w.]+)>|[\w.]+) (\w+) = (\d+);", re.MULTILINE
)
_SCALARS: Final = frozenset({"string", "bytes", "bool", "int32", "int64", "double", "float"})
_WHOLE: Final = frozenset(
    {
        "k8s.io.apimachinery.pkg.api.resource.Quantity",
        "k8s.io.apimachinery.pkg.apis.meta.v1.Duration",
        "k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1",
        "k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime",
        "k8s.io.apimachinery.pkg.apis.meta.v1.Time",
        "k8s.io.apimachinery.pkg.runtime.RawExtension",
        "k8s.io.apimachinery.pkg.util.intstr.IntOrString",
    }
)
"""Messages that are one value in JSON; `protobuf.py` knows them."""

Field = tuple[str, str, str, int]
"""Name, type, `r` for repeated or `m` for a map of strings, number."""


def messages(folder: Path) -> Iterator[tuple[str, list[Field]]]:
    """The messages of all files below a folder, by their full names."""
    for file in sorted(folder.rglob("generated.proto")):
        text = file.read_text()
        package = _PACKAGE.search(text)
        if package is None:
            continue
        for name, body in _MESSAGE.findall(text):
            fields = [
                (
                    called,
                    _full(below or kind, package[1]),
                    "r" if repeated else "m" if below else "",
                    int(number),
                )
                for repeated, kind, below, called, number in _FIELD.findall(body)
            ]
            yield f"{package[1]}.{name}", fields


def _how(repeated: str, below: str) -> str:
    return "r" if repeated else "m" if below else ""


def _full(kind: str, package: str) -> str:
    if kind in _SCALARS:
        return kind
    return kind[1:] if kind.startswith(".") else f"{package}.{kind}"


def dump(folders: list[Path], openapi: dict[str, Any]) -> dict[str, Any]:
    """What the data file holds: `kinds` (message by apiVersion and kind) and `messages`."""
    known = dict(pair for folder in folders for pair in messages(folder))
    kinds = {
        key: name
        for key, schema in openapi["kinds"].items()
        if (name := schema.replace("io.k8s.", "k8s.io.", 1)) in known
    }
    kept: dict[str, Any] = {}
    todo = sorted(kinds.values())
    while todo:
        name = todo.pop()
        if name in kept or name in _WHOLE or name in _SCALARS:
            continue
        schema = openapi["schemas"].get(name.replace("k8s.io.", "io.k8s.", 1))
        kept[name] = {
            str(number): [_in_json(called, kind, schema), kind, how]
            for called, kind, how, number in known[name]
        }
        todo += sorted({kind for _, kind, _, _ in known[name] if kind in known})
    return {"kinds": dict(sorted(kinds.items())), "messages": dict(sorted(kept.items()))}


def _in_json(called: str, kind: str, schema: dict[str, Any] | None) -> str:
    """What a field is called in JSON; "" for what is embedded there, whose fields are the outer one's."""
    if schema is None or kind in _SCALARS:
        return called  # Only embedded in others: there are no two levels of that.
    properties = schema.get("properties", {})
    if called in properties:
        return called
    lower = called[0].lower() + called[1:]
    return lower if lower in properties else ""


def main(arguments: list[str] | None = None) -> int:
    """Write the data file; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m openclaw.testing.cluster.protobuf_dump",
        description="Write builtin_protobuf.json.gz from the modules in Go's cache.",
    )
    parser.add_argument("--modules", type=Path, metavar="DIR", help="Go's module cache (default: go's own)")
    options = parser.parse_args(arguments)
    cache = options.modules or Path(
        subprocess.run(["go", "env", "GOMODCACHE"], check=True, capture_output=True, text=True).stdout.strip()
    )
    version = KUBERNETES_VERSION.replace("v1.", "v0.", 1)
    folders = [cache / "k8s.io" / f"{module}@{version}" for module in _MODULES]
    missing = [str(folder) for folder in folders if not folder.is_dir()]
    if missing:
        sys.stderr.write(f"error: not there: {', '.join(missing)}; run make control-plane\n")
        return 1
    data = dump(folders, json.loads(gzip.decompress(OPENAPI_FILE.read_bytes())))
    text = json.dumps(data, separators=(",", ":"), sort_keys=True).encode()
    DATA_FILE.write_bytes(gzip.compress(text, 9, mtime=0))
    size = DATA_FILE.stat().st_size // 1024
    sys.stdout.write(f"{DATA_FILE}: {len(data['messages'])} messages of {version}, {size} KiB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
