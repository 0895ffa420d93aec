"""Is there anything to apply? An intent against the live object, which holds it (the common case) or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from kopf._cogs.structs import diffs

from bench.conftest import Record
from bench.inprocess import contestants, corpus, objects
from bench.inprocess.sizes import OBJECTS, QUICK
from openclaw._core import diff

ROUNDS = 1 if QUICK else 15

Differs = Callable[[dict[str, Any], bytes], bool]
"""Takes an intent, and the live object as the cache has it; says whether they differ."""


def ours(intent: dict[str, Any], live: bytes) -> bool:
    return bool(diff(orjson.dumps(intent), live, objects.MANAGER))


def kopfs(intent: dict[str, Any], live: bytes) -> bool:
    return bool(diffs.diff(intent, orjson.loads(live), scope=diffs.DiffScope.LEFT))


def containment(intent: dict[str, Any], live: bytes) -> bool:
    return not _contains(intent, orjson.loads(live))


def _contains(intent: Any, live: Any) -> bool:
    if isinstance(intent, dict):
        return isinstance(live, dict) and all(_contains(v, live.get(k)) for k, v in intent.items())
    if isinstance(intent, list):
        same = isinstance(live, list) and len(intent) == len(live)
        return same and all(map(_contains, intent, live))
    return bool(intent == live)


DIFFERS: dict[str, Differs] = {"openclaw": ours, "kopf": kopfs, "containment in Python": containment}


@pytest.mark.parametrize("name", DIFFERS)
@pytest.mark.parametrize("case", ["unchanged", "one value changed"])
@pytest.mark.parametrize("kind", ["ConfigMap", "Deployment"])
def test_diff(benchmark: Any, record: Record, kind: str, case: str, name: str) -> None:
    count = max(OBJECTS // 10, 2)
    cache = contestants.Ours(kind).cache
    pairs = []
    for number in range(1, 2 * count, 2):  # the ConfigMaps that have an owner
        body = corpus.template(kind, number).object(number)
        cache.feed(b'{"type":"ADDED","object":' + body + b"}\n")
        obj = orjson.loads(body)
        live = cache.get(obj["metadata"]["namespace"], obj["metadata"]["name"])
        assert live is not None
        intent = objects.intent(kind, number)
        if case != "unchanged":
            intent["metadata"]["labels"] = {**intent["metadata"]["labels"], "openclaw.dev/slot": "x"}
        pairs.append((intent, live))
    differs = DIFFERS[name]
    record(suite="diff", case=case, kind=kind, contestant=name, operations=count, bytes=len(pairs[0][1]))
    found = benchmark.pedantic(lambda: sum(differs(*pair) for pair in pairs), rounds=ROUNDS)
    if name == "openclaw":
        assert found == (0 if case == "unchanged" else count), diff(
            orjson.dumps(pairs[0][0]), pairs[0][1], "openclaw"
        )
