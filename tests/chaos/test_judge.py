"""The judge finds what must not be, in audit logs that say so."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson

from tests.chaos.judge import Verdict, judge

A, B = "chaos-shard:a.1", "chaos-shard:b.1"


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def event(user: str, at: float, resource: str, name: str, code: int = 200, **more: Any) -> dict[str, Any]:
    return {
        "user": {"username": user},
        "verb": "patch",
        "objectRef": {"resource": resource, "name": name},
        "requestReceivedTimestamp": stamp(at),
        "stageTimestamp": stamp(at + 0.1),
        "responseStatus": {"code": code},
        **more,
    }


def lease(user: str, at: float, holds: str, code: int = 200) -> dict[str, Any]:
    record = {
        "v": 1,
        "incarnation": user,
        "sequence": 1,
        "slots": 256,
        "duration": 15.0,
        "state": "active",
        "ring": "",
        "holds": holds,
        "ready": "",
        "acts": holds,
    }
    annotations = {"openclaw.dev/shard": orjson.dumps(record).decode()}
    return event(user, at, "leases", user, code, requestObject={"metadata": {"annotations": annotations}})


def write(user: str, at: float, name: str = "x", code: int = 200) -> dict[str, Any]:
    return event(user, at, "items", name, code)


def verdict(*events: dict[str, Any]) -> Verdict:
    return judge(events, {"x": 7, "y": 8}, prefix="chaos-shard:", lease_seconds=15)


def test_a_hand_over_is_no_fault() -> None:
    found = verdict(
        lease(A, 0, "7-8"), write(A, 1), lease(A, 5, "8"), lease(B, 6, "7"), write(B, 7), write(A, 8, "y")
    )
    assert (found.faults, found.writes, len(found.tenures)) == ([], 3, 3)


def test_a_take_over_of_a_void_lease_is_no_fault() -> None:
    assert verdict(lease(A, 0, "7"), write(A, 9), lease(B, 14, "7"), write(B, 16)).faults == []


def test_a_slot_that_is_claimed_again_after_a_void_lease_is_held_anew() -> None:
    found = verdict(
        lease(A, 0, "7"),
        write(A, 9),
        lease(B, 14, "7"),
        write(B, 16),
        lease(B, 17, ""),
        lease(A, 18, "7"),
        write(A, 19),
    )
    assert (found.faults, len(found.tenures)) == ([], 3)


def test_a_write_that_nobody_held_is_one() -> None:
    assert "wrote items x at 1.000 and did not hold it" in verdict(write(A, 1)).faults[0]
    assert verdict(lease(A, 0, "8"), write(A, 1)).faults
    assert verdict(lease(A, 0, "7", 409), write(A, 1)).faults
    assert verdict(lease(A, 0, "7"), lease(A, 1, ""), write(A, 2)).faults


def test_a_write_after_the_lease_is_one() -> None:
    assert verdict(lease(A, 0, "7"), write(A, 15.2)).faults
    assert verdict(lease(A, 0, "7"), lease(A, 5, "7"), write(A, 15.2)).faults == []


def test_writes_that_interleave_are_one() -> None:
    found = verdict(lease(A, 0, "7"), lease(B, 0, "7"), write(A, 1), write(B, 2), write(A, 3))
    assert len(found.faults) == 1
    assert "interleave" in found.faults[0]


def test_refused_writes_and_those_of_others_do_not_count() -> None:
    assert verdict(write(A, 1, code=409), write("admin", 1), write(A, 1, "unknown")).writes == 0
