"""A list in pages: the first one, one in which nothing changed, and one in which a hundredth did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from bench.conftest import Record
from bench.inprocess import contestants, corpus
from bench.inprocess.sizes import LISTED, QUICK

PAGE = 500
ROUNDS = 1 if QUICK else 7
VERSION = 1_000_000


def listed(changed: int = 0) -> list[bytes]:
    """The pages of a list; the first `changed` objects are newer than in other lists."""
    bodies = []
    for number in range(LISTED):
        new = number < changed
        template = corpus.template("Widget", number)
        bodies.append(template.object(VERSION + number if new else number + 1, generation=2 if new else 1))
    return list(corpus.pages("Widget", bodies, version=2 * VERSION, size=PAGE))


def ours() -> Callable[[list[bytes]], int]:
    cache = contestants.Ours("Widget").cache

    def relist(pages: list[bytes]) -> int:
        cache.begin_relist()
        for page in pages:
            cache.feed_list(page)
        return len(cache.commit_relist().deltas)

    return relist


def dicts() -> Callable[[list[bytes]], int]:
    """A new dict of objects in the place of the old one, compared by resourceVersion and generation."""
    objects: dict[contestants.Key, dict[str, Any]] = {}

    def relist(pages: list[bytes]) -> int:
        nonlocal objects
        fresh: dict[contestants.Key, dict[str, Any]] = {}
        for page in pages:
            for item in orjson.loads(page)["items"]:
                fresh[item["metadata"]["namespace"], item["metadata"]["name"]] = item
        matters = objects.keys() - fresh.keys()
        for key, item in fresh.items():
            old = objects.get(key)
            if old is None or old["metadata"]["generation"] != item["metadata"]["generation"]:
                matters.add(key)
        objects = fresh
        return len(matters)

    return relist


LISTERS = {"openclaw": ours, "orjson": dicts}


@pytest.mark.parametrize("name", LISTERS)
@pytest.mark.parametrize("case", ["first", "unchanged", "1 in 100 changed"])
def test_relist(benchmark: Any, record: Record, case: str, name: str) -> None:
    changed = LISTED // 100 if case.startswith("1 in") else 0
    before, pages = listed(), listed(changed)

    def setup() -> tuple[tuple[Any, list[bytes]], dict[str, Any]]:
        relist = LISTERS[name]()
        if case != "first":
            relist(before)
        return (relist, pages), {}

    bytes_ = sum(map(len, pages)) // LISTED
    record(suite="relist", case=case, kind="Widget", contestant=name, operations=LISTED, bytes=bytes_)
    deltas = benchmark.pedantic(lambda relist, pages: relist(pages), setup=setup, rounds=ROUNDS)
    assert deltas == (LISTED if case == "first" else changed)
