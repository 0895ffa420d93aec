from __future__ import annotations

import asyncio

import pytest

from openclaw.testing.rds import AWSError, ManualClock, WallClock
from openclaw.testing.rds.timeline import History, Timelines
from openclaw.testing.rds.wire import decode, encode


def test_structures_and_lists_of_a_form() -> None:
    form = [
        ("Action", "X"),
        ("Tags.Tag.2.Key", "b"),
        ("Tags.Tag.1.Key", "a"),
        ("Tags.Tag.10.Key", "c"),
        ("Filters.Filter.1.Name", "engine"),
        ("Filters.Filter.1.Values.Value.1", "mysql"),
        ("Ids.member.1", "x.y"),
        ("Empty", ""),
    ]
    assert decode(form) == {
        "Action": "X",
        "Tags": [{"Key": "a"}, {"Key": "b"}, {"Key": "c"}],
        "Filters": [{"Name": "engine", "Values": ["mysql"]}],
        "Ids": ["x.y"],
        "Empty": "",
    }


def test_what_is_text_is_escaped_and_what_is_none_left_out() -> None:
    body = encode("A", {"B": "<&>", "C": None, "D": True, "E": 1}, service="rds", request_id="1")
    assert b"<B>&lt;&amp;&gt;</B><D>true</D><E>1</E>" in body


def test_states_follow_their_times_and_what_is_foreseen_can_change() -> None:
    history: History[str] = History()
    assert history.at(5) is None
    history.plan(10, [(5, "a"), (5, "b"), (0, None)])
    assert [history.at(time) for time in (9, 10, 14.9, 15, 20)] == [None, "a", "a", "b", None]
    history.replace(12, str.upper)
    assert [history.at(time) for time in (10, 12, 15, 20)] == ["a", "A", "B", None]
    history.plan(16, [(float("inf"), "c"), (0, "never")])
    assert [history.at(time) for time in (12, 15, 16, 1e12)] == ["A", "B", "c", "c"]


def test_timelines_are_scaled_together() -> None:
    scaled = Timelines().scaled(0.5)
    assert scaled.create[0].seconds == Timelines().create[0].seconds / 2
    assert scaled.delete[0].seconds == Timelines().delete[0].seconds / 2


async def test_a_clock_turned_by_hand_wakes_those_whose_time_has_come() -> None:
    clock = ManualClock(0.0)
    woken: list[int] = []

    async def sleeper(seconds: int) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(sleeper(seconds)) for seconds in (3, 1, 2, 0)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        clock.advance(1)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert woken == [0, 1]
        clock.advance(10)
    assert woken == [0, 1, 2]
    with pytest.raises(ValueError, match="backwards"):
        clock.advance(-1)


async def test_a_wall_clock_runs_as_fast_as_asked() -> None:
    seconds = [100.0]
    clock = WallClock(60, source=lambda: seconds[0])
    began = clock.now()
    seconds[0] += 2
    assert clock.now() - began == pytest.approx(120)
    await clock.sleep(0.001)
    with pytest.raises(ValueError, match="above 0"):
        WallClock(0)


def test_a_name_that_is_a_value_and_a_structure_is_refused() -> None:
    with pytest.raises(AWSError, match="MalformedInput"):
        decode([("A", "1"), ("A.B", "2")])
    with pytest.raises(AWSError, match="MalformedInput"):
        decode([("A.B", "1"), ("A", "2")])
