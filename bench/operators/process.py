"""What a process and its children cost, read from /proc."""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

TICK: Final = os.sysconf("SC_CLK_TCK")
_MEMORY: Final = {"VmRSS:": "rss", "RssAnon:": "anon", "VmHWM:": "peak"}


def _stat(pid: int) -> list[str] | None:
    try:
        # The command's name may hold blanks and brackets: what follows its closing bracket.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _family(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                children = (task / "children").read_text()
                found.extend(int(child) for child in children.split())
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its descendants, also of those that have ended."""
    fields = [stat for stat in map(_stat, _family(pid)) if stat]
    return sum(int(stat[i]) for stat in fields for i in (11, 12, 13, 14)) / TICK


def memory(pid: int) -> dict[str, int]:
    """Bytes, summed over the process and its descendants: `rss` now, `anon` of it, and `peak`."""
    sums = dict.fromkeys(_MEMORY.values(), 0)
    for member in _family(pid):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{member}/status").read_text().splitlines():
                key, *rest = line.split()
                if key in _MEMORY:
                    sums[_MEMORY[key]] += int(rest[0]) * 1024
    return sums


def forget_peak(pid: int) -> None:
    """Let the peak of a process begin anew."""
    for member in _family(pid):
        with contextlib.suppress(OSError):
            Path(f"/proc/{member}/clear_refs").write_text("5")


def machine_cpu() -> dict[str, float]:
    """Seconds since the machine started: `busy` of all cores, and `steal`, taken by the hypervisor."""
    fields = [int(field) / TICK for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = fields[:8]
    return {"busy": user + nice + system + irq + softirq, "steal": steal}


class Counters:
    """The file that `$BENCH_COUNTERS` names: 64-bit words, little-endian, written by the operator."""

    NAMES: Final = ("reconciles", "writes", "errors", "child_checks")
    SIZE: Final = 64

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_bytes(bytes(self.SIZE))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), self.SIZE)

    def read(self) -> dict[str, int]:
        """The counts by name."""
        return dict(zip(self.NAMES, struct.unpack_from("<4Q", self._memory), strict=True))


class Sample(NamedTuple):
    """A moment of a process."""

    at: float
    cpu: float
    reconciles: int
    activity: int


class Sampler(threading.Thread):
    """Looks at a process twenty times a second, so that one can say afterwards when it came to rest.

    Args:
        pid: the process.
        counters: its own counts.
        activity: a number that changes while it is at work in a way that its CPU time may not show.
    """

    INTERVAL: Final = 0.05

    def __init__(self, pid: int, counters: Counters, activity: Callable[[], int]) -> None:
        super().__init__(daemon=True)
        self._pid, self._counters, self._activity = pid, counters, activity
        self.began = time.monotonic()
        self.samples: list[Sample] = []
        self._halt = threading.Event()

    def now(self) -> float:
        """Seconds since it began; all moments are on this clock."""
        return time.monotonic() - self.began

    def run(self) -> None:
        while not self._halt.is_set():
            cpu, counts = cpu_seconds(self._pid), self._counters.read()
            self.samples.append(Sample(self.now(), cpu, counts["reconciles"], self._activity()))
            self._halt.wait(self.INTERVAL)

    def stop(self) -> None:
        """Look no more."""
        self._halt.set()
        self.join()

    def wait_quiet(self, *, window: float, busy: float = 0.02, timeout: float = 900.0) -> float:
        """Wait for `window` seconds of rest, from now on; returns when the rest began.

        Rest: less CPU time than `busy` of a core, and no activity.

        Raises:
            RuntimeError: the process ended.
            TimeoutError: it never came to rest.
        """
        since, deadline = self.now(), time.monotonic() + timeout
        while time.monotonic() < deadline:
            time.sleep(0.1)
            if not Path(f"/proc/{self._pid}").exists():
                raise RuntimeError("the operator exited")
            if not self.samples or self.samples[-1].at - since < window:
                continue
            last = self.samples[-1]
            start = next(s for s in reversed(self.samples) if last.at - s.at >= window)
            if last.cpu - start.cpu <= busy * window and last.activity == start.activity:
                return self._rest_began(start, last)
        raise TimeoutError(f"the operator did not come to rest within {timeout:.0f} s")

    def _rest_began(self, start: Sample, last: Sample) -> float:
        for sample in reversed(self.samples):
            if last.cpu - sample.cpu > 0.02 or sample.activity != last.activity:
                return sample.at
        return start.at

    def reconciled(self, count: int) -> float | None:
        """When the operator's own count first reached a value."""
        return next((s.at for s in self.samples if s.reconciles >= count), None)
