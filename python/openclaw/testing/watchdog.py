"""Ends the processes recorded in a folder when their owner has died, and removes the folder.

Run as a script, `watchdog.py PID STARTED FOLDER` waits for the death of that process first. It imports
the standard library only, so that it starts in an instant and holds little memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

STATE_FILE: Final = "processes.json"
FOLDER_VARIABLE: Final = "OPENCLAW_PROCESS_FOLDER"
"""An environment variable of each child that tells its folder and owner."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A process: its pid, and its start time to tell it from another one that had or gets this pid."""

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> Identity | None:
        """The process that has this pid now; None when there is none, or only its zombie."""
        if not Path("/proc/self/stat").exists():
            answer = subprocess.run(
                ["ps", "-o", "lstart=", "-p", str(pid)],
                capture_output=True,
                text=True,
                check=False,
            )
            return cls(pid, answer.stdout.strip()) if answer.stdout.strip() else None
        try:
            # The name, in parentheses, may itself hold spaces and parentheses.
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] in "ZX" else cls(pid, fields[19])

    def alive(self) -> bool:
        """Whether that very process still runs."""
        return Identity.of(self.pid) == self

    def kill(self) -> None:
        """End that very process and, when it leads one, its group with SIGKILL."""
        if self.alive():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if os.getpgid(self.pid) == self.pid:
                    os.killpg(self.pid, signal.SIGKILL)
                else:
                    os.kill(self.pid, signal.SIGKILL)


@dataclass(slots=True)
class State:
    """What a folder's state file says."""

    owner: Identity
    keep_folder: bool
    processes: dict[str, Identity]

    @classmethod
    def read(cls, folder: Path) -> State | None:
        """The state of this folder, None when there is no (valid) state file."""
        try:
            raw = json.loads((folder / STATE_FILE).read_text())
            processes = {name: Identity(*identity) for name, identity in raw["processes"].items()}
            return cls(Identity(*raw["owner"]), raw["keep_folder"], processes)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, folder: Path) -> None:
        """Replace the state file at once, so that a reader never sees a part of it."""
        raw = {
            "owner": [self.owner.pid, self.owner.started],
            "keep_folder": self.keep_folder,
            "processes": {name: [one.pid, one.started] for name, one in self.processes.items()},
        }
        part = folder / f"{STATE_FILE}.part"
        part.write_text(json.dumps(raw))
        part.replace(folder / STATE_FILE)


def clean_up(folder: Path, state: State) -> None:
    """End the processes of this state's owner, then remove the folder (or only its state file, if it stays).

    Another owner that has taken the folder over meanwhile is left alone.
    """
    for identity in [*state.processes.values(), *_marked(marker(folder, state.owner))]:
        identity.kill()
        while identity.alive():  # It dies as soon as the kernel comes to it.
            time.sleep(0.01)
    now = State.read(folder)
    if now is None or now.owner != state.owner:
        return
    if state.keep_folder:
        (folder / STATE_FILE).unlink(missing_ok=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)


def marker(folder: Path, owner: Identity) -> str:
    """The value of `FOLDER_VARIABLE` in the environment of each child."""
    return f"{folder}:{owner.pid}:{owner.started}"


def _marked(value: str) -> list[Identity]:
    """Processes by their environment: the parent may have died between starting a child and recording it."""
    entry = f"{FOLDER_VARIABLE}={value}".encode()
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if entry in environment.read_bytes().split(b"\0"):
                found.append(Identity.of(int(environment.parent.name)))
    return [identity for identity in found if identity is not None]


def _wait_for_end(owner: Identity) -> None:
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):
            descriptor = os.pidfd_open(owner.pid)
            if owner.alive():  # Else the descriptor is of another process.
                select.select([descriptor], [], [])
            return
    while owner.alive():
        time.sleep(1)


def main() -> None:
    """Wait for the end of the owner that the arguments name, then clean up what it left."""
    owner = Identity(int(sys.argv[1]), sys.argv[2])
    folder = Path(sys.argv[3])
    _wait_for_end(owner)
    state = State.read(folder)
    if state is not None and state.owner == owner:
        clean_up(folder, state)


if __name__ == "__main__":
    main()
