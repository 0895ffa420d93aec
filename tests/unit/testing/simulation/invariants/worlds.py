"""A world that is as a test says, and writes that a test makes up."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, cast

from openclaw import Conditions, ConfigMap, CustomResource, Model, Reconciler
from openclaw._core import slot
from openclaw.runtime.ownership import SLOT_LABEL
from openclaw.testing.simulation.contracts import Act, Request, World, Write
from openclaw.testing.simulation.invariants import Declared

Object = dict[str, Any]

THINGS = "things.test.example.com"
FINALIZER = "test.example.com/thing"
UID = "b5a1f5ab-0a7c-4bd6-9bb9-1f2d43a3a001"
OTHER_UID = "0b7b6a0e-7c0d-4d0b-8c35-6b8a5c8f6a55"
SLOT = slot(UID)


class ThingStatus(Model):
    observed_generation: int | None = None
    conditions: Conditions = Conditions()


class Thing(CustomResource, group="test.example.com", version="v1"):
    """Something that an operator is for."""

    spec: Model = Model()
    status: ThingStatus = ThingStatus()


class ThingReconciler(Reconciler[Thing]):
    owns: ClassVar = (ConfigMap,)
    finalizer: ClassVar = FINALIZER


DECLARED_BY = (ThingReconciler(),)


def declared() -> Declared:
    return Declared(DECLARED_BY)


class FakeWorld:
    """As much of a world as invariants ask for."""

    def __init__(
        self,
        *,
        shards: Sequence[str] = ("blue", "green"),
        acts: Iterable[Act] = (),
        objects: Mapping[str, Sequence[Object]] | None = None,
    ) -> None:
        self.shards = shards
        self.at = 100.0
        self._acts = list(acts)
        self.objects = dict(objects or {})

    @property
    def cluster(self) -> FakeWorld:
        return self

    def acts(self) -> list[Act]:
        return self._acts

    def acting(self, *acts: Act) -> None:
        self._acts = list(acts)

    def now(self) -> float:
        return self.at

    def get(self, kind: str, namespace: str | None, name: str) -> Object | None:
        return next(
            (it for it in self.list(kind, namespace) if it["metadata"]["name"] == name),
            None,
        )

    def list(self, kind: str, namespace: str | None = None) -> Sequence[Object]:
        return [
            it
            for it in self.objects.get(kind, ())
            if not namespace or it["metadata"].get("namespace") == namespace
        ]


def world(**facts: Any) -> World:
    return cast("World", FakeWorld(**facts))


def act(shard: str, began: float, *, fenced: bool = True, number: int = SLOT, name: str = "a") -> Act:
    return Act(
        shard=shard,
        controller="things",
        key=("default", name),
        uid=UID,
        slot=number,
        began=began,
        fenced=fenced,
    )


def thing(*, uid: str = UID, generation: int = 2, status: Object | None = None, **metadata: Any) -> Object:
    """A root."""
    return {
        "apiVersion": "test.example.com/v1",
        "kind": "Thing",
        "metadata": {
            "name": "a",
            "namespace": "default",
            "uid": uid,
            "generation": generation,
            "resourceVersion": "7",
            **metadata,
        },
        "spec": {"text": "x"},
        **({} if status is None else {"status": status}),
    }


def child(*, owner: str | None = UID, ours: Object | None = None, **metadata: Any) -> Object:
    """A child with a field of ours, and one of other people."""
    fields = {"f:data": {"f:ours": {}}, "f:metadata": {"f:labels": {f"f:{SLOT_LABEL}": {}}}}
    reference = {
        "apiVersion": "test.example.com/v1",
        "kind": "Thing",
        "name": "a",
        "uid": owner,
        "controller": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "a",
            "namespace": "default",
            "uid": "c",
            "resourceVersion": "9",
            "labels": {SLOT_LABEL: str(slot(owner)), "theirs": "1"} if owner else {"theirs": "1"},
            "ownerReferences": [reference] if owner else [],
            "managedFields": [
                {"manager": "openclaw", "operation": "Apply", "fieldsV1": fields if ours is None else ours}
            ],
            **metadata,
        },
        "data": {"ours": "1", "theirs": "1"},
    }


def changed(obj: Object, change: Callable[[Object], object]) -> Object:
    """The object after a change, itself left as it was."""
    after = copy.deepcopy(obj)
    change(after)
    return after


def write(
    before: Object | None,
    after: Object | None,
    *,
    verb: str = "apply",
    actor: str = "blue",
    subresource: str = "",
    resource: str | None = None,
    at: float = 100.0,
) -> Write:
    obj = after or before or {}
    kinds = {"Thing": THINGS, "ConfigMap": "configmaps", "Secret": "secrets", "Event": "events.events.k8s.io"}
    return Write(
        at=at,
        actor=actor,
        verb=verb,
        resource=resource or kinds[obj["kind"]],
        subresource=subresource,
        namespace="default",
        name=obj["metadata"]["name"],
        before=before,
        after=after,
    )


def status_write(before: Object, after: Object, **facts: Any) -> Write:
    return write(before, after, verb="patch", subresource="status", **facts)


def request(*, verb: str = "apply", changed: bool = False, code: int = 200, **facts: Any) -> Request:
    known: dict[str, Any] = {
        "at": 100.0,
        "actor": "blue",
        "resource": "configmaps",
        "subresource": "",
        "namespace": "default",
        "name": "a",
        "body": None,
        **facts,
    }
    return Request(verb=verb, changed=changed, code=code, **known)
