"""Things outside of the cluster: what is a violation, and what is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import pytest

from openclaw.providers.marks import CREATING, IDENTITY, MARKED_FOR
from openclaw.testing.simulation.contracts import Invariant, Violation, World
from openclaw.testing.simulation.invariants.external import (
    ExternalRoots,
    MarkedBeforeMade,
    NoNeedlessCalls,
    NothingLeaks,
    OneThingEach,
    OnlyOnesOwnIsDeleted,
    SecretsStayInSecrets,
    WritesAreFenced,
)
from tests.unit.testing.simulation.invariants.worlds import (
    FINALIZER,
    OTHER_UID,
    THINGS,
    UID,
    FakeWorld,
    act,
    request,
    thing,
    write,
)

MARKED = {CREATING: "2026-01-01T00:00:00Z", IDENTITY: "db-1", MARKED_FOR: UID}
GOING = "2026-01-01T00:00:00Z"


class Outside(NamedTuple):
    identity: str
    owner: str


class OutsideWorld(FakeWorld):
    def __init__(self, *things: Outside, **facts: Any) -> None:
        super().__init__(**facts)
        self._things = things

    @property
    def external(self) -> OutsideWorld:
        return self

    def things(self) -> tuple[Outside, ...]:
        return self._things


def there(*things: Outside, **facts: Any) -> World:
    return cast("World", OutsideWorld(*things, **facts))


def keeps(obj: Mapping[str, Any]) -> bool:
    return "keep" in (obj["metadata"].get("labels") or {})


def held(**metadata: Any) -> dict[str, Any]:
    return thing(**{"finalizers": [FINALIZER], **metadata})


def roots(*objects: dict[str, Any]) -> ExternalRoots:
    made = ExternalRoots(THINGS, FINALIZER, keeps)
    before = None
    for obj in objects:
        made.on_write(there(), write(before, obj, resource=THINGS))
        before = obj
    return made


def changes(invariant: Invariant, at: World, **facts: Any) -> None:
    """A call has its effect; an ordinary change of the object's own thing unless said otherwise."""
    usual = {
        "stage": "done",
        "identity": "db-1",
        "owner": UID,
        "made": False,
        "changed": True,
        "answered": True,
        "deleted": False,
        "marked": UID,
    }
    invariant.on_external(at, "blue", "Change", {**usual, **facts})


def test_two_things_of_one_object_are_found() -> None:
    changes(OneThingEach(), there(Outside("db-1", UID), Outside("db-2", OTHER_UID)))
    with pytest.raises(Violation, match="has db-1, db-2"):
        changes(OneThingEach(), there(Outside("db-1", UID), Outside("db-2", UID)))


def test_a_thing_of_an_object_that_no_finalizer_holds_is_found() -> None:
    at = there(Outside("db-1", UID))
    changes(NothingLeaks(roots(held())), at)
    for known in (roots(thing()), roots(held(), thing()), roots()):
        with pytest.raises(Violation, match="db-1 is there"):
            changes(NothingLeaks(known), at)


def test_a_thing_that_an_object_lets_stay_is_no_leak() -> None:
    known = roots(held(labels={"keep": "1"}, deletionTimestamp=GOING))
    known.live.clear()
    changes(NothingLeaks(known), there(Outside("db-1", UID)))


def test_a_thing_is_made_only_after_its_object_says_so() -> None:
    changes(MarkedBeforeMade(roots(held(annotations=MARKED))), there(), made=True)
    for known in (
        roots(held()),
        roots(thing(annotations=MARKED)),
        roots(held(annotations={**MARKED, IDENTITY: "db-2"})),
        roots(held(annotations={**MARKED, MARKED_FOR: OTHER_UID})),
        roots(),
    ):
        with pytest.raises(Violation, match="made db-1"):
            changes(MarkedBeforeMade(known), there(), made=True)


def test_only_what_an_object_owns_that_is_going_is_deleted() -> None:
    known = roots(held(), held(deletionTimestamp=GOING))
    changes(OnlyOnesOwnIsDeleted(known), there(), deleted=True)
    changes(OnlyOnesOwnIsDeleted(known), there(), deleted=True, marked=None)
    for facts in ({"owner": ""}, {"marked": OTHER_UID}):
        with pytest.raises(Violation, match="owner mark"):
            changes(OnlyOnesOwnIsDeleted(known), there(), deleted=True, **facts)
    with pytest.raises(Violation, match="is not going"):
        changes(OnlyOnesOwnIsDeleted(roots(held())), there(), deleted=True)
    keeping = roots(held(labels={"keep": "1"}, deletionTimestamp=GOING))
    with pytest.raises(Violation, match="lets stay"):
        changes(OnlyOnesOwnIsDeleted(keeping), there(), deleted=True)


def test_what_is_sent_by_who_may_not_is_found() -> None:
    changes(WritesAreFenced(), there(acts=[act("blue", 1)]), stage="sent")
    with pytest.raises(Violation, match="its fence is down"):
        changes(WritesAreFenced(), there(acts=[act("blue", 1, fenced=False)]), stage="sent")
    with pytest.raises(Violation, match="runs nothing"):
        changes(WritesAreFenced(), there(acts=[act("green", 1)]), stage="sent")


def test_what_changes_nothing_again_and_again_is_found() -> None:
    invariant = NoNeedlessCalls(roots(held()))
    for _ in range(9):
        changes(invariant, there(), changed=False, answered=False)
    for _ in range(2):
        changes(invariant, there(), changed=False)
    with pytest.raises(Violation, match="changed nothing, 3 times"):
        changes(invariant, there(), changed=False)


def test_a_secret_in_another_body_is_found() -> None:
    invariant = SecretsStayInSecrets(["correct-horse"])
    invariant.on_request(there(), request(resource="secrets", body={"stringData": {"p": "correct-horse"}}))
    with pytest.raises(Violation, match="sends what is secret"):
        invariant.on_request(there(), request(resource=THINGS, body={"status": {"p": "correct-horse"}}))
