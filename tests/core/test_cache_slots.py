"""Slots of `openclaw._core.Cache` through the binding: as documented, and as a plain reference has them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw import _core
from openclaw.runtime.ownership import SLOT_LABEL
from tests.core import reference
from tests.core.events import line, page, thing

SELF = b'{"self": {}}'


def uid_of(wanted: int) -> str:
    return next(uid for number in range(100_000) if _core.slot(uid := f"{number}-9a55-0d8f") == wanted)


UIDS = {slot: uid_of(slot) for slot in range(4)}


def root(name: str, version: int, slot: int) -> dict[str, Any]:
    return thing(name, version, metadata={"uid": UIDS[slot]})


def cache(scope: Any = "roots") -> _core.Cache:
    made = _core.Cache(scope=scope)
    made.subscribe(b'{"always": {}}', SELF)
    return made


def gain(made: _core.Cache, slots: Iterable[int], version: int, *items: dict[str, Any]) -> _core.Batch:
    made.begin_gain(slots)
    made.feed_list(page(version, *items))
    return made.commit_relist()


def test_a_life_of_a_slot() -> None:
    made = cache()
    assert (made.kept, made.active) == (frozenset(), frozenset())
    batch = gain(made, [1, 2], 9, root("a", 3, 1), root("b", 4, 2), root("c", 5, 3))
    assert (batch.deltas, batch.resource_version) == ([], "9")
    assert made.kept == frozenset({1, 2})
    assert made.keys() == [("n", "a"), ("n", "b")]
    assert made.keys_in({2, 3}) == [("n", "b")]
    assert (made.slot_of("n", "b"), made.slot_of("n", "c")) == (2, None)
    assert made.start(b"\x01").deltas == [(0, "n", "a", "added", UIDS[1])]
    assert made.active == {1}
    made.feed(line("MODIFIED", root("c", 10, 3)) + line("MODIFIED", root("a", 11, 1)))
    made.stop(range(4))
    assert made.active == set()
    made.drop((1,))
    assert made.keys() == [("n", "b")]
    assert made.kept == {2}
    stats = made.stats()
    assert (stats["events_foreign"], stats["objects_foreign"], stats["gains"]) == (1, 1, 1)


def test_a_relist_of_slots_keeps_them() -> None:
    made = cache()
    made.begin_relist([1])
    made.feed_list(page(9, root("a", 3, 1)))
    made.commit_relist()
    assert made.kept == {1}
    made.begin_relist()
    made.feed_list(page(10, root("a", 3, 1), root("b", 4, 2)))
    made.commit_relist()
    assert made.keys() == [("n", "a")]


def test_what_cannot_be_used_is_named() -> None:
    with pytest.raises(ValueError, match='scope "some" is unknown; there are "everything"'):
        _core.Cache(scope="some")  # type: ignore[arg-type]
    made = cache()
    for bad in (256, -1, 1 << 70):
        with pytest.raises((ValueError, OverflowError)):
            made.drop([bad])
    with pytest.raises(TypeError):
        made.drop(["1"])  # type: ignore[list-item]
    with pytest.raises(RuntimeError, match="not kept"):
        made.start([1])
    with pytest.raises(RuntimeError, match="no list is under way"):
        made.commit_relist()
    for everything in (cache("everything"), cache(None)):
        for call in (everything.begin_gain, everything.begin_relist, everything.start, everything.stop):
            with pytest.raises(RuntimeError, match="knows no slots"):
                call([1])


OWNERS = st.lists(
    st.fixed_dictionaries(
        {"apiVersion": st.just("g/v1"), "kind": st.just("K"), "name": st.just("k")},
        optional={
            "uid": st.sampled_from(sorted(UIDS.values())),
            "controller": st.sampled_from([True, False, None]),
        },
    ),
    max_size=2,
).filter(lambda owners: sum(owner.get("controller") is True for owner in owners) < 2)
LABELS = st.sampled_from([None, {}, {SLOT_LABEL: "2"}, {"other": "1", SLOT_LABEL: "3"}, {SLOT_LABEL: "x"}])


@given(OWNERS, LABELS, st.sampled_from(sorted(UIDS.values())), st.sampled_from(["roots", "children"]))
def test_slots_agree(owners: Any, labels: Any, uid: str, scope: Any) -> None:
    body = thing("a", 1, metadata={"uid": uid, "ownerReferences": owners, "labels": labels})
    made = cache(scope)
    gain(made, range(256), 1)
    made.feed(line("ADDED", json.loads(json.dumps(body))))
    assert made.slot_of("n", "a") == reference.slot_of(scope, body)
