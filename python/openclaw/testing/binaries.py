"""Where the binaries of a control plane and of its observers are, and the command that makes sure they exist.

A binary is looked for in this order:

1. the folder named by `KUBEBUILDER_ASSETS`,
2. the folders on `PATH`,
3. the user's cache: `$XDG_CACHE_HOME` (default `~/.cache`)`/openclaw/<what it is of>/<version>/`.

`python -m openclaw.testing.binaries` builds into the cache whatever none of these has, with Go.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from openclaw.testing.errors import BinaryNotFoundError, ControlPlaneError

KUBERNETES_VERSION: Final = "v1.37.2"
"""The release of Kubernetes that is built when no binary is found."""

PROMETHEUS_VERSION: Final = "v0.316.0"
"""The Go module's version, of which Prometheus' own is 3.16.0."""

JAEGER_VERSION: Final = "v1.76.0"
"""The Go module's version; it holds the Jaeger that is configured as an OpenTelemetry collector."""


@dataclass(frozen=True, slots=True)
class Component:
    """A binary and the Go package that it is built from."""

    name: str
    module: str  # The folder under gomod/ whose go.mod pins the dependencies.
    package: str
    of: str = "control-plane"  # The folder of the cache.
    version: str = KUBERNETES_VERSION
    tags: str = ""  # Go's build tags.


COMPONENTS: Final[Mapping[str, Component]] = {
    component.name: component
    for component in (
        Component("etcd", "etcd", "go.etcd.io/etcd/server/v3"),
        Component("kube-apiserver", "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver"),
        Component("kube-controller-manager", "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager"),
        Component("kube-scheduler", "kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler"),
        Component("kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl"),
        # Without the clouds' service discoveries, which are most of its code.
        *(
            Component(
                name,
                "prometheus",
                f"github.com/prometheus/prometheus/cmd/{name}",
                "prometheus",
                PROMETHEUS_VERSION,
                "remove_all_sd",
            )
            for name in ("prometheus", "promtool")
        ),
        Component("jaeger", "jaeger", "github.com/jaegertracing/jaeger/cmd/jaeger", "jaeger", JAEGER_VERSION),
    )
}
"""Every binary that can be found or built, by name."""

_CONTROL_PLANE: Final = [name for name, component in COMPONENTS.items() if component.of == "control-plane"]


def cache_folder(name: str = "etcd") -> Path:
    """The folder of the user's cache that the binary `name`, once built, is kept in; it need not exist."""
    # The XDG specification says that a relative path is to be ignored.
    configured = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(configured) if configured.startswith("/") else Path.home() / ".cache"
    component = COMPONENTS.get(name, COMPONENTS["etcd"])
    return base / "openclaw" / component.of / component.version


def look_up(name: str) -> Path | None:
    """The path of the binary `name`, or None when it is in none of the places looked at."""
    folders = [os.environ.get("KUBEBUILDER_ASSETS", ""), os.environ.get("PATH", ""), str(cache_folder(name))]
    for folder in folders:
        found = shutil.which(name, path=folder) if folder else None
        if found:
            return Path(found).absolute()
    return None


def find_binary(name: str) -> Path:
    """The path of the binary `name`.

    Raises BinaryNotFoundError, which says where it was looked for and how to get it.
    """
    found = look_up(name)
    if found is None:
        assets = os.environ.get("KUBEBUILDER_ASSETS")
        target = COMPONENTS[name].of if name in COMPONENTS else "control-plane"
        argument = "" if target == "control-plane" else f" {name}"
        raise BinaryNotFoundError(
            f"{name} not found: looked in KUBEBUILDER_ASSETS ({assets or 'not set'}), on PATH, "
            f"and in {cache_folder(name)}. "
            f"Run `python -m openclaw.testing.binaries{argument}` (or `make {target}`) to build it once "
            f"with Go, or set KUBEBUILDER_ASSETS to a folder that has it."
        )
    return found


def missing(names: Iterable[str]) -> list[str]:
    """Those of `names` that are found nowhere, in the order given."""
    return [name for name in names if look_up(name) is None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Build what is missing, then print where each binary is. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m openclaw.testing.binaries",
        description="Find the binaries of a Kubernetes control plane, or those named; build those missing "
        "once with Go.",
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"{', '.join(COMPONENTS)} (default: {', '.join(_CONTROL_PLANE)})",
    )
    names: list[str] = parser.parse_args(arguments).names or _CONTROL_PLANE
    unknown = [name for name in names if name not in COMPONENTS]
    if unknown:
        parser.error(f"unknown binary {', '.join(unknown)}: choose from {', '.join(COMPONENTS)}")
    try:
        if missing(names):
            # Imported here: the builder needs fcntl, looking up does not.
            from openclaw.testing.builder import build_missing

            build_missing(names)
        for name in names:
            sys.stdout.write(f"{name:<24} {find_binary(name)}\n")
    except ControlPlaneError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; run the same command again to go on from here\n")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
