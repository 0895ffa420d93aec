"""`openclaw._core.Handover` through the binding: a set of shards, each with a host that answers at once.

What the state machine decides is tested in Rust; here are values, errors and the whole way through Python.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from openclaw import _core
from openclaw._core import Handover, SlotSet

Actions = list[
    _core.WriteLease
    | _core.ListLeases
    | _core.Warm
    | _core.Cool
    | _core.Start
    | _core.Drain
    | _core.Lost
    | _core.Ended
]


@dataclass
class Shard:
    name: str
    machine: Handover
    cut_off: bool = False
    ended: list[_core.Ended] = field(default_factory=list)
    lost: list[_core.Lost] = field(default_factory=list)
    started: SlotSet = field(default_factory=SlotSet)


class Shards:
    """The Leases, the shards, and a clock of seconds."""

    def __init__(self) -> None:
        self.now = 100.0
        self.leases: dict[str, tuple[str, str]] = {}
        self.writes = 0
        self.shards: list[Shard] = []
        self._inputs: deque[tuple[Shard, Callable[[], Actions]]] = deque()

    def start(self, name: str, incarnation: str = "1") -> Shard:
        shard = Shard(name, Handover(name, incarnation))
        self.shards.append(shard)
        self.give(shard, lambda: shard.machine.tick(self.now))
        return shard

    def give(self, shard: Shard, inputs: Callable[[], Actions]) -> None:
        """Gives a shard an input, then everything that follows to whom it concerns."""
        self._inputs.append((shard, inputs))
        while self._inputs:
            one, step = self._inputs.popleft()
            if not one.ended:
                for action in step():
                    self._do(one, action)

    def _do(self, shard: Shard, action: object) -> None:
        machine, now = shard.machine, self.now
        match action:
            case _core.WriteLease() | _core.ListLeases() if shard.cut_off:
                pass
            case _core.WriteLease():
                self._write(shard, action)
            case _core.ListLeases(id):
                leases = [(name, version, record) for name, (version, record) in self.leases.items()]
                self._inputs.append((shard, lambda: machine.listed(now, id, leases)))
            case _core.Warm(ticket, slots):
                self._inputs.append((shard, lambda: machine.warmed(now, ticket, slots)))
            case _core.Drain(ticket, slots):
                self._inputs.append((shard, lambda: machine.drained(now, ticket, slots)))
            case _core.Start(slots):
                shard.started |= slots
            case _core.Lost():
                shard.lost.append(action)
            case _core.Ended():
                shard.ended.append(action)

    def _write(self, shard: Shard, write: _core.WriteLease) -> None:
        if self.leases.get(shard.name, (None,))[0] != write.resource_version:
            self._inputs.append((shard, lambda: shard.machine.write_conflict(self.now, write.id)))
            return
        self.writes += 1
        version = str(self.writes)
        self.leases[shard.name] = (version, write.record)
        self._inputs.append((shard, lambda: shard.machine.written(self.now, write.id, version)))
        for other in self.shards:
            if other is not shard and not other.cut_off:
                self._tell(other, shard.name, version, write.record)

    def _tell(self, shard: Shard, name: str, version: str, record: str) -> None:
        self._inputs.append((shard, lambda: shard.machine.observed(self.now, name, version, record)))

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end:
            self.now += 0.25
            for shard in self.shards:
                wake = shard.machine.wake
                if wake is not None and wake <= self.now:
                    self._tick(shard)

    def _tick(self, shard: Shard) -> None:
        self.give(shard, lambda: shard.machine.tick(self.now))

    def acting(self) -> dict[str, int]:
        return {shard.name: len(shard.machine.acting) for shard in self.shards if not shard.ended}


def test_shards_join_and_leave_at_once() -> None:
    shards = Shards()
    first = shards.start("openclaw-0")
    assert (shards.acting(), first.started) == ({"openclaw-0": 256}, SlotSet.all())
    shards.start("openclaw-1")
    shards.start("openclaw-2")
    assert shards.acting() == {"openclaw-0": 85, "openclaw-1": 86, "openclaw-2": 85}
    shards.give(first, lambda: first.machine.stop(shards.now))
    assert shards.acting() == {"openclaw-1": 128, "openclaw-2": 128}
    assert [ended.graceful for ended in first.ended] == [True]
    assert first.machine.wake is None
    assert _core.ShardRecord(shards.leases["openclaw-0"][1]).state == "released"


def test_a_restart_keeps_its_slots() -> None:
    shards = Shards()
    first, _ = shards.start("openclaw-0"), shards.start("openclaw-1")
    before = first.machine.acting
    shards.give(first, lambda: first.machine.stop(shards.now, hold=30.0))
    record = _core.ShardRecord(shards.leases["openclaw-0"][1])
    assert (record.state, record.hold, len(record.holds)) == ("restarting", 30.0, 0)
    shards.run(10)
    assert shards.acting() == {"openclaw-1": 128}
    successor = shards.start("openclaw-0", "2")
    assert successor.machine.acting == before


def test_a_hold_ends() -> None:
    shards = Shards()
    first, _ = shards.start("openclaw-0"), shards.start("openclaw-1")
    shards.give(first, lambda: first.machine.stop(shards.now, hold=30.0))
    shards.run(31)
    assert shards.acting() == {"openclaw-1": 256}


def test_a_shard_that_is_cut_off_stops_before_another_starts() -> None:
    shards = Shards()
    first, second = shards.start("openclaw-0"), shards.start("openclaw-1")
    slot = next(iter(first.machine.acting))
    fence = first.machine.fence
    assert fence == shards.now + 10
    assert first.machine.may_act(fence - 0.001, slot)
    assert not first.machine.may_act(fence, slot)
    assert not first.machine.may_act(shards.now, next(iter(second.machine.acting)))
    first.cut_off = True
    shards.run(10)
    assert [len(lost.slots) for lost in first.lost] == [128]
    assert (first.machine.term, first.machine.fence, len(first.machine.acting)) == (1, None, 0)
    assert shards.acting()["openclaw-1"] == 128
    shards.run(6)
    assert shards.acting()["openclaw-1"] == 256
    first.cut_off = False
    shards.run(10)
    assert shards.acting() == {"openclaw-0": 128, "openclaw-1": 128}


def test_two_processes_of_one_name() -> None:
    shards = Shards()
    first = shards.start("openclaw-0")
    second = shards.start("openclaw-0", "2")
    shards.run(10)
    assert [(ended.graceful, ended.reason) for ended in first.ended] == [
        (False, "another process took this shard's name")
    ]
    assert len(second.machine.acting) == 0
    shards.run(6)
    assert second.machine.acting == SlotSet.all()


def test_a_report() -> None:
    shards = Shards()
    first, second = shards.start("openclaw-0"), shards.start("openclaw-1")
    report = first.machine.report()
    assert (report.ring, report.unowned, report.contested, report.problems) == (
        second.machine.ring.id,
        0,
        0,
        [],
    )
    assert [(shard.name, shard.state, shard.void, shard.live) for shard in report.shards] == [
        ("openclaw-0", "active", False, True),
        ("openclaw-1", "active", False, True),
    ]
    assert {(slot.owner, *slot.holders, slot.state) for slot in report.slots} == {
        ("openclaw-0", "openclaw-0", "acting"),
        ("openclaw-1", "openclaw-1", "acting"),
    }
    text = repr(report)
    assert text == f'Report(ring="{report.ring}", shards=2, unowned=0, contested=0)'


def test_a_lease_that_is_not_understood_is_told() -> None:
    shards = Shards()
    shards.leases["stranger"] = ("1", json.dumps({"v": 99}))
    first = shards.start("openclaw-0")
    assert shards.acting() == {"openclaw-0": 0}
    assert first.machine.report().unowned == 256
    assert "shard stranger" in first.machine.report().problems[0]
    shards.run(16)
    assert shards.acting() == {"openclaw-0": 256}


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(ValueError, match="four fifths of duration"):
        Handover("a", "1", fence=14.0)
    with pytest.raises(ValueError, match="power of two"):
        Handover("a", "1", slots=100)
    with pytest.raises(ValueError, match="patience: -1 is no span"):
        Handover("a", "1", patience=-1)
    machine = Handover("a", "1")
    with pytest.raises(ValueError, match="now: NaN"):
        machine.tick(float("nan"))
    with pytest.raises(ValueError, match='resourceVersion: "x" is no number'):
        machine.observed(1.0, "b", "x", None)
    with pytest.raises(ValueError, match="incarnation: a text is wanted"):
        _core.ShardRecord(json.dumps({"v": 1, "state": "active", "slots": 256}))


def test_answers_that_nobody_waits_for_are_ignored() -> None:
    machine = Handover("a", "1")
    assert [type(action) for action in machine.tick(1.0)] == [_core.ListLeases]
    assert machine.written(1.0, 77, "5") == []
    assert machine.write_conflict(1.0, 77) == []
    assert machine.listed(1.0, 77, []) == []
    assert machine.warmed(1.0, 77, SlotSet.all()) == []
    assert machine.drained(1.0, 77, SlotSet.all()) == []
