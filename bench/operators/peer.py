"""Operators under test. Each is a folder with a peer.json; nothing else is known of them.

    {
      "name": "what it is called",         optional; else the folder's name
      "title": "what the table shows",
      "needs": ["go"],                     programs that must be on PATH; optional
      "build": [["argv", ...], ...],       commands, run in the folder; may be empty
      "start": ["argv", ...],              the operator, run in the folder
      "env": {"NAME": "value"},            optional
      "variants": {"name": {"title": ..., "start": ..., "env": {...}}}   optional
    }

`{here}`, `{built}` (where builds go) and `{python}` are filled in. The operator gets

    KUBECONFIG         the only way to the API server
    BENCH_CONCURRENCY  how many objects to reconcile at once
    BENCH_COUNTERS     a 64-byte file to map and count in (optional, see bench/README.md)

and must end on SIGTERM.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.operators.process import Counters, Sampler

ROOT: Final = Path(__file__).resolve().parents[2]
BUILT: Final = ROOT / "target" / "bench"
FOLDERS: Final = (ROOT / "bench" / "widget", *sorted((ROOT / "bench" / "operators" / "peers").iterdir()))
DEFAULT: Final = ("openclaw", "controller-runtime", "kube-rs", "kopf")


class PeerError(RuntimeError):
    """There is no such peer, or it can't be built here."""


@dataclass(frozen=True, slots=True)
class Peer:
    """An operator, in one of its variants."""

    name: str
    title: str
    folder: Path
    needs: tuple[str, ...]
    build: tuple[tuple[str, ...], ...]
    start: tuple[str, ...]
    env: dict[str, str]


def configurations() -> dict[str, tuple[Path, dict[str, Any]]]:
    """The folder and the configuration of each peer, by name; `$BENCH_EXTRA_PEERS` names more folders."""
    extra = [Path(path).resolve() for path in os.environ.get("BENCH_EXTRA_PEERS", "").split(":") if path]
    found = {}
    for folder in (*FOLDERS, *extra):
        file = folder / "peer.json"
        if file.exists():
            config = json.loads(file.read_text())
            found[config.get("name", folder.name)] = (folder, config)
    return found


def names() -> list[str]:
    """Every peer and every variant."""
    known = configurations().items()
    return [
        n for name, (_, config) in known for n in (name, *(f"{name}:{v}" for v in config.get("variants", {})))
    ]


def load(name: str) -> Peer:
    """A peer by its name, or `name:variant`.

    Raises PeerError when there is none.
    """
    base, _, variant = name.partition(":")
    known = configurations()
    if name not in names():
        raise PeerError(f"there is no peer {name!r}; known: {', '.join(names())}")
    folder, config = known[base]
    chosen = config.get("variants", {}).get(variant, {})
    env = config.get("env", {}) | chosen.get("env", {})
    config = config | chosen

    def fill(text: str) -> str:
        return (
            text.replace("{here}", str(folder))
            .replace("{built}", str(BUILT))
            .replace("{python}", sys.executable)
        )

    return Peer(
        name,
        config["title"],
        folder,
        tuple(config.get("needs", ())),
        tuple(tuple(map(fill, command)) for command in config.get("build", ())),
        tuple(map(fill, config["start"])),
        {key: fill(value) for key, value in env.items()},
    )


def build(peer: Peer) -> float:
    """Build a peer unless it is current; returns the seconds that took.

    Raises PeerError when it can't be built.
    """
    absent = [need for need in peer.needs if not shutil.which(need)]
    if absent:
        raise PeerError(f"{peer.name} needs {', '.join(absent)} on PATH")
    BUILT.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    for command in peer.build:
        done = subprocess.run(command, cwd=peer.folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PeerError(f"{peer.name}: {' '.join(command)}: {done.stderr.strip()[-1000:]}")
    return time.monotonic() - began


class Operator:
    """A run of an operator, from its start to its end.

    Args:
        peer: what is run.
        kubeconfig: its way to the API server.
        folder: where its counters and its log go.
        audit_log: grows while it sends requests.
        concurrency: how many objects it may reconcile at once.
    """

    def __init__(self, peer: Peer, kubeconfig: Path, folder: Path, audit_log: Path, concurrency: int) -> None:
        self.counters = Counters(folder / "counters")
        self.log = folder / "operator.log"
        env = os.environ | {
            "KUBECONFIG": str(kubeconfig),
            "BENCH_COUNTERS": str(self.counters.path),
            "BENCH_CONCURRENCY": str(concurrency),
            # Compiled once, as an installed program would be, and not beside the sources.
            "PYTHONPYCACHEPREFIX": str(BUILT / "pycache"),
        }
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                peer.start,
                cwd=peer.folder,
                env=env | peer.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.pid = self._process.pid
        self.sampler = Sampler(
            self.pid, self.counters, lambda: audit_log.stat().st_size if audit_log.exists() else 0
        )
        self.sampler.start()

    def stop(self) -> dict[str, Any]:
        """End it by SIGTERM, after 20 s by SIGKILL; says how that went."""
        self.sampler.stop()
        ended = self._process.poll() is not None
        began = time.monotonic()
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        text = self.log.read_text(errors="replace")
        return {
            "died": ended,
            "status": self._process.returncode,
            "stop_s": round(time.monotonic() - began, 2),
            "log_lines": text.count("\n"),
            "log_tail": text[-1500:],
        }
