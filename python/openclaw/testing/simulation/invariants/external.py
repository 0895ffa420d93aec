"""What has to hold of things outside of the cluster that objects are for, whatever system they are in.

The system outside tells of each call that changes something by `report(actor, operation, facts)`, with

| fact | meaning |
|---|---|
| `stage` | `sent` when a process sends it; `done` when it has had its effect |
| `identity` | the thing's name in the system |
| `owner` | the uid of the object that the thing was made or taken over for; empty where it was not |
| `made` | done: the thing was not there before |
| `deleted` | done: the call has the thing deleted |
| `changed` | done: the thing is another than before |
| `answered` | done: the answer to the last change of the thing before this one was given |
| `marked` | done: the uid in the thing's owner mark before the call; None without a mark |

and it knows its `things()`: what the operator has made or taken over and is there now, each with `identity`
and `owner`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

import orjson

from openclaw.providers.marks import CREATED, CREATING, IDENTITY, MARKED_FOR
from openclaw.testing.simulation.contracts import Invariant, Request, Violation, World, Write

__all__ = [
    "ExternalRoots",
    "MarkedBeforeMade",
    "NoNeedlessCalls",
    "NothingLeaks",
    "OneThingEach",
    "OnlyOnesOwnIsDeleted",
    "SecretsStayInSecrets",
    "WritesAreFenced",
    "external_invariants",
]

Object = dict[str, Any]
Facts = Mapping[str, Any]
_MOST_NEEDLESS: Final = 3


class _Thing(Protocol):
    @property
    def identity(self) -> str: ...
    @property
    def owner(self) -> str: ...


class _Things(Protocol):
    def things(self) -> Iterable[_Thing]: ...


class ExternalRoots(Invariant):
    """Knows the roots by uid, as they are now and as they went; to be asked by the other invariants.

    Args:
        resource: the root kind, as `plural.group`.
        finalizer: the operator's.
        keeps: whether an object, as it is, lets its thing stay when it goes.
    """

    name = "external-roots"

    def __init__(self, resource: str, finalizer: str, keeps: Callable[[Object], bool]) -> None:
        self.live: dict[str, Object] = {}
        self._resource = resource
        self._finalizer = finalizer
        self._keeps = keeps
        self._kept: set[str] = set()
        self._condemned: set[str] = set()

    def on_write(self, world: World, write: Write) -> None:  # noqa: ARG002 - the contract
        """Follow the roots."""
        if write.resource != self._resource:
            return
        for obj in (write.before, write.after):
            if obj is None:
                continue
            uid = obj["metadata"]["uid"]
            if "deletionTimestamp" in obj["metadata"] or write.after is None:
                (self._kept if self._keeps(obj) else self._condemned).add(uid)
        if write.after is not None:
            self.live[write.after["metadata"]["uid"]] = write.after
        elif write.before is not None:
            self.live.pop(write.before["metadata"]["uid"], None)

    def holds(self, uid: str) -> bool:
        """Whether the root is there with the operator's finalizer."""
        obj = self.live.get(uid)
        return obj is not None and self._finalizer in (obj["metadata"].get("finalizers") or ())

    def may_be_left(self, uid: str) -> bool:
        """Whether the object was, at some time of its deletion, one that lets its thing stay."""
        return uid in self._kept

    def may_be_deleted(self, uid: str) -> bool:
        """Whether the object was, at some time of its deletion, one that has its thing deleted."""
        return uid in self._condemned


class _OfRoots(Invariant):
    def __init__(self, roots: ExternalRoots) -> None:
        self._roots = roots


class OneThingEach(Invariant):
    """There is never more than one thing outside for one object."""

    name: Final = "one-thing-each"

    def on_external(self, world: World, actor: str, operation: str, facts: Facts) -> None:
        """After each change outside."""
        if facts["stage"] != "done":
            return
        things: _Things = world.external
        counts = Counter(it.owner for it in things.things())
        for owner, count in counts.items():
            if count > 1:
                names = sorted(it.identity for it in things.things() if it.owner == owner)
                raise Violation(self.name, f"{actor} {operation}: the object {owner} has {', '.join(names)}")


class NothingLeaks(_OfRoots):
    """At each moment each thing outside is some object's that the operator's finalizer holds.

    But for what an object let stay when it went.
    """

    name: Final = "nothing-leaks"

    def on_external(self, world: World, actor: str, operation: str, facts: Facts) -> None:  # noqa: ARG002
        """After each change outside."""
        if facts["stage"] == "done":
            self._look(world)

    def on_write(self, world: World, write: Write) -> None:  # noqa: ARG002 - the contract
        """After each change of an object."""
        self._look(world)

    def _look(self, world: World) -> None:
        things: _Things = world.external
        for thing in things.things():
            if not self._roots.holds(thing.owner) and not self._roots.may_be_left(thing.owner):
                raise Violation(
                    self.name,
                    f"{thing.identity} is there, and the object {thing.owner} that it was made for is gone "
                    "or not held by the operator's finalizer",
                )


class MarkedBeforeMade(_OfRoots):
    """When a thing is made, its object says already that it is being made, and is held by the finalizer."""

    name: Final = "marked-before-made"

    def on_external(self, world: World, actor: str, operation: str, facts: Facts) -> None:  # noqa: ARG002
        """After each change outside."""
        if facts["stage"] != "done" or not facts["made"]:
            return
        uid, identity = facts["owner"], facts["identity"]
        obj = self._roots.live.get(uid)
        if obj is None or not self._roots.holds(uid):
            raise Violation(self.name, f"{actor} made {identity} for {uid}, which no finalizer holds")
        marks = obj["metadata"].get("annotations") or {}
        # A mark of success is there where the answer to an earlier create, not to this one, said so.
        if marks.get(MARKED_FOR) != uid or not (marks.get(CREATING) or marks.get(CREATED)):
            raise Violation(self.name, f"{actor} made {identity}; its object has no mark of it: {marks}")
        if marks.get(IDENTITY) != identity:
            raise Violation(self.name, f"{actor} made {identity}; its object is marked for another: {marks}")


class OnlyOnesOwnIsDeleted(_OfRoots):
    """Only what an object that is going owns is deleted, and not where the object lets it stay."""

    name: Final = "only-ones-own-is-deleted"

    def on_external(self, world: World, actor: str, operation: str, facts: Facts) -> None:  # noqa: ARG002
        """After each change outside."""
        if facts["stage"] != "done" or not facts["deleted"]:
            return
        owner, identity, marked = facts["owner"], facts["identity"], facts["marked"]
        if not owner or marked not in (None, owner):
            raise Violation(self.name, f"{actor} had {identity} deleted, whose owner mark is {marked}")
        obj = self._roots.live.get(owner)
        if obj is None or "deletionTimestamp" not in obj["metadata"]:
            raise Violation(self.name, f"{actor} had {identity} deleted; the object {owner} is not going")
        if not self._roots.may_be_deleted(owner):
            raise Violation(self.name, f"{actor} had {identity} deleted, which its object lets stay")


class WritesAreFenced(Invariant):
    """What changes something outside is sent only by a shard that may act for the object then."""

    name: Final = "external-writes-are-fenced"

    def on_external(self, world: World, actor: str, operation: str, facts: Facts) -> None:
        """When a call is sent."""
        if facts["stage"] != "sent" or not actor or not world.shards:
            return
        acts = [it for it in world.acts() if it.shard == actor]
        if facts["owner"]:
            acts = [it for it in acts if it.uid == facts["owner"]]
        if not any(it.fenced for it in acts):
            why = "its fence is down" if acts else "it runs nothing for the object"
            raise Violation(self.name, f"{actor} sends {operation} for {facts['identity']}: {why}")


class NoNeedlessCalls(_OfRoots):
    """What changes nothing is not sent again and again while its object and its thing stay as they are."""

    name: Final = "no-needless-calls"

    def __init__(self, roots: ExternalRoots) -> None:
        super().__init__(roots)
        self._needless: Counter[str] = Counter()
        self._generation: dict[str, int] = {}

    def on_external(self, world: World, actor: str, operation: str, facts: Facts) -> None:  # noqa: ARG002
        """After each change outside."""
        if facts["stage"] != "done":
            return
        identity = facts["identity"]
        obj = self._roots.live.get(facts["owner"])
        generation = obj["metadata"].get("generation", 0) if obj is not None else 0
        if facts["changed"] or self._generation.get(identity) != generation:
            self._needless[identity] = 0
            self._generation[identity] = generation
        if facts["changed"] or not facts["answered"]:
            return
        self._needless[identity] += 1
        if self._needless[identity] >= _MOST_NEEDLESS:
            count = self._needless[identity]
            raise Violation(self.name, f"{actor}: {operation} of {identity} changed nothing, {count} times")


class SecretsStayInSecrets(Invariant):
    """No body of a request but a Secret's has one of the texts that are secret.

    Args:
        markers: the texts; those of Secrets in the cluster are looked for by `NothingSecret`.
    """

    name: Final = "secrets-stay-in-secrets"

    def __init__(self, markers: Iterable[str]) -> None:
        self._markers = [it.encode() for it in markers]

    def on_request(self, world: World, request: Request) -> None:  # noqa: ARG002 - the contract
        """Look into a body."""
        if request.body is None or request.resource == "secrets":
            return
        body = orjson.dumps(request.body, default=str)
        if any(it in body for it in self._markers):
            where = f"{request.verb} {request.resource} {request.namespace}/{request.name}"
            raise Violation(self.name, f"{request.actor} sends what is secret in {where}")


def external_invariants(resource: str, finalizer: str, keeps: Callable[[Object], bool]) -> list[Invariant]:
    """New ones for one run; the roots' own comes first, since the others ask it.

    Args:
        resource: the root kind, as `plural.group`.
        finalizer: the operator's.
        keeps: whether an object, as it is, lets its thing stay when it goes.
    """
    roots = ExternalRoots(resource, finalizer, keeps)
    return [
        roots,
        OneThingEach(),
        NothingLeaks(roots),
        MarkedBeforeMade(roots),
        OnlyOnesOwnIsDeleted(roots),
        WritesAreFenced(),
        NoNeedlessCalls(roots),
    ]
