"""Where and with what was measured: the machine, versions, the build profile."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Final

from openclaw import _core

ROOT: Final = Path(__file__).resolve().parents[1]
RESULTS: Final = ROOT / "bench" / "results"
PACKAGES: Final = ("orjson", "msgspec", "pydantic", "aiohttp", "kubernetes-asyncio", "kopf")


class DebugBuildError(RuntimeError):
    """The Rust core was built without optimisation: nothing measured with it means anything."""


def refuse_debug_build() -> None:
    """Raise DebugBuildError unless the core is a release build."""
    if _core.build_profile != "release":
        raise DebugBuildError(
            f"openclaw._core is a {_core.build_profile} build; run `make setup` and try again"
        )


def describe() -> dict[str, Any]:
    """What the results must say of where they come from."""
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    tools = {"go": _output("go", "env", "GOVERSION"), "rustc": _output("rustc", "--version")}
    return {
        "at": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "openclaw": f"{_core.__version__}, {_core.build_profile} build, {_revision()}",
        "versions": versions | {name: version for name, version in tools.items() if version},
    }


def text(environment: dict[str, Any]) -> str:
    """The same as a paragraph of Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in environment["versions"].items())
    quiet = (
        ""
        if environment["load"] < 0.5
        else " **The machine was not at rest: take these figures for a trial.**"
    )
    return (
        f"Measured {environment['at']} on {environment['cores']} cores, {environment['cpu']}, Linux "
        f"{environment['kernel']}; load when it began {environment['load']}.{quiet} openclaw "
        f"{environment['openclaw']}; Python {environment['python']}; {versions}.\n"
    )


def _revision() -> str:
    revision = _output("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD") or "unknown revision"
    changed = _output("git", "-C", str(ROOT), "status", "--porcelain", "--", "python", "rust")
    return f"{revision} with changes" if changed else revision


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown CPU"
    )


def _output(*command: str) -> str:
    if not shutil.which(command[0]):
        return ""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
