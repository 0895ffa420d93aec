"""Names in RDS: valid whatever the object is called, the same in each run, nobody else's."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from openclaw.api.rdsinstance import RDSInstance
from openclaw.controllers.rds.identity import identifier, snapshot_name
from tests.unit.controllers.rds.world import SPEC

IDENTIFIER = re.compile(r"(?=.{1,63}\Z)[a-z]([a-z0-9]|-[a-z0-9])*")
SNAPSHOT = re.compile(r"(?=.{1,255}\Z)[a-z]([a-z0-9]|-[a-z0-9])*")
NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?", fullmatch=True)
UIDS = st.uuids().map(str)


def named(
    name: str, *, namespace: str = "shop", uid: str = "u", deleted: str | None = None, **spec: Any
) -> RDSInstance:
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "uid": uid}
    if deleted is not None:
        metadata["deletionTimestamp"] = deleted
    return RDSInstance.from_dict({"metadata": metadata, "spec": {**SPEC, **spec}})


@given(NAMES, NAMES, UIDS)
def test_every_name_is_valid_and_stays(name: str, namespace: str, uid: str) -> None:
    obj = named(name, namespace=namespace, uid=uid)
    made = identifier(obj)
    assert IDENTIFIER.fullmatch(made), made
    assert identifier(named(name, namespace=namespace, uid=uid)) == made
    snapshot = snapshot_name(obj, made)
    assert SNAPSHOT.fullmatch(snapshot), snapshot
    assert snapshot != made


@given(st.lists(st.tuples(NAMES, NAMES, UIDS), min_size=2, max_size=5, unique=True))
def test_no_two_objects_share_a_name(objects: list[tuple[str, str, str]]) -> None:
    made = {identifier(named(name, namespace=namespace, uid=uid)) for name, namespace, uid in objects}
    assert len(made) == len(objects)


def test_an_object_made_anew_has_another_instance() -> None:
    assert identifier(named("orders", uid="1")) != identifier(named("orders", uid="2"))


def test_people_recognise_it() -> None:
    assert identifier(named("orders")).startswith("shop-orders-")
    assert identifier(named("4-eyes", namespace="4711")).startswith("db-4711-4-eyes-")
    assert identifier(named("orders.v2")).startswith("shop-orders-v2-")


def test_a_given_identifier_is_taken_as_it_is() -> None:
    assert identifier(named("orders", dbInstanceIdentifier="legacy-1")) == "legacy-1"


def test_each_deletion_has_a_snapshot_of_its_own() -> None:
    one = named("orders", deleted="2026-11-30T12:00:00Z")
    other = named("orders", deleted="2026-12-01T12:00:00Z")
    assert snapshot_name(one, "legacy") == snapshot_name(one, "legacy")
    assert snapshot_name(one, "legacy") != snapshot_name(other, "legacy")
    assert snapshot_name(named("orders"), "legacy")
    assert snapshot_name(named("orders", deleted="yesterday"), "legacy")
