"""`openclaw._core.Cache` through the binding: values, errors and threads as documented."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from openclaw import _core
from tests.core.events import line, page, thing

SELF = b'{"self": {}}'


def watched(predicate: str = '{"content": {}}') -> _core.Cache:
    cache = _core.Cache(manager="openclaw")
    assert cache.subscribe(predicate.encode(), SELF) == 0
    cache.add_index("queue", "spec.queue")
    return cache


def stored(cache: _core.Cache, name: str) -> dict[str, Any]:
    body = cache.get("n", name)
    assert body is not None
    parsed: dict[str, Any] = json.loads(body)
    return parsed


def test_a_life_of_an_object() -> None:
    cache = watched()
    batch = cache.feed(line("ADDED", thing("é", 1, spec={"queue": "a"})))
    assert batch.deltas == [(0, "n", "é", "added", "uid-é")]
    assert (batch.events, batch.resource_version, batch.error, batch.initial_events_end) == (
        1,
        "1",
        None,
        False,
    )
    assert cache.lookup("queue", "a") == [("n", "é")]
    assert cache.resource_version("n", "é") == "1"
    assert "kind" not in stored(cache, "é")

    batch = cache.feed(line("MODIFIED", thing("é", 2, spec={"queue": "b"})))
    assert batch.deltas == [(0, "n", "é", "updated", "uid-é")]
    assert (cache.lookup("queue", "a"), cache.lookup("queue", "b")) == ([], [("n", "é")])

    batch = cache.feed(line("DELETED", thing("é", 3)))
    assert batch.deltas == [(0, "n", "é", "deleted", "uid-é")]
    assert (len(cache), cache.get("n", "é"), cache.resource_version("n", "é"), cache.keys()) == (
        0,
        None,
        None,
        [],
    )


def test_an_event_that_does_not_matter_leaves_no_delta() -> None:
    cache = watched('{"any": [{"generation": {}}, {"deletion": {}}]}')
    cache.feed(line("ADDED", thing("a", 1, metadata={"generation": 1})))
    batch = cache.feed(line("MODIFIED", thing("a", 2, metadata={"generation": 1}, status={"ready": 1})))
    assert (batch.deltas, batch.events) == ([], 1)
    assert stored(cache, "a")["status"] == {"ready": 1}
    assert cache.stats()["events_dropped"] == 1


def test_only_our_managed_fields_are_kept() -> None:
    ours = {"manager": "openclaw", "operation": "Apply", "fieldsV1": {"f:spec": {}}}
    entries = [{"manager": "kubectl", "operation": "Update"}, ours, {**ours, "subresource": "status"}]
    cache = watched()
    cache.feed(line("ADDED", thing("a", 1, metadata={"managedFields": entries})))
    assert stored(cache, "a")["metadata"]["managedFields"] == [ours]
    nobody = _core.Cache()
    nobody.feed(line("ADDED", thing("a", 1, metadata={"managedFields": entries})))
    assert "managedFields" not in stored(nobody, "a")["metadata"]


def test_a_stream_is_fed_byte_by_byte() -> None:
    cache = watched()
    bytes_ = line("ADDED", thing("a", 1)) + b"broken\n" + line("ADDED", thing("b", 2))
    deltas = [delta for at in range(len(bytes_)) for delta in cache.feed(bytes_[at : at + 1]).deltas]
    assert [delta[2] for delta in deltas] == ["a", "b"]
    assert cache.stats()["events_malformed"] == 1
    cache.feed(b'{"type"')
    assert (cache.reset_stream(), cache.reset_stream()) == (7, 0)


def test_an_error_event_is_handed_on() -> None:
    status = {"kind": "Status", "code": 410, "reason": "Expired"}
    batch = watched().feed(line("ERROR", status))
    assert batch.error is not None
    assert json.loads(batch.error) == status


def test_a_relist_in_pages() -> None:
    cache = watched()
    cache.feed(line("ADDED", thing("gone", 1)) + line("ADDED", thing("same", 2)))
    cache.begin_relist()
    first = cache.feed_list(page(9, thing("same", 2), token="next", remaining=1))
    assert (first.resource_version, first.continue_token, first.remaining, first.items) == ("9", "next", 1, 1)
    last = cache.feed_list(page(9, thing("new", 8)))
    assert (last.continue_token, last.remaining) == ("", None)
    assert cache.keys() == [("n", "gone"), ("n", "same")]
    batch = cache.commit_relist()
    assert [(name, reason) for _, _, name, reason, _ in batch.deltas] == [
        ("new", "added"),
        ("gone", "deleted"),
    ]
    assert batch.resource_version == "9"
    assert cache.keys() == [("n", "new"), ("n", "same")]


def test_a_relist_in_a_stream() -> None:
    cache = watched()
    cache.begin_relist()
    assert cache.feed(line("ADDED", thing("a", 1))).deltas == []
    end = {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}
    assert cache.feed(line("BOOKMARK", {"kind": "Thing", "metadata": end})).initial_events_end
    assert [delta[2] for delta in cache.commit_relist().deltas] == ["a"]


def test_the_echo_of_our_own_write_is_no_news() -> None:
    cache = watched()
    cache.feed(line("ADDED", thing("a", 5)))
    ours = thing("a", 7, spec={"queue": "x"})
    assert cache.put(json.dumps(ours).encode())
    assert not cache.put(json.dumps(ours).encode())
    assert cache.lookup("queue", "x") == [("n", "a")]
    assert cache.feed(line("MODIFIED", ours)).deltas == []
    assert cache.stats()["events_echo"] == 1


def test_mistakes_are_named() -> None:
    cache = watched()
    with pytest.raises(ValueError, match='"generations" is unknown'):
        cache.subscribe(b'{"generations": {}}', SELF)
    with pytest.raises(ValueError, match="mapping"):
        cache.subscribe(b'{"always": {}}', b'{"parent": {}}')
    with pytest.raises(ValueError, match=r"spec\.\.x"):
        cache.add_index("bad", "spec..x")
    with pytest.raises(ValueError, match='no index named "nope"'):
        cache.lookup("nope", "x")
    with pytest.raises(ValueError, match="put"):
        cache.put(b"{}")
    with pytest.raises(RuntimeError, match="before the first object"):
        cache.add_index("late", "spec.x")
    with pytest.raises(RuntimeError, match="begin_relist"):
        cache.feed_list(page(1))
    cache.begin_relist()
    with pytest.raises(ValueError, match="list page"):
        cache.feed_list(b'{"kind": "Status"}')
    with pytest.raises(RuntimeError, match="begin_relist"):
        cache.commit_relist()
    cache.begin_relist()
    cache.feed_list(page(9, thing("a", 1), token="next"))
    with pytest.raises(RuntimeError, match="not complete"):
        cache.commit_relist()
    with pytest.raises(TypeError):
        cache.feed("text")  # type: ignore[arg-type]


def test_results_cannot_be_changed() -> None:
    batch = watched().feed(b"")
    with pytest.raises(AttributeError):
        batch.events = 3  # type: ignore[misc]


def test_the_bytes_are_those_of_what_is_there() -> None:
    cache = watched()
    empty = cache.stats()["bytes"]
    cache.feed(
        b"".join(line("ADDED", thing(f"o{at}", at + 1, spec={"queue": "q" * 100})) for at in range(500))
    )
    full = cache.stats()["bytes"]
    assert full > empty + 500 * 200
    cache.feed(b"".join(line("DELETED", thing(f"o{at}", 1000 + at)) for at in range(500)))
    # What is left is room for as many again.
    assert cache.stats()["bytes"] < full / 2
    assert cache.stats()["objects"] == 0


def test_threads_share_a_cache() -> None:
    cache = watched()
    failures: list[BaseException] = []

    def feeds(worker: int) -> None:
        try:
            for at in range(200):
                cache.put(json.dumps(thing(f"w{worker}-{at}", at + 1, spec={"queue": "q"})).encode())
        except BaseException as error:  # noqa: BLE001 (handed to the test's own thread)
            failures.append(error)

    def reads() -> None:
        try:
            for _ in range(200):
                for namespace, name in cache.lookup("queue", "q")[:20]:
                    assert cache.get(namespace, name) is not None
                cache.stats()
        except BaseException as error:  # noqa: BLE001 (handed to the test's own thread)
            failures.append(error)

    threads = [threading.Thread(target=feeds, args=(worker,)) for worker in range(3)]
    threads += [threading.Thread(target=reads) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(cache) == len(cache.lookup("queue", "q")) == 600
