"""Reading the API server's audit log."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Literal

import orjson

AuditLevel = Literal["Metadata", "Request", "RequestResponse"]
"""How much of each request is recorded: who did what; also the request's body; also the answer's."""

_SKIPPED_STAGES: Final = ("RequestReceived",)


def policy(level: AuditLevel) -> bytes:
    """An audit policy that records every request at one level, as it ends (a watch: as it begins, too)."""
    content = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": list(_SKIPPED_STAGES),
        "rules": [{"level": level}],
    }
    return orjson.dumps(content)


def read_events(log: Path) -> list[dict[str, Any]]:
    """The events written so far, one a request: its latest stage, in the order of their first stages."""
    latest: dict[str, dict[str, Any]] = {}
    for line in _complete_lines(log):
        event: dict[str, Any] = orjson.loads(line)
        latest[event["auditID"]] = event
    return list(latest.values())


def missing_after(log: Path, offset: int, text: str) -> str | None:
    """None when `text` is in the log after `offset` bytes, else what is the matter."""
    with log.open("rb") as lines:
        lines.seek(offset)
        return None if text.encode() in lines.read() else f"{text} is not in the audit log"


def of_user(events: Iterable[dict[str, Any]], user: str) -> list[dict[str, Any]]:
    """The events of one user."""
    return [event for event in events if event["user"].get("username") == user]


def _complete_lines(log: Path) -> list[bytes]:
    if not log.exists():
        return []
    content = log.read_bytes()
    # A last line without its end is still being written.
    return content[: content.rfind(b"\n") + 1].splitlines()
