"""Finalizers, children, deletion and slots: what is a violation, and what is not."""

import json
from typing import Any

import pytest

from openclaw._core import SlotSet
from openclaw.sharding.leases import SHARD_ANNOTATION
from openclaw.testing.simulation.contracts import Violation
from openclaw.testing.simulation.invariants import (
    ChildrenHaveOneOwner,
    DeletionEnds,
    EverySlotHasAnOwner,
    FinalizerFirst,
)
from tests.unit.testing.simulation.invariants.worlds import (
    FINALIZER,
    OTHER_UID,
    THINGS,
    changed,
    child,
    declared,
    thing,
    world,
    write,
)

NOW = "2026-12-01T00:00:00Z"


# Finalizers


def test_no_child_is_made_before_the_finalizer_is_on() -> None:
    invariant = FinalizerFirst(declared())
    with pytest.raises(Violation, match="lacks the finalizer"):
        invariant.on_write(world(objects={THINGS: [thing()]}), write(None, child()))
    invariant.on_write(world(objects={THINGS: [thing(finalizers=[FINALIZER])]}), write(None, child()))
    invariant.on_write(world(objects={THINGS: [thing(uid=OTHER_UID)]}), write(None, child()))
    invariant.on_write(world(), write(None, child()))


@pytest.mark.parametrize(
    ("was", "now", "says"),
    [
        ({}, {"finalizers": ["x.y/z"]}, "put on"),
        ({"deletionTimestamp": NOW}, {"deletionTimestamp": NOW, "finalizers": [FINALIZER]}, "put on"),
        ({"finalizers": ["x.y/z"]}, {}, "took off the finalizer"),
        ({"finalizers": [FINALIZER]}, {}, "nobody deletes"),
    ],
)
def test_finalizers_are_put_on_and_taken_off_in_their_time(
    was: dict[str, Any], now: dict[str, Any], says: str
) -> None:
    with pytest.raises(Violation, match=says):
        FinalizerFirst(declared()).on_write(world(), write(thing(**was), thing(**now), verb="patch"))


def test_the_own_finalizer_may_go_on_and_off() -> None:
    invariant = FinalizerFirst(declared())
    invariant.on_write(world(), write(thing(), thing(finalizers=[FINALIZER]), verb="patch"))
    going = thing(finalizers=[FINALIZER], deletionTimestamp=NOW)
    invariant.on_write(world(), write(going, None, verb="patch"))
    invariant.on_write(world(), write(thing(finalizers=["x.y/z"]), thing(), verb="patch", actor="user"))


# Children


def test_a_child_has_one_controller_and_its_slot_from_the_start() -> None:
    invariant = ChildrenHaveOneOwner(declared())
    invariant.on_write(world(), write(None, child()))
    with pytest.raises(Violation, match="controllers"):
        invariant.on_write(world(), write(None, child(owner=None)))
    twice = changed(
        child(), lambda it: it["metadata"]["ownerReferences"].append(it["metadata"]["ownerReferences"][0])
    )
    with pytest.raises(Violation, match="controllers"):
        invariant.on_write(world(), write(None, twice))
    with pytest.raises(Violation, match="slot"):
        invariant.on_write(world(), write(None, child(labels={})))


def test_a_child_whose_root_is_gone_is_left_over() -> None:
    invariant = ChildrenHaveOneOwner(declared())
    invariant.on_write(world(), write(None, child()))
    invariant.at_rest(world(objects={THINGS: [thing()], "configmaps": [child()]}))
    invariant.at_rest(world(objects={"configmaps": []}))
    invariant.at_rest(world(objects={"configmaps": [child(owner=None)]}))
    with pytest.raises(Violation, match="left over"):
        invariant.at_rest(world(objects={"configmaps": [child()]}))
    with pytest.raises(Violation, match="left over"):
        invariant.at_rest(world(objects={THINGS: [thing(uid=OTHER_UID)], "configmaps": [child()]}))


# Deletion


@pytest.mark.parametrize("held", [[], [FINALIZER], [FINALIZER, "x.y/z"]])
def test_a_root_that_does_not_go_is_found(held: list[str]) -> None:
    with pytest.raises(Violation, match="does not go"):
        DeletionEnds(declared()).at_rest(
            world(objects={THINGS: [thing(deletionTimestamp=NOW, finalizers=held)]})
        )


def test_what_others_hold_may_stay() -> None:
    held = thing(deletionTimestamp=NOW, finalizers=["x.y/z"])
    DeletionEnds(declared()).at_rest(world(objects={THINGS: [held, thing(finalizers=[FINALIZER])]}))


# Slots


def lease(shard: str, acts: SlotSet) -> dict[str, Any]:
    record = {
        "v": 1,
        "incarnation": f"{shard}_1",
        "sequence": 1,
        "slots": 256,
        "duration": 15.0,
        "state": "active",
        "ring": "r",
        "holds": str(acts),
        "ready": "",
        "acts": str(acts),
    }
    return {
        "metadata": {"name": shard, "annotations": {SHARD_ANNOTATION: json.dumps(record)}},
        "spec": {"holderIdentity": f"{shard}_1"},
    }


LOW, HIGH = SlotSet(range(128)), SlotSet(range(128, 256))


def leases(*them: dict[str, Any]) -> dict[str, Any]:
    return {"leases.coordination.k8s.io": them}


def test_every_slot_has_one_owner_among_those_that_run() -> None:
    invariant = EverySlotHasAnOwner()
    invariant.at_rest(world(objects=leases(lease("blue", LOW), lease("green", HIGH))))
    invariant.at_rest(world(objects=leases(lease("blue", LOW), lease("green", HIGH), lease("gone", LOW))))
    invariant.at_rest(world())
    with pytest.raises(Violation, match="nobody acts on"):
        invariant.at_rest(world(objects=leases(lease("blue", LOW), lease("gone", HIGH))))
    with pytest.raises(Violation, match="several owners"):
        invariant.at_rest(world(objects=leases(lease("blue", LOW | HIGH), lease("green", HIGH))))
    with pytest.raises(Violation, match="nobody acts on"):
        invariant.at_rest(world(objects=leases(lease("gone", LOW | HIGH))))
