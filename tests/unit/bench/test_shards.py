"""Shards: what is read from sockets, logs and metrics, what follows from it, and the report."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import orjson
import pytest

from bench import environment, readme
from bench.shards import figures, handovers, moved, report
from bench.shards.__main__ import chosen
from bench.shards.group import cpu_seconds
from bench.shards.journal import Journal, Move, acting, gaps
from bench.shards.sizes import QUICK, SINGLETON, Sizes
from bench.shards.sockets import Bytes, parse
from bench.shards.targets import targets
from openclaw._core import Ring

SS = """ESTAB 0 0 127.0.0.1:38340 127.0.0.1:6443 uid:1 ino:17 sk:2 cgroup:/ <->
\t cubic rtt:10.0/17.6 bytes_sent:411 bytes_retrans:3 bytes_acked:408 bytes_received:848 segs_out:10
ESTAB 0 0 127.0.0.1:38341 127.0.0.1:6443 ino:18 sk:3
\t cubic bytes_received:7
TIME-WAIT 0 0 127.0.0.1:38342 127.0.0.1:6443
"""


def test_bytes_of_each_socket() -> None:
    assert parse(SS) == {17: Bytes(848, 408), 18: Bytes(7, 0)}


def test_cpu_of_another_process_is_that_of_its_clock() -> None:
    before = time.process_time()
    found = cpu_seconds(os.getpid())
    assert before <= found <= time.process_time()


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_slots_that_move(count: int) -> None:
    change = moved.changes(count)
    before, after = Ring(moved.names(count)).owners, Ring(moved.names(count + 1)).owners
    assert change["added"] == sum(a != b for a, b in zip(before, after, strict=True))
    assert change["added"] >= int(change["added_ideal"])
    if count > 1:
        assert change["crashed"]["max"] >= change["removed"] >= int(change["removed_ideal"])
    else:
        assert not change["crashed"]


def test_balance() -> None:
    assert moved.balance([2, 4, 6]) == pytest.approx(1.5)
    assert moved.balance([0, 0]) == 1


def line(at: str, message: str, slots: str, **fields: Any) -> bytes:
    return (
        orjson.dumps({"time": f"2026-11-30T12:00:{at}Z", "message": message, "slots": slots, **fields})
        + b"\n"
    )


def test_a_log_tells_what_moved(tmp_path: Path) -> None:
    log = tmp_path / "log"
    journal = Journal("a", log)
    assert journal.take() == []
    gained = line("01.500", "slots gained", "0-2", claim_seconds=0.02)
    released = line("03.000", "slots released", "2", drain_seconds=0.5)
    log.write_bytes(b"warning: no JSON\n" + gained + line("02.000", "the ring changed", "0") + released[:20])
    (first,) = journal.take()
    assert (first.gained, first.slots, first.claim) == (True, frozenset({0, 1, 2}), 0.02)
    with log.open("ab") as file:
        file.write(released[20:])
    (second,) = journal.take()
    assert (second.gained, second.slots) == (False, frozenset({2}))
    # From when no more runs were begun.
    assert second.at - first.at == pytest.approx(1.0)
    assert acting([second, first]) == {"a": frozenset({0, 1})}


def test_gaps_are_of_slots_that_went_to_another() -> None:
    told = [
        Move("a", 0.0, True, frozenset({1, 2, 3})),
        Move("b", 5.25, True, frozenset({2})),
        Move("a", 5.0, False, frozenset({2, 3})),
        Move("c", 6.0, True, frozenset({3})),
    ]
    assert gaps(told) == [0.25, 1.0]


METRICS = """# HELP openclaw_handover_seconds Time
# TYPE openclaw_handover_seconds histogram
openclaw_handover_seconds_bucket{le="0.05",phase="claim"} 3.0
openclaw_handover_seconds_bucket{le="0.1",phase="claim"} 4.0
openclaw_handover_seconds_bucket{le="+Inf",phase="claim"} 4.0
openclaw_handover_seconds_count{phase="claim"} 4.0
openclaw_handover_seconds_sum{phase="claim"} 0.2
# TYPE other_seconds histogram
other_seconds_count{phase="claim"} 99.0
"""


def test_handovers_of_shards_are_added_up() -> None:
    once = handovers.read(METRICS)
    assert handovers.summary([once, once]) == {"claim": {"count": 8, "mean_s": 0.05, "p99_at_most_s": 0.1}}
    assert handovers.summary([handovers.minus(once, once)]) == {}


def measured(cpu: list[float], *, disturbed: bool = False) -> dict[str, Any]:
    shards = len(cpu)
    return {
        "cpu_s": cpu,
        "wall_s": 2.0,
        "disturbed": disturbed,
        "read_bytes": [1_000_000] * shards,
        "written_bytes": [500_000] * shards,
        "rss": [60_000_000] * shards,
        "requests": {"total": 10},
    }


def group(shards: int, cpu: float, *, filtered: bool = False, disturbed: bool = False) -> dict[str, Any]:
    """A run in which each of the four loads took so much of each shard."""
    count = max(shards, 1)
    load = [measured([cpu] * count, disturbed=disturbed)]
    loads = dict.fromkeys((*figures.WORK, "idle"), load)
    about = {"filtered": filtered, "shards": shards, "objects": [3000 // count] * count, "problems": 0}
    return about | loads | {"start": measured([1.0] * count)}


def result(*runs: dict[str, Any]) -> dict[str, Any]:
    empty = {"0": {"rss": [50_000_000]}, "1": {"rss": [55_000_000]}}
    before = {"empty": empty, "third": {"rss": [58_000_000], "objects": 1000}}
    latencies = {"p50": 5.0, "p99": 20.0, "max": 30.0, "updates": 100}
    change = {
        "join_gaps_s": [0.01, 0.02],
        "leave_gaps_s": [0.03],
        "join_s": 0.5,
        "join_with_start_s": 1.5,
        "leave_s": 0.2,
    }
    rebalance = {
        "rate": 40,
        "objects": 3000,
        "written": {"leases": 9},
        "changes": [change, change],
        "kills": [{"take_over_s": 14.0, "gaps_s": [13.0, 14.0]}],
        "metrics": handovers.summary([handovers.read(METRICS)]),
        "undisturbed": latencies,
        "disturbed": latencies,
        "killed": latencies,
    }
    return {
        "environment": environment.describe(),
        "sizes": vars_of(QUICK),
        "quick": True,
        "traffic": True,
        "moved": [moved.changes(count) for count in (1, 3)],
        "before": {"unfiltered": before, "filtered": before},
        "runs": list(runs),
        "rebalance": rebalance,
    }


def vars_of(sizes: Sizes) -> dict[str, Any]:
    return {name: getattr(sizes, name) for name in sizes.__dataclass_fields__}


def test_totals_are_held_against_the_singleton() -> None:
    found = result(group(SINGLETON, 0.3), group(3, 0.12), group(5, 0.07))
    of = figures.groups(found, filtered=False)
    assert figures.times(of, 3, figures.TOGETHER) == pytest.approx(1.2)
    assert figures.times(of, 3, "storm") == pytest.approx(1.2)
    assert figures.times(of, 8, "storm") is None
    verdicts = {it.what: it for it in targets(found)}
    assert not verdicts["CPU of 3 shards, times the singleton's, without the server's filter"].met
    work = verdicts["work per CPU second at 5 shards, without the server's filter"]
    assert work.value == pytest.approx(0.3 / 0.35)
    assert not work.met
    assert verdicts["objects written by 3 -> 4 -> 3 shards"].met
    assert not any("with the server's filter" in what for what in verdicts)


def test_an_object_written_by_a_rebalance_is_seen() -> None:
    found = result()
    found["rebalance"]["written"] = {"leases": 3, "widgets": 2}
    verdict = next(it for it in targets(found) if it.what.startswith("objects written"))
    assert (verdict.value, verdict.met) == (2, False)


def test_memory_over_empty_processes_and_from_when_on_it_suffices() -> None:
    found = result(group(SINGLETON, 0.3), group(3, 0.1))
    of = figures.groups(found, filtered=False)
    alone, three = (figures.memory(found, of[n]) for n in (SINGLETON, 3))
    assert (alone.growth, three.growth) == (10_000_000, 15_000_000)
    # 1,000 bytes an object; 57 MB besides for each process, 180 - 3 = 177 MB for three.
    assert figures.bytes_each(found, of[0]) == pytest.approx(1000)
    assert figures.enough_objects(found, of[0], of[3], 1.1) == pytest.approx(
        (177e6 - 1.1 * 57e6) / 100, abs=1
    )
    found["before"]["unfiltered"]["third"]["rss"] = [60_000_000]
    assert figures.enough_objects(found, of[0], of[3], 1.1) is None


def test_disturbed_measurements_are_left_out_where_there_are_others() -> None:
    run = group(3, 0.1)
    run["storm"] = [measured([0.1] * 3), measured([9.0] * 3, disturbed=True)]
    assert figures.cpu(run, "storm").high == pytest.approx(0.3)
    assert not figures.disturbed(run)
    run["storm"] = run["storm"][1:]
    assert figures.disturbed(run)


def test_percentiles() -> None:
    values = [float(n) for n in range(1, 101)]
    assert [figures.percentile(values, at) for at in (0.5, 0.99, 1.0)] == [50, 99, 100]
    assert figures.percentile([], 0.5) == 0


def test_report_and_readme(tmp_path: Path) -> None:
    runs = [
        group(shards, 0.3 / max(shards, 1), filtered=filtered)
        for shards in (0, 3, 5)
        for filtered in (False, True)
    ]
    runs.append({"filtered": True, "shards": 8, "what": "8 shards", "error": "TimeoutError: too late"})
    found = result(*runs)
    report.write(found, tmp_path)
    text = (tmp_path / "shards.md").read_text()
    assert "**not measured here**" in text
    assert "Failed: 8 shards: TimeoutError: too late" in text
    assert "| CPU of 3 shards, times the singleton's | 1.36 | 1.00 | 1.00 |" in text
    assert "13,500 | 0 | 0 |" in text
    ET.fromstring((tmp_path / "shards.svg").read_text())
    (tmp_path / "shards.json").write_text(json.dumps(found))
    section = readme.section(tmp_path)
    assert "| 3 shards | 1.00 | 1.00 |" in section
    assert "0 objects are written" in section


def test_a_part_of_the_groups() -> None:
    part = chosen(QUICK, (0, 3), changes=False)
    assert (part.shards, part.filtered, part.rebalances, part.kills) == ((0, 3), (0, 3), 0, 0)
    assert chosen(QUICK, None, changes=True) == QUICK
