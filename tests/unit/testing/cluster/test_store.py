from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.testing.cluster.store import Compacted, Stale, Store, key_of

NAME = ("", "things")


def thing(value: int) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Thing", "metadata": {"uid": "u"}, "value": value}


def test_revisions_are_those_of_all_collections() -> None:
    store = Store()
    first = store.create(NAME, "a/x", thing(1))
    other = store.create(("g", "others"), "a/x", thing(1))
    again = store.update(NAME, first, thing(2))
    assert first.revision < other.revision < again.revision
    assert again.obj["metadata"]["resourceVersion"] == str(again.revision)
    assert store.delete(NAME, again).revision == store.revision


def test_a_write_on_an_old_state_is_refused() -> None:
    store = Store()
    first = store.create(NAME, "a/x", thing(1))
    second = store.update(NAME, first, thing(2))
    with pytest.raises(Stale):
        store.update(NAME, first, thing(3))
    with pytest.raises(Stale):
        store.delete(NAME, first)
    with pytest.raises(Stale):
        store.create(NAME, "a/x", thing(3))
    assert store.collection(NAME).entries["a/x"] is second


def test_keys_are_in_the_order_of_their_bytes() -> None:
    store = Store()
    for namespace in ("a-b", "a", "a.b", "b"):
        store.create(NAME, key_of(namespace, "x"), thing(1))
    found = [entry.key for entry in store.collection(NAME).scan()]
    assert found == ["a-b/x", "a.b/x", "a/x", "b/x"]
    assert [entry.key for entry in store.collection(NAME).scan("a")] == ["a/x"]


def test_what_is_compacted_is_no_longer_known() -> None:
    store = Store()
    first = store.create(NAME, "a/x", thing(1))
    second = store.update(NAME, first, thing(2))
    store.compact(second.revision)
    collection = store.collection(NAME)
    assert [entry.obj["value"] for entry in collection.at(second.revision)] == [2]
    assert collection.since(second.revision) == []
    for ask in (
        lambda: collection.at(first.revision),
        lambda: collection.since(first.revision),
        lambda: collection.get_at(first.revision, "a/x"),
    ):
        with pytest.raises(Compacted) as caught:
            ask()
        assert caught.value.oldest == second.revision


def test_the_history_is_bounded() -> None:
    store = Store(history=10)
    entry = store.create(NAME, "a/x", thing(0))
    for value in range(100):
        entry = store.update(NAME, entry, thing(value))
    collection = store.collection(NAME)
    assert 10 <= len(collection.changes) <= 20
    assert len(collection.at(entry.revision - 9)) == 1
    with pytest.raises(Compacted):
        collection.at(entry.revision - 30)


steps = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.booleans()), max_size=40)


@given(steps)
def test_any_revision_can_be_looked_at_again(steps: list[tuple[str, str, bool]]) -> None:
    store = Store()
    states: dict[int, dict[str, int]] = {store.revision: {}}
    present: dict[str, int] = {}
    for number, (namespace, name, deletes) in enumerate(steps):
        key = key_of(namespace, name)
        entry = store.collection(NAME).entries.get(key)
        if deletes and entry is not None:
            store.delete(NAME, entry)
            del present[key]
        elif entry is not None:
            store.update(NAME, entry, thing(number))
            present[key] = number
        else:
            store.create(NAME, key, thing(number))
            present[key] = number
        states[store.revision] = dict(sorted(present.items()))
    collection = store.collection(NAME)
    for revision, state in states.items():
        seen = {entry.key: entry.obj["value"] for entry in collection.at(revision)}
        assert list(seen.items()) == list(state.items())
        for key in ("a/x", "b/y"):
            entry = collection.get_at(revision, key)
            assert (entry.obj["value"] if entry else None) == state.get(key)
        namespaced = {entry.key for entry in collection.at(revision, "a")}
        assert namespaced == {key for key in state if key.startswith("a/")}
        # The changes since then lead to the present state.
        replayed = dict(state)
        for change in collection.since(revision):
            if change.type == "DELETED":
                del replayed[change.entry.key]
            else:
                replayed[change.entry.key] = change.entry.obj["value"]
        assert replayed == present
