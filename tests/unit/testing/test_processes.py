from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw.testing import watchdog
from openclaw.testing.errors import ControlPlaneError
from openclaw.testing.processes import Processes, remove_leftovers
from openclaw.testing.watchdog import Identity, State
from tests.unit.testing.waiting import wait_until

PARENT = """
import os, sys, time
from pathlib import Path
from openclaw.testing.processes import Processes
processes = Processes(Path(sys.argv[1]), keep_folder=sys.argv[2] == "keep")
for name in ("one", "two"):
    processes.start(name, ["sleep", "1000"], os.environ)
print(processes._watchdog.pid, processes.pid("one"), processes.pid("two"), flush=True)
time.sleep(1000)
"""


class Parent:
    """A process of its own with children in `folder`."""

    def __init__(self, folder: Path, keep: str) -> None:
        command = [sys.executable, "-c", PARENT, str(folder), keep]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        pids = [int(word) for word in self.process.stdout.readline().split()]
        identities = [Identity.of(pid) for pid in pids]
        self.watchdog, *self.children = [it for it in identities if it is not None]
        assert len(self.children) == 2

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()

    def no_child_lives(self) -> bool:
        return not any(child.alive() for child in self.children)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    it = tmp_path / "base" / "control-plane-1"
    it.mkdir(parents=True)
    return it


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


def test_children_end_and_the_folder_goes_when_the_parent_is_killed(folder: Path) -> None:
    parent = Parent(folder, "remove")
    parent.kill()
    wait_until(parent.no_child_lives)
    wait_until(lambda: not folder.exists())
    wait_until(lambda: not parent.watchdog.alive())


def test_a_folder_to_keep_outlives_the_killed_parent(folder: Path) -> None:
    parent = Parent(folder, "keep")
    parent.kill()
    wait_until(lambda: not parent.watchdog.alive())
    assert parent.no_child_lives()
    assert (folder / "one.log").exists()
    assert not (folder / watchdog.STATE_FILE).exists()


def test_what_a_killed_parent_and_watchdog_left_goes_at_the_next_start(folder: Path) -> None:
    parent = Parent(folder, "remove")
    parent.watchdog.kill()
    parent.kill()
    assert not parent.no_child_lives()
    assert remove_leftovers(folder.parent) == [folder]
    assert parent.no_child_lives()
    assert not folder.exists()


def test_a_child_that_is_not_recorded_yet_is_found_by_its_environment(folder: Path) -> None:
    parent = Parent(folder, "remove")
    parent.watchdog.kill()
    state = State.read(folder)
    assert state is not None
    state.processes.clear()
    state.write(folder)
    parent.kill()
    remove_leftovers(folder.parent)
    assert parent.no_child_lives()


def test_the_folder_of_a_living_owner_is_left_alone(folder: Path) -> None:
    parent = Parent(folder, "remove")
    try:
        assert remove_leftovers(folder.parent) == []
        assert all(child.alive() for child in parent.children)
        with pytest.raises(ControlPlaneError, match=f"in use by process {parent.process.pid}"):
            Processes(folder)
    finally:
        parent.kill()


def test_a_pid_that_was_given_to_another_process_is_left_alone(
    folder: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    gone = Identity(os.getpid(), "1")
    State(gone, keep_folder=False, processes={"etcd": Identity(sleeper.pid, "1")}).write(folder)
    assert remove_leftovers(folder.parent) == [folder]
    assert sleeper.poll() is None


def test_a_folder_that_was_taken_over_is_left_to_its_new_owner(folder: Path) -> None:
    old = State(Identity(os.getpid(), "1"), keep_folder=False, processes={})
    old.write(folder)
    processes = Processes(folder, keep_folder=True)
    try:
        processes.start("one", ["sleep", "1000"], os.environ)
        watchdog.clean_up(folder, old)
        assert processes.running("one")
        assert State.read(folder) is not None
    finally:
        processes.stop()


def test_a_new_folder_without_a_state_is_left_to_its_maker(folder: Path) -> None:
    assert remove_leftovers(folder.parent) == []
    os.utime(folder, (0, 0))
    assert remove_leftovers(folder.parent) == [folder]


def test_stop_ends_children_and_watchdog_and_may_be_called_again(folder: Path) -> None:
    processes = Processes(folder)
    processes.start("one", ["sleep", "1000"], os.environ)
    child = Identity.of(processes.pid("one"))
    assert child is not None
    processes.stop()
    processes.stop()
    assert not child.alive()
    assert processes._watchdog.poll() is not None


def test_output_goes_to_a_log_and_the_exit_status_is_known(folder: Path) -> None:
    processes = Processes(folder)
    try:
        processes.start("one", ["sh", "-c", "echo first; echo last >&2; exit 3"], os.environ)
        wait_until(lambda: not processes.running("one"))
        assert processes.exit_status("one") == 3
        assert processes.log_tail("one", 1) == "last"
        assert processes.log_tail("one") == "first\nlast"
    finally:
        processes.stop()


def test_a_child_that_ignores_sigterm_is_killed_after_its_grace(folder: Path) -> None:
    processes = Processes(folder)
    try:
        processes.start("one", ["sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done"], os.environ)
        wait_until(lambda: processes.log_tail("one") == "up")
        processes.end("one", grace=0.1)
        assert processes.names() == []
    finally:
        processes.stop()


def test_a_paused_child_ends_too(folder: Path) -> None:
    processes = Processes(folder)
    processes.start("one", ["sleep", "1000"], os.environ)
    processes.send_signal("one", signal.SIGSTOP)
    processes.stop()
    assert processes.names() == []


def test_a_command_that_can_not_be_started_is_named(folder: Path) -> None:
    processes = Processes(folder)
    try:
        with pytest.raises(ControlPlaneError, match=r"etcd could not be started \(/no/such/etcd\)"):
            processes.start("etcd", ["/no/such/etcd"], os.environ)
        with pytest.raises(ControlPlaneError, match=r"etcd is not started \(started: none\)"):
            processes.pid("etcd")
    finally:
        processes.stop()
