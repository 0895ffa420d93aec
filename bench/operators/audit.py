"""The operator's requests, counted in the API server's audit log."""

from __future__ import annotations

import collections
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

WRITES: Final = {"create", "update", "patch", "delete", "deletecollection"}


def policy(*users: str) -> str:
    """An audit policy that records these users' requests only, so that others cost the server nothing."""
    rules = [{"level": "Metadata", "users": list(users)}, {"level": "None"}]
    content = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": rules,
    }
    return json.dumps(content)


class AuditTail:
    """Reads what was appended to an audit log since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = path.stat().st_size if path.exists() else 0

    def take(self) -> dict[str, Any]:
        """Counts by verb and resource: `total`, `writes`, `by_verb`, `failed`."""
        return counted(self.events())

    def events(self) -> list[dict[str, Any]]:
        """The events themselves."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            text = file.read()
        # A last line without its end is still being written.
        complete = text[: text.rfind(b"\n") + 1]
        self._offset += len(complete)
        return [json.loads(line) for line in complete.splitlines()]


def counted(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Requests by verb and resource: `total`, `writes`, `by_verb`, `failed`."""
    counts: collections.Counter[str] = collections.Counter()
    failed: collections.Counter[str] = collections.Counter()
    for event in events:
        # A watch counts when it begins, everything else when it is answered.
        if (event["verb"] == "watch") != (event["stage"] == "ResponseStarted"):
            continue
        ref = event.get("objectRef", {})
        resource = ref.get("resource") or event["requestURI"].split("?")[0]
        name = f"{event['verb']} {resource}" + (f"/{ref['subresource']}" if ref.get("subresource") else "")
        code = event.get("responseStatus", {}).get("code", 0)
        counts[name] += 1
        if code >= 400:
            failed[f"{name} {code}"] += 1
    writes = sum(n for name, n in counts.items() if name.split()[0] in WRITES)
    return {
        "total": sum(counts.values()),
        "writes": writes,
        "by_verb": dict(counts.most_common()),
        "failed": dict(failed),
    }
