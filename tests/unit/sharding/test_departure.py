"""Whether a pod that is stopped is made again."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw.kube.errors import Forbidden, NotFound, Unreachable
from openclaw.sharding.departure import comes_back
from tests.unit.sharding.scripted import Scripted


def statefulset(replicas: int | None, *, start: int = 0, **metadata: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"replicas": replicas}
    if start:
        spec["ordinals"] = {"start": start}
    return {"metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("pod", "answer", "expected"),
    [
        ("openclaw-0", statefulset(1), True),
        ("openclaw-1", statefulset(1), False),
        ("openclaw-0", statefulset(None), True),
        ("openclaw-0", statefulset(0), False),
        ("openclaw-5", statefulset(3, start=3), True),
        ("openclaw-6", statefulset(3, start=3), False),
        ("openclaw-2", statefulset(3, start=3), False),
        ("openclaw-0", statefulset(1, deletionTimestamp="2026-01-01T00:00:00Z"), False),
        ("openclaw-0", NotFound(404, "NotFound"), False),
        ("openclaw-0", Forbidden(403, "Forbidden"), True),
        ("openclaw-0", Unreachable("no answer"), True),
        ("openclaw-0", b"no JSON", True),
        ("openclaw-0", statefulset("many"), True),  # type: ignore[arg-type]
    ],
)
async def test_the_statefulset_is_asked(pod: str, answer: Any, expected: bool) -> None:
    transport = Scripted(answer)
    assert await comes_back(transport, "openclaw-system", pod) is expected
    assert transport.asked[0][1] == "/apis/apps/v1/namespaces/openclaw-system/statefulsets/openclaw"


@pytest.mark.parametrize("name", ["laptop", "openclaw-01", "openclaw-x"])
async def test_a_name_without_an_ordinal_does_not_come_back(name: str) -> None:
    transport = Scripted()
    assert await comes_back(transport, "default", name) is False
    assert transport.asked == []
