"""What a group costs between two moments."""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Final, Self

from bench.operators.audit import counted
from bench.operators.process import cpu_seconds as of_component
from bench.operators.process import machine_cpu
from bench.operators.session import FOREIGN
from bench.shards.group import Group, cpu_seconds
from bench.shards.sockets import Bytes, Traffic

_LOOK_SECONDS: Final = 1.0


class Meter:
    """Measures while it is entered; `result` is there afterwards.

    Args:
        group: whose processes are measured.
        from_start: count what they have used before, too; for a start.
    """

    def __init__(self, group: Group, *, from_start: bool = False) -> None:
        self._group = group
        self._from_start = from_start
        self._traffic = Traffic(group.plane.port)
        self._halt = threading.Event()
        self._looking = threading.Thread(target=self._look, daemon=True)
        self.result: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self._requests = self._group.plane.requests()
        self._traffic.look(self._group.pids)
        none = [Bytes(0, 0)] * len(self._group.pids)
        self._bytes = none if self._from_start else [self._traffic.of(pid) for pid in self._group.pids]
        self._reconciles = [0] * len(none) if self._from_start else self._group.reconciles()
        self._looking.start()
        self._began = time.monotonic()
        self._others = self._parties()
        self._cpu = [0.0 if self._from_start else cpu_seconds(pid) for pid in self._group.pids]
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._halt.set()
        self._looking.join()
        if kind is None:
            self._read()

    def _read(self) -> None:
        group = self._group
        cpu = [cpu_seconds(pid) - before for pid, before in zip(group.pids, self._cpu, strict=True)]
        wall = time.monotonic() - self._began
        others = {name: now - self._others[name] for name, now in self._parties().items()}
        foreign = others["busy"] - sum(cpu) - sum(others[it] for it in ("apiserver", "etcd", "harness"))
        self._traffic.look(group.pids)
        now = [self._traffic.of(pid) for pid in group.pids]
        events = self._requests.events()
        reconciles = [b - a for a, b in zip(self._reconciles, group.reconciles(), strict=True)]
        by_user = {
            shard.name: counted(it for it in events if it["user"]["username"] == shard.name)["total"]
            for shard in group.shards
        }
        self.result = {
            "wall_s": round(wall, 3),
            "cpu_s": [round(seconds, 4) for seconds in cpu],
            "apiserver_cpu_s": round(others["apiserver"], 3),
            "foreign_cores": round(foreign / wall, 3),
            "stolen_cores": round(others["steal"] / wall, 3),
            "disturbed": foreign > FOREIGN * wall,
            "read_bytes": [b.read - a.read for a, b in zip(self._bytes, now, strict=True)],
            "written_bytes": [b.written - a.written for a, b in zip(self._bytes, now, strict=True)],
            "reconciles": reconciles,
            "rss": group.memory(),
            "requests": counted(events) | {"by_shard": by_user},
        }

    def _look(self) -> None:
        # Connections that end are counted as of the last look.
        while not self._halt.wait(_LOOK_SECONDS):
            self._traffic.look(self._group.pids)

    def _parties(self) -> dict[str, float]:
        plane, children = self._group.plane, os.times()
        return {
            "apiserver": of_component(plane.pid("kube-apiserver")),
            "etcd": of_component(plane.pid("etcd")),
            # With the load driver, which has ended by now.
            "harness": time.process_time() + children.children_user + children.children_system,
            **machine_cpu(),
        }
