from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from openclaw.testing import audit


def line(audit_id: str, stage: str, user: str = "eve") -> str:
    return json.dumps({"auditID": audit_id, "stage": stage, "user": {"username": user}})


def stages(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["auditID"], event["stage"]) for event in events]


def test_a_request_is_told_once_at_its_latest_stage(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    lines = [
        line("watch", "ResponseStarted"),
        line("get", "ResponseComplete"),
        line("watch", "ResponseComplete"),
    ]
    log.write_text("\n".join(lines) + "\n")
    events = audit.read_events(log)
    assert stages(events) == [("watch", "ResponseComplete"), ("get", "ResponseComplete")]


def test_a_line_that_is_still_being_written_is_left_for_later(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text(line("one", "ResponseComplete") + "\n" + line("two", "ResponseComplete")[:20])
    assert stages(audit.read_events(log)) == [("one", "ResponseComplete")]


def test_no_log_is_no_events(tmp_path: Path) -> None:
    assert audit.read_events(tmp_path / "audit.log") == []


def test_events_are_those_of_one_user(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text(f"{line('one', 'ResponseComplete')}\n{line('two', 'ResponseComplete', 'adam')}\n")
    assert stages(audit.of_user(audit.read_events(log), "adam")) == [("two", "ResponseComplete")]


def test_the_policy_records_everything_at_one_level() -> None:
    policy = json.loads(audit.policy("Request"))
    assert policy["rules"] == [{"level": "Request"}]
