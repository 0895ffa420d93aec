"""What counts as drift of an instance, and which parameters follow from it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from openclaw.providers.aws.rds_fields import (
    FIELDS,
    OWNER,
    PASSWORD,
    TAGS,
    at_least,
    compare,
    create_parameters,
    modify_parameters,
    version_at_least,
)
from openclaw.providers.aws.rds_model import RDSObserved, RDSWanted, owner_tags
from openclaw.providers.aws.rds_parse import observed_instance
from openclaw.providers.descriptors import Owner

ME = Owner("RDSInstance", "shop", "orders", "uid-1")
CHANGEABLE = [it for it in FIELDS if not it.fixed]


def wanted(**changes: Any) -> RDSWanted:
    given: dict[str, Any] = {
        "identity": "orders-1",
        "owner": ME,
        "engine": "postgres",
        "db_instance_class": "db.t4g.medium",
        "allocated_storage": 50,
        "master_username": "shop",
    }
    return RDSWanted(**{**given, **changes})


def as_wanted(want: RDSWanted, **changes: Any) -> RDSObserved:
    """An instance that is just as wanted."""
    values = {it.attribute: getattr(want, it.attribute) for it in FIELDS}
    tags = {**want.tags, **owner_tags(want.owner)}
    return RDSObserved(
        identity=want.identity, status="available", arn="arn", **{**values, "tags": tags, **changes}
    )


TEXT = st.text("abcdefgh-", min_size=1, max_size=8)
VERSIONS = st.lists(st.integers(0, 30), min_size=1, max_size=4).map(lambda it: ".".join(map(str, it)))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "engine_version": VERSIONS,
    "vpc_security_group_ids": st.lists(TEXT, min_size=1, max_size=3, unique=True).map(tuple),
    **{
        it: st.booleans()
        for it in ("multi_az", "publicly_accessible", "auto_minor_version_upgrade", "deletion_protection")
    },
    **{
        it: st.integers(1, 500)
        for it in ("allocated_storage", "max_allocated_storage", "iops", "port", "backup_retention_period")
    },
}
OPTIONAL = [
    it.attribute for it in CHANGEABLE if it.attribute not in ("db_instance_class", "allocated_storage")
]


@st.composite
def wishes(draw: st.DrawFn) -> RDSWanted:
    """An instance of which some fields are set."""
    chosen = draw(st.lists(st.sampled_from(OPTIONAL), unique=True))
    given = {it: draw(VALUES.get(it, TEXT)) for it in chosen}
    return wanted(**given, tags=draw(st.dictionaries(TEXT, TEXT, max_size=3)))


@given(wishes())
def test_what_is_as_wanted_is_no_drift(want: RDSWanted) -> None:
    assert not compare(want, as_wanted(want))


@given(wishes(), st.data())
def test_only_what_is_set_counts(want: RDSWanted, data: st.DataObject) -> None:
    unset = [it.attribute for it in FIELDS if getattr(want, it.attribute) in (None, ())]
    there = {it: data.draw(VALUES.get(it, TEXT)) for it in unset}
    assert not compare(want, as_wanted(want, **there))


@given(wishes(), st.data())
def test_a_value_that_is_pending_is_there_already(want: RDSWanted, data: st.DataObject) -> None:
    field = data.draw(
        st.sampled_from([it for it in CHANGEABLE if getattr(want, it.attribute) not in (None, ())])
    )
    value = getattr(want, field.attribute)
    other = as_wanted(want, **{field.attribute: None}, pending={field.attribute: value})
    assert not compare(want, other)
    assert [it.field for it in compare(dataclasses.replace(want, flush=True), other)] == [field.spec]


@given(wishes(), st.data())
def test_a_value_that_is_pending_and_not_wanted_is_drift(want: RDSWanted, data: st.DataObject) -> None:
    field = data.draw(
        st.sampled_from([it for it in CHANGEABLE if getattr(want, it.attribute) not in (None, ())])
    )
    other = data.draw(
        VALUES.get(field.attribute, TEXT).filter(
            lambda it: not field.same(getattr(want, field.attribute), it)
        )
    )
    drift = compare(want, as_wanted(want, pending={field.attribute: other}))
    assert [it.field for it in drift.updatable] == [field.spec]


@given(wishes(), st.data())
def test_an_update_holds_what_differs_and_nothing_else(want: RDSWanted, data: st.DataObject) -> None:
    set_ones = [it for it in CHANGEABLE if getattr(want, it.attribute) not in (None, ())]
    changed = data.draw(st.lists(st.sampled_from(set_ones), unique_by=lambda it: it.spec))
    there = {it.attribute: None if it.attribute != "vpc_security_group_ids" else () for it in changed}
    observed = as_wanted(want, **there)
    drift = compare(want, observed)
    assert {it.field for it in drift} == {it.spec for it in changed}
    sent = modify_parameters(want, observed, drift)
    if not changed:
        assert sent == {}
        return
    together = {"AllocatedStorage", "Iops", "AllowMajorVersionUpgrade"}
    fields = sent.keys() - {"DBInstanceIdentifier", "ApplyImmediately"}
    stated = {it.modify or it.parameter for it in changed}
    assert stated <= fields <= stated | together
    assert not compare(want, as_wanted(want)), "and then there is none"


@given(st.integers(5, 1000), st.integers(5, 1000))
def test_storage_is_never_asked_to_shrink(want_size: int, there: int) -> None:
    want = wanted(allocated_storage=want_size, storage_type="gp3")
    observed = as_wanted(want, allocated_storage=there, storage_type="gp2")
    sent = modify_parameters(want, observed, compare(want, observed))
    assert sent["AllocatedStorage"] >= there
    assert at_least(want_size, there) == (there >= want_size)


@given(VERSIONS, VERSIONS)
def test_of_two_versions_one_is_at_least_the_other(one: str, other: str) -> None:
    assert version_at_least(one, one)
    assert version_at_least(one, other) or version_at_least(other, one)


@pytest.mark.parametrize(
    ("want", "there", "enough"),
    [
        ("16", "16.4", True),
        ("16.4", "16.4", True),
        ("16.4", "16.10", True),
        ("16.10", "16.4", False),
        ("16.4", "17.1", True),
        ("17", "16.9", False),
        ("8.0.40", "8.0.42", True),
        ("8.4", "8.0.42", False),
        ("16.4", "16", False),
        ("19.0.0.0.ru-2021-04.rur-2021-04.r1", "19.0.0.0.ru-2022-01.rur-2022-01.r1", True),
        ("19.0.0.0.ru-2022-01.rur-2022-01.r1", "19.0.0.0.ru-2021-04.rur-2021-04.r1", False),
    ],
)
def test_versions(want: str, there: str, enough: bool) -> None:
    assert version_at_least(want, there) is enough


@pytest.mark.parametrize("field", [it for it in FIELDS if it.fixed], ids=lambda it: it.spec)
def test_what_can_not_be_changed_is_told_and_not_sent(field: Any) -> None:
    value = VALUES.get(field.attribute)
    want = wanted(
        **{field.attribute: field.attribute != "storage_encrypted" and "asked" if value is None else None}
    )
    observed = as_wanted(
        want, **{field.attribute: "another" if field.attribute != "storage_encrypted" else True}
    )
    drift = compare(want, observed)
    assert [it.field for it in drift.refused] == [field.spec]
    assert drift.updatable == ()
    assert modify_parameters(want, observed, drift) == {}


def test_a_key_is_known_by_its_id_and_an_alias_is_believed() -> None:
    arn = "arn:aws:kms:eu-central-1:123456789012:key/1234"
    for name in ("1234", arn, "alias/databases"):
        want = wanted(kms_key_id=name)
        assert not compare(want, as_wanted(want, kms_key_id=arn)), name
    want = wanted(kms_key_id="5678")
    assert compare(want, as_wanted(want, kms_key_id=arn))


def test_a_password_is_told_without_itself_and_tells_versions_apart() -> None:
    one = wanted(password=SecretStr("hunter2-hunter2"), password_version="master/password u/1")
    other = wanted(password=SecretStr("hunter3-hunter3"), password_version="master/password u/2")
    drifts = [compare(it, as_wanted(it)) for it in (one, other)]
    assert [it.field for it in drifts[0]] == [PASSWORD]
    assert drifts[0].digest != drifts[1].digest
    assert "hunter" not in f"{drifts} {one!r}"
    sent = modify_parameters(one, as_wanted(one), drifts[0])
    assert sent["MasterUserPassword"] == "hunter2-hunter2"


def test_tags_of_others_stay_and_ours_are_put_right() -> None:
    want = wanted(tags={"team": "shop"})
    assert not compare(want, as_wanted(want, tags={**owner_tags(ME), "team": "shop", "cost": "7"}))
    drift = compare(want, as_wanted(want, tags={"team": "else"}))
    assert [it.field for it in drift] == [TAGS, OWNER]
    assert modify_parameters(want, as_wanted(want), drift) == {}


def test_what_is_sent_to_create() -> None:
    want = wanted(
        password=SecretStr("secret"), tags={"team": "shop"}, vpc_security_group_ids=("sg-1",), port=5433
    )
    assert create_parameters(want) == {
        "DBInstanceIdentifier": "orders-1",
        "Engine": "postgres",
        "DBInstanceClass": "db.t4g.medium",
        "AllocatedStorage": 50,
        "MasterUsername": "shop",
        "MasterUserPassword": "secret",
        "VpcSecurityGroupIds": ["sg-1"],
        "Port": 5433,
        "Tags": [
            {"Key": "openclaw.dev/owner", "Value": "shop/orders"},
            {"Key": "openclaw.dev/owner-kind", "Value": "RDSInstance"},
            {"Key": "openclaw.dev/owner-uid", "Value": "uid-1"},
            {"Key": "team", "Value": "shop"},
        ],
    }


def test_an_answer_is_read() -> None:
    observed = observed_instance(
        {
            "DBInstanceIdentifier": "orders-1",
            "DBInstanceStatus": "modifying",
            "DBInstanceClass": "db.t4g.medium",
            "Endpoint": {"Address": "orders-1.rds", "Port": 5432},
            "DBSubnetGroup": {"DBSubnetGroupName": "private"},
            "VpcSecurityGroups": [{"VpcSecurityGroupId": "sg-1"}, {"VpcSecurityGroupId": "sg-2"}],
            "DBParameterGroups": [{"DBParameterGroupName": "default.postgres16"}],
            "PendingModifiedValues": {"AllocatedStorage": 100, "MasterUserPassword": "****", "Port": 5433},
            "TagList": [{"Key": "openclaw.dev/owner-uid", "Value": "uid-1"}],
        }
    )
    assert (observed.endpoint, observed.port, observed.owner_uid) == ("orders-1.rds", 5432, "uid-1")
    assert observed.vpc_security_group_ids == ("sg-1", "sg-2")
    assert (observed.db_subnet_group_name, observed.db_parameter_group_name) == (
        "private",
        "default.postgres16",
    )
    assert observed.pending == {"allocated_storage": 100, "port": 5433}
    assert observed.password_pending


def test_an_empty_answer_is_no_crash() -> None:
    observed = observed_instance({})
    assert (observed.identity, observed.status, observed.endpoint, observed.owner_uid) == ("", "", None, None)
