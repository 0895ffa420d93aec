"""Shard processes of one group, or the one process of an operator that is not sharded."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import subprocess
import sys
import time
from typing import Final

from bench.operators.peer import BUILT, ROOT
from bench.operators.process import Counters, memory
from bench.shards.journal import Journal, Move, acting
from bench.shards.moved import SLOTS, names
from bench.shards.plane import SINGLE, Plane
from bench.shards.sizes import SINGLETON

_READY_SECONDS: Final = 90.0


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its threads, to the nanosecond; without those it started."""
    return time.clock_gettime((~pid << 3) | 2)


class Shard:
    """A process.

    Args:
        plane: where it runs.
        name: of the shard; that of the operator that is not sharded is `SINGLE`.
        leases: the namespace of the group's Leases.
    """

    def __init__(self, plane: Plane, name: str, leases: str) -> None:
        self.name = name
        self.port = _free_port()
        # A counter in the name: a shard that is started again has a log of its own.
        stem = f"{leases}-{name}-{time.monotonic_ns()}"
        self.counters = Counters(plane.folder / f"{stem}.counters")
        self.log = plane.folder / f"{stem}.log"
        self.journal = Journal(name, self.log)
        env = os.environ | {
            "KUBECONFIG": str(plane.kubeconfig(name)),
            "BENCH_COUNTERS": str(self.counters.path),
            "PYTHONPYCACHEPREFIX": str(BUILT / "pycache"),
        }
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, "-m", "bench.shards.shard", str(self.port)]
        if name != SINGLE:
            command += [name, leases]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.pid = self._process.pid

    def get(self, path: str) -> tuple[int, str]:
        """What it answers on its metrics address; 0 where it does not."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        with contextlib.closing(connection):
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                return answer.status, answer.read().decode()
            except OSError:
                return 0, ""

    def check(self) -> None:
        """Raise RuntimeError when the process has ended."""
        if self._process.poll() is not None:
            raise RuntimeError(f"{self.name} exited: {self.log.read_text(errors='replace')[-1500:]}")

    def terminate(self) -> None:
        """Ask it to end, and do not wait."""
        self._process.terminate()

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Wait for its end after `terminate`; after 25 s kill it."""
        try:
            self._process.wait(25)
        except subprocess.TimeoutExpired:
            self.kill()


class Group:
    """So many shards, on their way to the same objects.

    Args:
        plane: where they run.
        count: how many; `SINGLETON` for an operator that is not sharded.
        leases: a namespace for their Leases, which no other group uses.
    """

    def __init__(self, plane: Plane, count: int, leases: str) -> None:
        self.plane = plane
        self.leases = leases
        self.moves: list[Move] = []
        plane.control.create_namespace(leases)
        wanted = [SINGLE] if count == SINGLETON else names(count)
        for name in wanted:
            plane.kubeconfig(name)
        self.shards = [Shard(plane, name, leases) for name in wanted]
        self._journals = [shard.journal for shard in self.shards]

    @property
    def pids(self) -> list[int]:
        """Of all its processes."""
        return [shard.pid for shard in self.shards]

    def add(self, name: str) -> Shard:
        """Start one more."""
        shard = Shard(self.plane, name, self.leases)
        self.shards.append(shard)
        self._journals.append(shard.journal)
        return shard

    def forget(self, shard: Shard) -> None:
        """It is about to leave; what its log says still counts."""
        self.shards.remove(shard)

    def kill(self, shard: Shard) -> None:
        """End one as a crash does: it acts on nothing from now on."""
        self.look()
        held = acting(self.moves).get(shard.name, frozenset())
        self.moves.append(Move(shard.name, time.time(), gained=False, slots=held))
        shard.kill()
        self.forget(shard)

    def look(self) -> None:
        """Read the logs."""
        for journal in self._journals:
            self.moves += journal.take()

    def settled(self) -> bool:
        """Whether every slot is acted on by just one of the shards that are there, and all have some."""
        self.look()
        held = acting(self.moves)
        shares = [held.get(shard.name, frozenset()) for shard in self.shards]
        sizes = [len(share) for share in shares]
        everything = frozenset().union(*shares)
        return len(everything) == sum(sizes) == SLOTS and max(sizes) - min(sizes) <= 1

    def wait_settled(self, timeout: float = _READY_SECONDS) -> None:
        """Wait until each acts on its share.

        Raises:
            RuntimeError: a process ended.
            TimeoutError: it did not come to that in time.
        """
        deadline = time.monotonic() + timeout
        while not self._ready():
            for shard in self.shards:
                shard.check()
            if time.monotonic() > deadline:
                held = {name: len(slots) for name, slots in acting(self.moves).items()}
                raise TimeoutError(f"the shards did not settle within {timeout:.0f} s: {held}")
            time.sleep(0.05)

    def _ready(self) -> bool:
        if self.shards[0].name == SINGLE:
            return self.shards[0].get("/readyz")[0] == http.client.OK
        return self.settled()

    def stop(self) -> None:
        """End all, in order."""
        for shard in self.shards:
            shard.terminate()
        for shard in self.shards:
            shard.end()

    def memory(self) -> list[int]:
        """The resident set of each, in bytes."""
        return [memory(pid)["rss"] for pid in self.pids]

    def reconciles(self) -> list[int]:
        """Runs of each so far."""
        return [shard.counters.read()["reconciles"] for shard in self.shards]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
