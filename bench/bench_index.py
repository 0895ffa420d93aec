"""Looking up in an index: the keys of the objects that have a value at a field path."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from bench.conftest import Record
from bench.inprocess import contestants, corpus
from bench.inprocess.sizes import LISTED, QUICK

ROUNDS = 1 if QUICK else 20
LOOKUPS = 100

Look = Callable[[str], list[contestants.Key]]


def ours(lines: list[bytes]) -> Look:
    reader = contestants.Ours("Widget", index=("app", "metadata.labels.app"))
    reader.feed(lines)
    cache = reader.cache
    return lambda value: cache.lookup("app", value)


def dict_index(lines: list[bytes]) -> Look:
    """What informer libraries keep: a dict of sets, sorted when asked."""
    reader = contestants.Orjson("Widget")
    reader.feed(lines)
    index: defaultdict[str, set[contestants.Key]] = defaultdict(set)
    for key, obj in reader.objects.items():
        index[obj["metadata"]["labels"]["app"]].add(key)
    return lambda value: sorted(index[value])


def scan(lines: list[bytes]) -> Look:
    """What one does without an index."""
    reader = contestants.Orjson("Widget")
    reader.feed(lines)
    objects = reader.objects
    return lambda value: sorted(
        k for k, obj in objects.items() if obj["metadata"]["labels"].get("app") == value
    )


LOOKERS = {"openclaw": ours, "a dict of sets": dict_index, "a scan of dicts": scan}


@pytest.mark.parametrize("name", LOOKERS)
def test_lookup(benchmark: Any, record: Record, name: str) -> None:
    lines = [corpus.template("Widget", n).event("ADDED", n + 1) for n in range(LISTED)]
    look = LOOKERS[name](lines)
    values = [f"app-{n % 100}" for n in range(LOOKUPS)]
    record(suite="index", case="lookup", kind="Widget", contestant=name, operations=LOOKUPS, bytes=0)
    found = benchmark.pedantic(lambda: [len(look(value)) for value in values], rounds=ROUNDS)
    assert sum(found) == min(LISTED, LISTED * LOOKUPS // 100)
