"""Queues and caches: what is a violation, and what is not."""

from types import SimpleNamespace
from typing import Any

import pytest

from openclaw._core import SlotSet
from openclaw.api.builtin import ConfigMap
from openclaw.testing.simulation.contracts import Violation
from openclaw.testing.simulation.invariants import NothingGrows
from tests.unit.testing.simulation.invariants.worlds import (
    SLOT,
    THINGS,
    FakeWorld,
    Thing,
    child,
    declared,
    thing,
    write,
)


class Sized(SimpleNamespace):
    """Something that has a length and facts."""

    size: int

    def __len__(self) -> int:
        return self.size


def informer(kind: type[Any], scope: str, size: int) -> Any:
    return SimpleNamespace(kind=kind.resource, scope=scope, cache=Sized(size=size))


def manager(*informers: Any, queued: int = 0, delayed: int = 0, acting: SlotSet | None = None) -> Any:
    controller = SimpleNamespace(name="things", queue=Sized(size=queued, delayed=delayed))
    membership = None if acting is None else SimpleNamespace(acting=acting)
    return SimpleNamespace(controllers=[controller], informers=informers, membership=membership)


def world(the_manager: Any) -> Any:
    it = FakeWorld(objects={THINGS: [thing()], "configmaps": [child(), child(owner=None)]})
    it.processes = [  # type: ignore[attr-defined]
        SimpleNamespace(name="blue", manager=the_manager),
        SimpleNamespace(name="green", manager=None),
    ]
    return it


def test_a_queue_holds_no_more_keys_than_there_were_roots() -> None:
    invariant = NothingGrows(declared())
    invariant.on_write(world(manager()), write(None, thing(), actor="user"))
    it = world(manager(queued=1))
    invariant.on_turn(it)
    it = world(manager(queued=1, delayed=1))
    invariant.on_turn(it)  # it has just been looked at
    it.at += 10
    with pytest.raises(Violation, match="1 keys queued, 1 delayed, of 1 roots"):
        invariant.on_turn(it)


OURS, NOT_OURS = SlotSet([SLOT]), SlotSet.all() - SlotSet([SLOT])


@pytest.mark.parametrize(
    ("kind", "scope", "acting", "right"),
    [
        (Thing, "everything", None, 1),
        (Thing, "roots", OURS, 1),
        (Thing, "roots", NOT_OURS, 0),
        (ConfigMap, "everything", OURS, 2),
        (ConfigMap, "children", OURS, 1),
        (ConfigMap, "children", NOT_OURS, 0),
    ],
)
def test_at_rest_a_cache_holds_what_is_the_shards(
    kind: type[Any], scope: str, acting: SlotSet | None, right: int
) -> None:
    invariant = NothingGrows(declared())
    invariant.at_rest(world(manager(informer(kind, scope, right), acting=acting)))
    for wrong in {0, right + 1, right + 2} - {right}:
        with pytest.raises(Violation, match="the cluster has"):
            invariant.at_rest(world(manager(informer(kind, scope, wrong), acting=acting)))


def test_a_world_that_cannot_be_looked_into_is_not() -> None:
    NothingGrows(declared()).at_rest(FakeWorld())  # type: ignore[arg-type]
