"""Where the binaries of a control plane are, and the command that makes sure they exist.

A binary is looked for in this order:

1. the folder named by `KUBEBUILDER_ASSETS`,
2. the folders on `PATH`,
3. the user's cache: `$XDG_CACHE_HOME` (default `~/.cache`)`/openclaw/control-plane/<version>/`.

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


@dataclass(frozen=True, slots=True)
class Component:
    """A binary of the control plane and the Go package that it is built from."""

    name: str
    module: str  # The folder under gomod/ whose go.mod pins the dependencies.
    package: str


COMPONENTS: Final[Mapping[str, Component]] = {
    component.name: component
    for component in (
        Component("etcd", "etcd", "go.etcd.io/etcd/server/v3"),
        Component("kube-apiserver", "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver"),
        Component("kube-controller-manager", "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager"),
        Component("kube-scheduler", "kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler"),
        Component("kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl"),
    )
}
"""Every binary that can be found or built, by name."""


def cache_folder() -> Path:
    """The folder of the user's cache that built binaries are kept in; it need not exist."""
    # The XDG specification says that a relative path is to be ignored.
    configured = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(configured) if configured.startswith("/") else Path.home() / ".cache"
    return base / "openclaw" / "control-plane" / KUBERNETES_VERSION


def look_up(name: str) -> Path | None:
    """The path of the binary `name`, or None when it is in none of the places looked at."""
    folders = [os.environ.get("KUBEBUILDER_ASSETS", ""), os.environ.get("PATH", ""), str(cache_folder())]
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
        raise BinaryNotFoundError(
            f"{name} not found: looked in KUBEBUILDER_ASSETS ({assets or 'not set'}), on PATH, "
            f"and in {cache_folder()}. "
            f"Run `python -m openclaw.testing.binaries` (or `make control-plane`) to build it once with Go, "
            f"or set KUBEBUILDER_ASSETS to a folder that has it."
        )
    return found


def missing(names: Iterable[str]) -> list[str]:
    """Those of `names` that are found nowhere, in the order given."""
    return [name for name in names if look_up(name) is None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Build what is missing, then print where each binary is. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m openclaw.testing.binaries",
        description="Find the binaries of a Kubernetes control plane; build those missing once with Go.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(COMPONENTS)} (default: all)")
    names: list[str] = parser.parse_args(arguments).names or list(COMPONENTS)
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
