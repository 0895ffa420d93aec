"""What a shard's Lease says of its work."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from openclaw.sharding.statustext import StatusText, Workload
from openclaw.sharding.tenure import Tenures


class Told:
    """A status text over a clock and a count that are set."""

    def __init__(self) -> None:
        self.now = 100.0
        self.reconciles = 0
        self._text = StatusText(self._workload, Tenures(), lambda: self.now, "all")

    def _workload(self) -> Workload:
        return Workload(objects=7, queue=2, running=1, reconciles=self.reconciles)

    def write(self, after: float, reconciles: int) -> dict[str, Any]:
        self.now += after
        self.reconciles += reconciles
        told: dict[str, Any] = orjson.loads(self._text.write())
        return told


def test_it_tells_of_the_work_and_what_it_is_there_for() -> None:
    told = Told().write(2.0, 0)
    assert (told["objects"], told["queue"], told["running"], told["covers"]) == (7, 2, 1, "all")


@pytest.mark.parametrize("pause", [0.0, 0.002, 0.4])
def test_a_rate_is_not_taken_over_a_moment(pause: float) -> None:
    """A Lease is written as slots change: two writes in a row once told of hundreds of runs a second."""
    told = Told()
    assert told.write(2.0, 20)["rate"] == 10.0
    assert told.write(pause, 3)["rate"] == 10.0
    # What was counted meanwhile is in the next rate.
    assert told.write(3.0 - pause, 9)["rate"] == 4.0


def test_a_rate_follows_what_is_done() -> None:
    told = Told()
    assert told.write(0.1, 5)["rate"] == 0.0
    assert told.write(0.9, 5)["rate"] == 10.0
    assert told.write(5.0, 0)["rate"] == 0.0
