"""All contestants of the benchmarks do the same work on the same bytes."""

from __future__ import annotations

import orjson
import pytest

from bench.inprocess import contestants, corpus, objects
from openclaw._core import diff

EXACT = ("openclaw", "orjson", "json", "msgspec")


def events(kind: str, verb: str, version: int, generation: int = 1) -> list[bytes]:
    return [
        corpus.template(kind, n).event(verb, version + n, generation=generation, beat=version)
        for n in range(6)
    ]


@pytest.mark.parametrize("size", [0, 100, 64 << 10])
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("kind", ["Widget", "Deployment", "Pod"])
def test_keys_to_reconcile(kind: str, name: str, size: int) -> None:
    reader = contestants.CONTESTANTS[name](kind)
    told = [
        reader.feed(corpus.chunks(lines, size))
        for lines in (
            events(kind, "ADDED", 10),
            events(kind, "MODIFIED", 20),
            events(kind, "MODIFIED", 30, generation=2),
            [corpus.bookmark(kind, 40)],
            [contestants.damaged(line) for line in events(kind, "MODIFIED", 50, generation=3)],
            events(kind, "DELETED", 60),
        )
    ]
    assert told == [6, 0, 6, 0, 0, 6]
    assert len(reader) == 0


@pytest.mark.parametrize("name", ["openclaw", "orjson", "json"])
def test_foreign_config_maps_lead_nowhere(name: str) -> None:
    reader = contestants.CONTESTANTS[name]("ConfigMap")
    assert reader.feed(events("ConfigMap", "ADDED", 10)) == 3  # every other one is a Widget's
    assert reader.feed(events("ConfigMap", "MODIFIED", 20)[::2]) == 0
    assert reader.feed(events("ConfigMap", "MODIFIED", 30)[1::2]) == 3


@pytest.mark.parametrize("kind", ["ConfigMap", "Deployment"])
def test_an_intent_is_in_its_live_object(kind: str) -> None:
    reader = contestants.Ours(kind)
    reader.feed([corpus.template(kind, 3).event("ADDED", 1)])
    ((namespace, name),) = reader.cache.keys()
    live = reader.cache.get(namespace, name)
    assert live is not None
    assert diff(orjson.dumps(objects.intent(kind, 3)), live, objects.MANAGER) == []


def test_pages_are_those_of_a_paged_list() -> None:
    bodies = [corpus.template("Widget", n).object(n + 1) for n in range(5)]
    pages = [orjson.loads(page) for page in corpus.pages("Widget", bodies, version=9, size=2)]
    assert [len(page["items"]) for page in pages] == [2, 2, 1]
    assert [page["metadata"].get("remainingItemCount") for page in pages] == [3, 1, None]
