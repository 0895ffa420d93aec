"""Which Leases are only in the way."""

from __future__ import annotations

from openclaw.sharding.leases import LeaseRecord
from openclaw.sharding.sweep import Sweep


def lease(shard: str, version: str) -> LeaseRecord:
    return LeaseRecord(shard=shard, version=version, holder=shard, seconds=15, content="")


def test_one_that_does_not_change_for_long_is_silent() -> None:
    sweep = Sweep(60)
    assert sweep.silent([lease("a", "1"), lease("b", "2")], 0) == []
    assert sweep.silent([lease("a", "1"), lease("b", "3")], 60) == []
    assert sweep.silent([lease("a", "1"), lease("b", "3")], 61) == [lease("a", "1")]
    # Counted anew for one that was gone meanwhile.
    assert sweep.silent([lease("b", "3")], 62) == []
    assert sweep.silent([lease("a", "1")], 200) == []
