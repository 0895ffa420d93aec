"""Scan, filter and cache: what a chunk of a watch costs.

A round takes `OBJECTS` events of as many objects that are known already, and each event differs from all
earlier ones, as a server's would.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from bench.conftest import Record
from bench.inprocess import contestants, corpus, objects
from bench.inprocess.contestants import Contestant
from bench.inprocess.sizes import OBJECTS, ROUNDS
from openclaw._core import slot

SOCKET = 64 << 10
SLOW = {"kubernetes-asyncio"}
"""Those that are given fewer events and rounds, or the suite would last for hours."""
KNOWN = 1_000_000
"""The resourceVersion before which every object is known."""

Lines = Callable[[int], Iterable[bytes]]
"""The events of a round, by its number, from 1."""


def irrelevant(templates: list[corpus.Template]) -> Lines:
    """Nothing that the predicate names changed; a ConfigMap that is nobody's, its annotation."""

    def lines(round_: int) -> Iterable[bytes]:
        version = KNOWN * (round_ + 1)
        return (t.event("MODIFIED", version + n, beat=round_) for n, t in enumerate(templates))

    return lines


@functools.cache
def known(kind: str, *, unowned: bool = False) -> list[corpus.Template]:
    step = 2 if unowned and kind == "ConfigMap" else 1
    return [corpus.template(kind, number * step) for number in range(OBJECTS)]


KEPT = frozenset(range(128))
"""The slots of the shard in whose place we read: half of them."""


def of_others(kind: str, count: int) -> list[corpus.Template]:
    """Objects of slots that are not kept."""
    numbers = (n for n in itertools.count() if slot(objects.uid(kind, n)) not in KEPT)
    return [corpus.template(kind, n) for n in itertools.islice(numbers, count)]


def first(templates: list[corpus.Template]) -> list[bytes]:
    return corpus.chunks((t.event("ADDED", n + 1) for n, t in enumerate(templates)), SOCKET)


def run(benchmark: Any, reader: Contestant, lines: Lines, size: int = SOCKET, rounds: int = ROUNDS) -> int:
    """Let the reader have a round's chunks, and return how many keys the last round gave."""
    numbers = iter(range(1, rounds + 2))

    def setup() -> tuple[tuple[list[bytes]], dict[str, Any]]:
        return (corpus.chunks(lines(next(numbers)), size),), {}

    keys: int = benchmark.pedantic(reader.feed, setup=setup, rounds=rounds, warmup_rounds=0)
    return keys


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in corpus.KINDS for name in contestants.made_of(kind)]
)
def test_irrelevant(benchmark: Any, record: Record, kind: str, name: str) -> None:
    reader = contestants.CONTESTANTS[name](kind)
    templates = known(kind, unowned=True)
    rounds = ROUNDS
    if name in SLOW:
        templates, rounds = templates[: max(OBJECTS // 20, 1)], min(ROUNDS, 3)
    count = len(templates)
    reader.feed(first(templates))
    lines = irrelevant(templates)
    record(
        suite="feed", case="irrelevant", kind=kind, contestant=name, operations=count, bytes=size_of(lines)
    )
    assert run(benchmark, reader, lines, rounds=rounds) == 0
    assert len(reader) == count


@pytest.mark.parametrize("name", sorted(contestants.OF_SLOTS))
def test_foreign(benchmark: Any, record: Record, name: str) -> None:
    """Roots of other shards, which an API server that does not filter sends all the same."""
    reader = contestants.OF_SLOTS[name](KEPT)
    lines = irrelevant(of_others("Widget", OBJECTS))
    record(
        suite="feed",
        case="foreign",
        kind="Widget",
        contestant=name,
        operations=OBJECTS,
        bytes=size_of(lines),
    )
    assert run(benchmark, reader, lines) == 0
    assert len(reader) == 0
    assert reader.foreign >= OBJECTS * ROUNDS


@pytest.mark.parametrize("name", ["openclaw", "orjson"])
@pytest.mark.parametrize("case", ["new", "changed", "echo", "malformed", "bookmark"])
def test_case(benchmark: Any, record: Record, case: str, name: str) -> None:
    templates = known("Widget")
    reader = contestants.CONTESTANTS[name]("Widget")
    if case != "new":
        reader.feed(first(templates))
    lines = CASES[case](templates)
    record(suite="feed", case=case, kind="Widget", contestant=name, operations=OBJECTS, bytes=size_of(lines))
    keys = run(benchmark, reader, lines)
    assert keys == (OBJECTS if case in {"new", "changed"} else 0)


@pytest.mark.parametrize("name", ["openclaw", "orjson"])
@pytest.mark.parametrize("size", [0, 16 << 10, 64 << 10, 256 << 10])
def test_chunk_size(benchmark: Any, record: Record, size: int, name: str) -> None:
    reader = contestants.CONTESTANTS[name]("Widget")
    reader.feed(first(known("Widget")))
    lines = irrelevant(known("Widget"))
    case = f"chunks of {size >> 10} KB" if size else "one event a chunk"
    record(
        suite="chunks", case=case, kind="Widget", contestant=name, operations=OBJECTS, bytes=size_of(lines)
    )
    assert run(benchmark, reader, lines, size) == 0


@pytest.mark.parametrize("indexed", [False, True])
def test_index_kept(benchmark: Any, record: Record, indexed: bool) -> None:
    index = ("image", "spec.image") if indexed else None
    reader = contestants.Ours("Widget", index=index)
    templates = known("Widget")
    reader.feed(first(templates))
    lines = CASES["changed"](templates)
    case = "spec changed, one index" if indexed else "spec changed, no index"
    record(
        suite="index",
        case=case,
        kind="Widget",
        contestant="openclaw",
        operations=OBJECTS,
        bytes=size_of(lines),
    )
    assert run(benchmark, reader, lines) == OBJECTS


def size_of(lines: Lines) -> int:
    return len(next(iter(lines(1))))


def _new(_templates: list[corpus.Template]) -> Lines:
    """Objects that nobody knows yet: other ones in each round."""

    def lines(round_: int) -> Iterable[bytes]:
        numbers = range(round_ * OBJECTS, (round_ + 1) * OBJECTS)
        return (corpus.template("Widget", number).event("ADDED", KNOWN + number) for number in numbers)

    return lines


def _changed(templates: list[corpus.Template]) -> Lines:
    def lines(round_: int) -> Iterable[bytes]:
        version = KNOWN * (round_ + 1)
        return (t.event("MODIFIED", version + n, generation=round_ + 1) for n, t in enumerate(templates))

    return lines


def _echo(templates: list[corpus.Template]) -> Lines:
    """What is known already, at the same resourceVersion: the echo of a write, or a watch begun again."""
    lines = [t.event("MODIFIED", n + 1) for n, t in enumerate(templates)]
    return lambda _round: lines


def _malformed(templates: list[corpus.Template]) -> Lines:
    lines = [contestants.damaged(t.event("MODIFIED", n + KNOWN)) for n, t in enumerate(templates)]
    return lambda _round: lines


def _bookmark(_templates: list[corpus.Template]) -> Lines:
    return lambda round_: (corpus.bookmark("Widget", KNOWN * (round_ + 1) + n) for n in range(OBJECTS))


CASES: dict[str, Callable[[list[corpus.Template]], Lines]] = {
    "new": _new,
    "changed": _changed,
    "echo": _echo,
    "malformed": _malformed,
    "bookmark": _bookmark,
}
