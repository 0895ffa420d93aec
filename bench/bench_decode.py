"""What a reconcile pays to see an object: out of the cache, as dicts or as a typed object."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from bench.conftest import Record
from bench.inprocess import contestants, corpus, objects
from bench.inprocess.sizes import OBJECTS, QUICK
from bench.widget.widget import Widget

ROUNDS = 1 if QUICK else 15

Reader = Callable[[contestants.Key], Any]


def as_dict(lines: list[bytes]) -> Reader:
    cache = _cache(lines)
    return lambda key: orjson.loads(cache.get(*key) or b"")


def as_widget(lines: list[bytes]) -> Reader:
    cache = _cache(lines)
    return lambda key: Widget.from_json(cache.get(*key) or b"")


def stored(lines: list[bytes]) -> Reader:
    cache = _cache(lines)
    return lambda key: cache.get(*key)


def copied(lines: list[bytes]) -> Reader:
    """What a cache of dicts must hand out, if its reader may change what it gets."""
    reader = contestants.Orjson("Widget")
    reader.feed(lines)
    objects = reader.objects
    return lambda key: copy.deepcopy(objects[key])


def validated(lines: list[bytes]) -> Reader:
    reader = contestants.Orjson("Widget")
    reader.feed(lines)
    objects = reader.objects
    return lambda key: Widget.model_validate(objects[key])


def _cache(lines: list[bytes]) -> Any:
    reader = contestants.Ours("Widget")
    reader.feed(lines)
    return reader.cache


READERS: dict[str, tuple[str, Callable[[list[bytes]], Reader]]] = {
    "openclaw": ("stored bytes", stored),
    "openclaw, orjson": ("a dict", as_dict),
    "dicts, copied": ("a dict", copied),
    "openclaw, typed": ("a typed object", as_widget),
    "dicts, pydantic": ("a typed object", validated),
}


@pytest.mark.parametrize("name", READERS)
def test_read(benchmark: Any, record: Record, name: str) -> None:
    count = max(OBJECTS // 4, 2)
    lines = [corpus.template("Widget", n).event("ADDED", n + 1) for n in range(count)]
    case, make = READERS[name]
    read = make(lines)
    keys = [(objects.namespace(n), f"w-{n:06d}") for n in range(count)]
    record(suite="decode", case=case, kind="Widget", contestant=name, operations=count, bytes=len(lines[0]))
    got = benchmark.pedantic(lambda: [read(key) for key in keys], rounds=ROUNDS)
    assert all(got)
