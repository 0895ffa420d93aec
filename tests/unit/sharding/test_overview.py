"""A group of shards as its Leases tell it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from openclaw._core import Ring, SlotSet
from openclaw.cli.owner_command import explain
from openclaw.cli.shards_command import age, as_json, render
from openclaw.sharding.leases import LeaseRecord
from openclaw.sharding.overview import Overview
from openclaw.sharding.tenure import Tenures

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RING = Ring(["claw-0", "claw-1"])


def lease(shard: str, *, ago: float = 2, status: Any = None, **record: Any) -> LeaseRecord:
    acts = str(RING.share(shard))
    content = {
        "v": 1,
        "incarnation": "x",
        "sequence": 1,
        "slots": 256,
        "duration": 15.0,
        "state": "active",
        "ring": RING.id,
        "holds": acts,
        "ready": "",
        "acts": acts,
        **record,
    }
    return LeaseRecord(
        shard=shard,
        version="1",
        holder=f"{shard}_x",
        seconds=15,
        content=orjson.dumps(content).decode(),
        status=orjson.dumps(status).decode(),
        renewed=NOW - timedelta(seconds=ago),
    )


def overview(*leases: LeaseRecord) -> Overview:
    return Overview(leases, NOW)


def test_all_is_well() -> None:
    status = {"objects": 1234, "queue": 1, "running": 2, "rate": 3.25, "tenures": []}
    told = overview(lease("claw-1", status=status), lease("claw-0"))
    assert [shard.name for shard in told.shards] == ["claw-0", "claw-1"]
    assert not told.unowned
    assert not told.contested
    assert told.dissenters == []
    lines = render(told, NOW).splitlines()
    assert lines[0] == f"RING {RING.id}  256 slots  2 shards  unowned 0  contested 0"
    assert lines[3].split() == ["claw-1", "active", "128", "1", "234", "1", "2", "3.2", "2", "s", "-"]
    assert len(lines) == 4


def test_a_silent_shard_acts_on_nothing() -> None:
    told = overview(lease("claw-0"), lease("claw-1", ago=16))
    assert told.unowned == RING.share("claw-1")
    assert told.ring.names == ["claw-0"]
    text = render(told, NOW)
    assert "unowned 128" in text
    assert "are acted on by nobody: their objects wait" in text
    assert "! claw-1 is silent: others take its slots over" in text
    assert "! claw-0 follows another ring" in text


def test_slots_that_wait_for_a_restart() -> None:
    told = overview(
        lease("claw-0"), lease("claw-1", ago=16, state="restarting", hold=90.0, acts="", holds="")
    )
    assert told.ring == RING
    slot = next(iter(RING.share("claw-1")))
    assert explain(told, slot, NOW) == (
        f"slot {slot} -> nobody yet: the ring gives it to claw-1, which has not begun; the object waits"
    )


def test_what_two_say_to_act_on_is_contested() -> None:
    told = overview(lease("claw-0"), lease("claw-1", acts="0-255"))
    assert told.contested == RING.share("claw-0")
    assert "acted on by more than one shard" in render(told, NOW)
    slot = next(iter(told.contested))
    assert explain(told, slot, NOW).startswith(f"slot {slot} -> claw-0 and claw-1")


def test_what_cannot_be_read_is_told() -> None:
    odd = LeaseRecord(shard="claw-10", version="1", holder="", seconds=0, content="{", status="{")
    told = overview(
        odd, lease("claw-9"), lease("claw-0", status={"tenures": [{"slots": "x"}], "objects": "y"})
    )
    assert [shard.name for shard in told.shards] == ["claw-0", "claw-9", "claw-10"]
    assert told.shards[2].state == "unreadable"
    assert told.shards[0].objects is None
    assert as_json(told)["shards"][2]["secondsSinceRenewal"] is None


def test_shards_that_are_there_for_different_objects() -> None:
    same = {"covers": "a.x.io in all namespaces"}
    other = {"covers": "a.x.io in namespace shop"}
    assert "is there for" not in render(
        overview(lease("claw-0", status=same), lease("claw-1", status=same)), NOW
    )
    # One that does not say, or acts no more, is no difference.
    for quiet in (lease("claw-1", status={}), lease("claw-1", status=other, ago=16)):
        assert overview(lease("claw-0", status=same), quiet).differing == {}
    told = overview(lease("claw-0", status=same), lease("claw-1", status=other))
    text = render(told, NOW)
    assert "! claw-0 is there for a.x.io in all namespaces" in text
    assert "! claw-1 is there for a.x.io in namespace shop" in text
    assert as_json(told)["shards"][1]["covers"] == "a.x.io in namespace shop"


def test_nobody_is_there() -> None:
    told = overview()
    assert len(told.unowned) == 256
    assert explain(told, 3, NOW) == "slot 3 -> nobody: no shard is live"


def test_an_owner_says_since_when_and_from_whom() -> None:
    slots = RING.share("claw-1")
    tenure = {"slots": str(slots), "since": (NOW - timedelta(minutes=12)).isoformat(), "gap": 0.34}
    slot = next(iter(slots))
    told = overview(lease("claw-0"), lease("claw-1", status={"tenures": [{**tenure, "from": "claw-2"}]}))
    assert explain(told, slot, NOW) == (
        f"slot {slot} -> claw-1, since 12m (from claw-2, begun 340 ms after it was free)"
    )
    assert "12m" in render(told, NOW)
    told = overview(lease("claw-1", status={"tenures": [tenure]}), lease("claw-3"))
    assert "(unowned before, begun" in explain(told, slot, NOW)
    moving = next(it for it in slots if told.ring.owner(it) == "claw-3")
    assert explain(told, moving, NOW).endswith(
        "; the ring gives it to claw-3, which is about to take it over"
    )


def test_tenures_survive_their_text() -> None:
    tenures = Tenures()
    tenures.saw("claw-2", SlotSet([1, 2]))
    tenures.began([1, 5], 0.25)
    tenures.began([7], 0.5)
    tenures.ceased([7])
    decoded = Tenures.decode(tenures.encode())
    assert {slot: (it.gap_seconds, it.former) for slot, it in decoded.items()} == {
        1: (0.25, "claw-2"),
        5: (0.25, ""),
    }


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (3 * 3600, "3h"),
        (11000, "3h3m"),
        (2 * 86400, "2d"),
        (273600, "3d4h"),
    ],
)
def test_ages(seconds: float, text: str) -> None:
    assert age(seconds) == text
