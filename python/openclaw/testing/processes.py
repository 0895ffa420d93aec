"""Child processes that always end: with their parent, however it ends, or else at the next start.

- `Processes.stop` ends them in the ordinary course.
- A watchdog process ends them when the parent died without doing so, even by SIGKILL.
- When the watchdog was killed too, `remove_leftovers` ends them at the next start.

The kernel's own parent-death signal is not used: it fires when the *thread* that started the child
ends, and control planes are often started from short-lived worker threads.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from openclaw.testing import watchdog
from openclaw.testing.errors import ControlPlaneError
from openclaw.testing.watchdog import FOLDER_VARIABLE, Identity, State, marker

_UNOWNED_AFTER: Final = 60.0  # seconds until a folder without a state file counts as left over
_STOP_POLL: Final = 0.002  # seconds
_TAIL_BYTES: Final = 64 * 1024


class Processes:
    """The child processes of one folder, each in a process group of its own, logging to `<name>.log`.

    With `keep_folder` the folder outlives them. Raises ControlPlaneError when another living process
    has its processes in this folder; those that a dead one left there are ended.
    """

    def __init__(self, folder: Path, *, keep_folder: bool = False) -> None:
        self.folder = folder
        owner = Identity.of(os.getpid())
        if owner is None:
            raise ControlPlaneError("this process is not in the process table")
        before = State.read(folder)
        if before is not None:
            if before.owner.alive():
                raise ControlPlaneError(
                    f"{folder} is in use by process {before.owner.pid}; stop that one first"
                )
            before.keep_folder = True
            watchdog.clean_up(folder, before)
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._state = State(owner, keep_folder, {})
        self._state.write(folder)
        script = str(Path(watchdog.__file__))
        # Out of the terminal's reach: Ctrl-C must not end it before the processes that it watches over.
        self._watchdog = subprocess.Popen(
            [sys.executable, "-I", "-S", script, str(owner.pid), owner.started, str(folder)],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def start(self, name: str, command: Sequence[str | Path], environment: Mapping[str, str]) -> None:
        """Start `command`, its output appended to the log of `name`.

        Raises ControlPlaneError when `name` runs already or the command can't be started.
        """
        if self.running(name):
            raise ControlPlaneError(f"{name} runs already")
        with self.log_file(name).open("ab") as log:
            try:
                child = subprocess.Popen(
                    [str(word) for word in command],
                    cwd=self.folder,
                    env={**environment, FOLDER_VARIABLE: marker(self.folder, self._state.owner)},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    process_group=0,
                )
            except OSError as error:
                raise ControlPlaneError(f"{name} could not be started ({command[0]}): {error}") from error
        self._children[name] = child
        identity = Identity.of(child.pid)
        if identity is not None:  # Else it has ended already; whoever waits for it will say so.
            self._state.processes[name] = identity
            self._state.write(self.folder)

    def names(self) -> list[str]:
        """The processes started and not yet stopped, in the order of their start."""
        return list(self._children)

    def running(self, name: str) -> bool:
        """Whether `name` was started and has not ended."""
        return name in self._children and self._children[name].poll() is None

    def exit_status(self, name: str) -> int | None:
        """The exit status of `name` (negative: the signal that ended it), None while it runs."""
        return self._child(name).poll()

    def pid(self, name: str) -> int:
        """The pid of `name`."""
        return self._child(name).pid

    def send_signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to `name`; does nothing when it has ended.

        SIGSTOP is waited for: it reaches the threads one by one, and the last may still answer a request.
        """
        child = self._child(name)
        child.send_signal(number)
        if number == signal.SIGSTOP:
            while child.poll() is None and not _is_stopped(child.pid):
                time.sleep(_STOP_POLL)

    def end(self, name: str, *, grace: float = 0.0) -> None:
        """End `name` and wait for it: SIGTERM, and after `grace` seconds (at once when 0) SIGKILL."""
        child = self._children.pop(name, None)
        if child is None:
            return
        if grace > 0:
            child.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(grace)
        if child.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        self._state.processes.pop(name, None)
        if self.folder.exists():
            self._state.write(self.folder)

    def stop(self) -> None:
        """End every process, the latest first, then the watchdog. May be called again."""
        for name in reversed(list(self._children)):
            self.end(name)
        self._watchdog.kill()
        self._watchdog.wait()
        (self.folder / watchdog.STATE_FILE).unlink(missing_ok=True)

    def log_file(self, name: str) -> Path:
        """Where the output of `name` goes; there may be none yet."""
        return self.folder / f"{name}.log"

    def log_tail(self, name: str, lines: int = 20) -> str:
        """The last lines of the output of `name`."""
        file = self.log_file(name)
        if not file.exists():
            return ""
        with file.open("rb") as log:
            log.seek(max(0, file.stat().st_size - _TAIL_BYTES))
            return "\n".join(log.read().decode(errors="replace").splitlines()[-lines:])

    def _child(self, name: str) -> subprocess.Popen[bytes]:
        try:
            return self._children[name]
        except KeyError:
            known = ", ".join(self._children) or "none"
            raise ControlPlaneError(f"{name} is not started (started: {known})") from None


def remove_leftovers(base: Path) -> list[Path]:
    """Clean every folder under `base` whose owner has died; returns those folders."""
    cleaned = []
    for folder in sorted(base.iterdir()) if base.exists() else []:
        state = State.read(folder)
        if state is not None:
            if not state.owner.alive():
                watchdog.clean_up(folder, state)
                cleaned.append(folder)
        # One made an instant ago may belong to a process that is about to write its state.
        elif time.time() - _changed(folder) > _UNOWNED_AFTER:
            shutil.rmtree(folder, ignore_errors=True)
            cleaned.append(folder)
    return cleaned


def _changed(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:  # Somebody else has just cleaned it.
        return time.time()


def _is_stopped(pid: int) -> bool:
    """Whether every thread of the process is stopped; True where there is no /proc to tell."""
    tasks = Path(f"/proc/{pid}/task")
    if not tasks.is_dir():
        return True
    for task in tasks.iterdir():
        with contextlib.suppress(OSError):  # a thread may end meanwhile
            if (task / "stat").read_text().rpartition(")")[2].split()[0] not in {"T", "t"}:
                return False
    return True
