"""Shards that come, go and are killed while specs change."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any, Final

from bench.operators.audit import WRITES
from bench.shards import handovers
from bench.shards.group import Group, Shard
from bench.shards.journal import gaps
from bench.shards.moved import names
from bench.shards.plane import Plane
from bench.shards.pressure import Pressure
from bench.shards.sizes import Sizes

Result = dict[str, Any]

SHARDS: Final = 3
_FIRST_REVISION: Final = 500_000
_CALM_SECONDS: Final = 6.0


def run(plane: Plane, sizes: Sizes) -> Result:
    """A calm change, many under load, kills. The settled Widgets must be there."""
    group = Group(plane, SHARDS, "rebalance")
    try:
        group.wait_settled()
        result: Result = {"shards": SHARDS, "rate": sizes.rate, "objects": sizes.settled}
        result["written"] = _calm(group)
        revision = _FIRST_REVISION
        with _pressure(plane, sizes, revision) as pressure:
            time.sleep(_CALM_SECONDS)
        result["undisturbed"] = pressure.latencies
        before = {shard.name: _handovers(shard) for shard in group.shards}
        told: list[handovers.Counts] = []
        with _pressure(plane, sizes, revision + 10_000) as pressure:
            result["changes"] = [_change(group, told) for _ in range(sizes.rebalances)]
        told += [handovers.minus(_handovers(shard), before[shard.name]) for shard in group.shards]
        result["metrics"] = handovers.summary(told)
        result["disturbed"] = pressure.latencies
        with _pressure(plane, sizes, revision + 20_000) as pressure:
            result["kills"] = [_kill(group, number) for number in range(sizes.kills)]
        result["killed"] = pressure.latencies
        return result
    finally:
        group.stop()


def _pressure(plane: Plane, sizes: Sizes, revision: int) -> Pressure:
    return Pressure(plane, settled=sizes.settled, rate=sizes.rate, revision=revision)


def _handovers(shard: Shard) -> handovers.Counts:
    return handovers.read(shard.get("/metrics")[1])


def _calm(group: Group) -> Result:
    """One more shard, and one less, while nothing else happens: what is written, by resource."""
    requests = group.plane.requests()
    _change(group, [])
    writes: dict[str, int] = {}
    for event in requests.events():
        if event["verb"] in WRITES:
            resource = event["objectRef"]["resource"]
            writes[resource] = writes.get(resource, 0) + 1
    return writes


def _change(group: Group, told: list[handovers.Counts]) -> Result:
    """One more shard, and one less."""
    requests = group.plane.requests()
    group.look()
    seen = len(group.moves)
    began = time.time()
    fourth = group.add(names(SHARDS + 1)[-1])
    group.wait_settled()
    joined = group.moves[seen:]
    first = _first_lease(requests.events(), fourth.name)
    told.append(_handovers(fourth))
    seen = len(group.moves)
    asked = time.time()
    fourth.terminate()
    group.forget(fourth)
    group.wait_settled()
    fourth.end()
    group.look()
    left = group.moves[seen:]
    return {
        "join_gaps_s": gaps(joined),
        "join_claims_s": [it.claim for it in joined if it.gained],
        "join_s": max(it.at for it in joined) - first,
        "join_with_start_s": max(it.at for it in joined) - began,
        "leave_gaps_s": gaps(left),
        "leave_s": max(it.at for it in left) - asked,
        "drains_s": [it.drain for it in joined + left if not it.gained],
        "slots": len(gaps(joined)),
    }


def _first_lease(events: list[dict[str, Any]], user: str) -> float:
    """When the API server first got a shard's Lease, in seconds since 1970."""
    times = [
        datetime.fromisoformat(it["requestReceivedTimestamp"]).timestamp()
        for it in events
        if it["user"]["username"] == user
        and it["verb"] == "create"
        and it["objectRef"]["resource"] == "leases"
    ]
    return min(times)


def _kill(group: Group, number: int) -> Result:
    """A crash of one shard; it is back after the others have its slots."""
    victim = group.shards[number % len(group.shards)]
    group.look()
    seen = len(group.moves)
    began = time.time()
    group.kill(victim)
    group.wait_settled()
    found = gaps(group.moves[seen:])
    group.add(victim.name)
    group.wait_settled()
    return {"take_over_s": max(found), "gaps_s": found, "at": began}
