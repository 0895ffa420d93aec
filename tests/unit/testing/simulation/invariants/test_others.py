"""Others are left alone: what is a violation of it, and what is not."""

from collections.abc import Callable
from typing import Any

import pytest

from openclaw.testing.simulation.contracts import Violation
from openclaw.testing.simulation.invariants import OthersAreLeftAlone
from tests.unit.testing.simulation.invariants.worlds import (
    FINALIZER,
    changed,
    child,
    declared,
    status_write,
    thing,
    world,
    write,
)

Object = dict[str, Any]
Change = Callable[[Object], object]


def on(before: Object | None, after: Object | None, **facts: Any) -> None:
    OthersAreLeftAlone(declared()).on_write(world(), write(before, after, **facts))


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda it: it["data"].update(theirs="2"), ".data.theirs"),
        (lambda it: it["data"].pop("theirs"), ".data.theirs"),
        (lambda it: it.pop("data"), ".data.theirs"),
        (lambda it: it["metadata"]["labels"].pop("theirs"), ".metadata.labels.theirs"),
        (lambda it: it["metadata"].pop("labels"), ".metadata.labels.theirs"),
        (lambda it: it["metadata"].update(finalizers=[]), ".metadata.finalizers"),
        (lambda it: it["metadata"].update(annotations={}), ".metadata.annotations.note"),
        (lambda it: it["metadata"].update(ownerReferences=[]), ".metadata.ownerReferences"),
        (lambda it: it["list"].pop(), r"\.list\["),
    ],
)
def test_what_is_not_stated_is_not_changed(change: Change, path: str) -> None:
    before = {
        **child(finalizers=["people.example.com/held"], annotations={"note": "1"}),
        "list": [{"name": "a", "value": 1}, {"name": "b", "value": 2}],
    }
    with pytest.raises(Violation, match=path):
        on(before, changed(before, change))


@pytest.mark.parametrize(
    "change",
    [
        lambda it: it["data"].update(ours="2"),
        lambda it: it["data"].pop("ours"),
        lambda it: it["data"].update(new="2"),
        lambda it: it["metadata"].update(resourceVersion="10", generation=3, annotations={"new": "1"}),
    ],
)
def test_what_is_stated_or_new_may_be(change: Change) -> None:
    on(child(), changed(child(), change))


def test_a_field_that_others_had_is_taken_back_by_an_apply_only() -> None:
    before = child(ours={"f:data": {".": {}}})
    after = changed(child(), lambda it: it["data"].update(ours="2"))
    on(before, after)
    with pytest.raises(Violation, match=r"\.data\.ours"):
        on(before, changed(before, lambda it: it["data"].update(ours="2")))


def test_items_of_lists_belong_to_whoever_has_stated_them() -> None:
    ours: Object = {"f:items": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:value": {}}}}
    before = {**child(ours=ours), "items": [{"name": "a", "value": 1}, {"name": "b", "value": 2}]}
    on(before, {**before, "items": [{"name": "a", "value": 5}, {"name": "b", "value": 2}]})
    on(before, {**before, "items": [{"name": "b", "value": 2}]})
    with pytest.raises(Violation, match=r"value"):
        on(before, {**before, "items": [{"name": "a", "value": 1}, {"name": "b", "value": 5}]})
    theirs = {**before, "items": [{"name": "a", "value": 1, "theirs": 1}, {"name": "b", "value": 2}]}
    with pytest.raises(Violation, match=r"theirs"):
        on(theirs, {**before, "items": [{"name": "b", "value": 2}]})


def test_a_map_that_is_wholly_ours_may_lose_what_is_foreign_by_a_merge_patch() -> None:
    on(child(), changed(child(), lambda it: it["data"].pop("theirs")), verb="patch")
    with pytest.raises(Violation, match="labels"):
        on(child(), changed(child(), lambda it: it["metadata"]["labels"].pop("theirs")), verb="patch")


def test_what_somebody_else_has_is_not_taken_over() -> None:
    stranger = child(owner=None, ours={})
    stranger["metadata"]["managedFields"] = []
    with pytest.raises(Violation, match="never applied"):
        on(stranger, child())
    reference = {"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "o", "controller": True}
    with pytest.raises(Violation, match="controlled by somebody else"):
        on(child(ownerReferences=[reference]), child())
    with pytest.raises(Violation, match="controlled by somebody else"):
        on(child(ownerReferences=[reference]), None, verb="delete")
    with pytest.raises(Violation, match="no root"):
        on(None, child(owner=None))


def test_what_was_let_go_by_an_orphaning_deletion_may_be_adopted() -> None:
    before = child(owner=None)
    after = changed(child(), lambda it: it["metadata"]["labels"].update(theirs="1"))
    on(before, after)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda it: it.update(spec={"text": "y"}), "spec"),
        (lambda it: it["metadata"].update(labels={}), "labels"),
        (lambda it: it["metadata"].update(annotations={"note": "2"}), "annotation note"),
        (lambda it: it["metadata"].update(annotations={}), "annotation note"),
        (lambda it: it["metadata"].update(finalizers=[FINALIZER]), "finalizers of others"),
        (lambda it: it["metadata"].update(ownerReferences=[]), "ownerReferences"),
        (lambda it: it["metadata"].update(uid="another"), "another object"),
    ],
)
def test_of_a_root_nothing_is_changed_that_is_not_the_operators(change: Change, says: str) -> None:
    before = thing(
        labels={"team": "a"},
        annotations={"note": "1"},
        finalizers=["people.example.com/held"],
        ownerReferences=[{"uid": "x"}],
    )
    with pytest.raises(Violation, match=says):
        on(before, changed(before, change), verb="patch")


def test_marks_and_the_own_finalizer_may_come_and_go() -> None:
    invariant = OthersAreLeftAlone(declared())
    bare, marked = thing(finalizers=["x.y/z"]), thing(finalizers=["x.y/z", FINALIZER], annotations={"m": "1"})
    invariant.on_write(world(), write(bare, marked, verb="patch"))
    invariant.on_write(world(), write(marked, bare, verb="patch"))


def test_a_root_goes_by_its_last_finalizer_only() -> None:
    on(thing(finalizers=[FINALIZER]), None, verb="patch")
    with pytest.raises(Violation, match="deleted a root"):
        on(thing(finalizers=[FINALIZER]), None, verb="delete")
    with pytest.raises(Violation, match="deleted a root"):
        on(thing(finalizers=[FINALIZER, "x.y/z"]), None, verb="patch")
    with pytest.raises(Violation, match="made a root"):
        on(None, thing(), verb="create")


def test_conditions_of_others_stay() -> None:
    invariant = OthersAreLeftAlone(declared())
    ours, theirs = {"type": "Ready", "status": "True"}, {"type": "Audited", "status": "True"}
    both = thing(status={"conditions": [ours, theirs]})
    invariant.on_write(world(), status_write(thing(status={"conditions": [theirs]}), both))
    invariant.on_write(world(), status_write(both, thing(status={"conditions": [theirs]})))
    for lost in ([ours], [ours, {**theirs, "status": "False"}]):
        with pytest.raises(Violation, match="Audited"):
            invariant.on_write(world(), status_write(both, thing(status={"conditions": lost})))


def test_what_users_do_is_theirs() -> None:
    on(child(), None, actor="user", verb="delete")
    on(thing(), None, actor="user", verb="delete")
