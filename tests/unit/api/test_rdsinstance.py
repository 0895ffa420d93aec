"""The RDSInstance kind: its CRD as it is published, its defaults, what it admits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openclaw.api import InvalidObjectError
from openclaw.api.rdsinstance import Phase, RDSInstance
from openclaw.manifests import custom_resource_definition, dump

PUBLISHED = Path(__file__).parents[3] / "crds" / "database.openclaw.dev_rdsinstances.yaml"

MINIMAL: dict[str, Any] = {
    "region": "eu-central-1",
    "engine": "postgres",
    "dbInstanceClass": "db.t4g.medium",
    "allocatedStorage": 50,
    "masterUsername": "shop",
    "masterPasswordSecretRef": {"name": "master"},
}


def crd() -> dict[str, Any]:
    return custom_resource_definition(RDSInstance)


def schema(part: str) -> dict[str, Any]:
    whole = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found: dict[str, Any] = whole["properties"][part]
    return found


def rds(**changes: Any) -> RDSInstance:
    return RDSInstance.from_dict({"metadata": {"name": "orders"}, "spec": {**MINIMAL, **changes}})


def fields(of: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, of
    for name, field in of.get("properties", {}).items():
        yield from fields(field, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in of:
            yield from fields(of[key], f"{path}[*]")


def test_the_published_crd_is_the_declared_one() -> None:
    assert PUBLISHED.read_text() == dump([crd()])


def test_names() -> None:
    spec = crd()["spec"]
    assert (spec["group"], spec["scope"]) == ("database.openclaw.dev", "Namespaced")
    assert spec["names"]["plural"] == "rdsinstances"
    assert spec["names"]["shortNames"] == ["rds"]
    assert [it["name"] for it in spec["versions"]] == ["v1alpha1"]


def test_columns() -> None:
    columns = crd()["spec"]["versions"][0]["additionalPrinterColumns"]
    shown = [it["name"] for it in columns if "priority" not in it]
    assert shown == [
        "Phase",
        "Engine",
        "Version",
        "Class",
        "Storage",
        "Endpoint",
        "Available",
        "Synced",
        "Age",
    ]


def test_what_must_be_given() -> None:
    assert set(schema("spec")["required"]) == set(MINIMAL)


def test_a_default_is_never_a_field_that_is_compared_with_rds() -> None:
    """A server's default would count as set by the user, and be put into every database."""
    defaults = {name for name, field in schema("spec")["properties"].items() if "default" in field}
    assert defaults == {"applyImmediately", "deletionPolicy", "managementPolicy"}


def test_no_reference_names_a_namespace() -> None:
    named = [
        path
        for path, _ in fields(schema("spec"))
        if "ref" in path.lower() and path.lower().endswith("namespace")
    ]
    assert named == []
    references = [path for path, _ in fields(schema("spec")) if path.endswith("SecretRef")]
    assert len(references) == 3


def test_what_can_not_be_changed_says_so_and_names_the_way_out() -> None:
    spec = schema("spec")
    rules = [*spec["x-kubernetes-validations"]]
    for field in spec["properties"].values():
        rules += field.get("x-kubernetes-validations", [])
    transitions = [it["message"] for it in rules if "oldSelf" in it["rule"]]
    assert {it.split(" ", 1)[0] for it in transitions} == {
        *("region", "engine", "masterUsername", "dbName", "dbInstanceIdentifier"),
        *("storageEncrypted", "kmsKeyID", "allocatedStorage"),
    }
    assert all("create another RDSInstance" in it for it in transitions)


def test_all_that_a_rule_looks_at_is_bounded() -> None:
    """The API server refuses a CRD whose rules may cost too much."""
    limits = {"string": "maxLength", "array": "maxItems"}
    for path, field in fields(schema("spec")):
        if "x-kubernetes-validations" in field and field["type"] in limits:
            assert limits[field["type"]] in field, path


def test_kubectl_explain_has_a_word_on_every_field() -> None:
    whole = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    bare = [path for path, field in fields(whole) if "description" not in field]
    assert [path for path in bare if not path.endswith("[*]")] == [".metadata"]


def test_the_smallest_object() -> None:
    spec = rds().spec
    assert (spec.deletion_policy, spec.management_policy, spec.apply_immediately) == (
        "Snapshot",
        "Full",
        False,
    )
    assert spec.master_password_secret_ref.key == "password"
    assert spec.multi_az is None
    assert spec.credentials.assume_roles == []


@pytest.mark.parametrize("phase", list(Phase))
def test_phases_are_read_and_written(phase: Phase) -> None:
    obj = RDSInstance.from_dict(
        {"metadata": {"name": "o"}, "spec": MINIMAL, "status": {"phase": phase.value}}
    )
    assert obj.status.phase is phase
    assert obj.status_dict()["phase"] == phase.value


@pytest.mark.parametrize(
    "changes",
    [
        {"region": "frankfurt"},
        {"engine": "Postgres 16"},
        {"dbInstanceClass": "t4g.medium"},
        {"allocatedStorage": 4},
        {"masterUsername": "1st"},
        {"dbInstanceIdentifier": "a--b"},
        {"dbInstanceIdentifier": "ends-"},
        {"preferredBackupWindow": "3am"},
        {"preferredMaintenanceWindow": "sunday"},
        {"backupRetentionPeriod": 36},
        {"deletionPolicy": "Retain"},
        {"masterPasswordSecretRef": {"name": "other/secret"}},
        {"vpcSecurityGroupIDs": ["web"]},
        {"tags": {"a": "b\n"}},
        {"credentials": {"assumeRoles": [{"roleARN": "databases"}]}},
    ],
)
def test_what_rds_would_refuse_is_refused_before(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidObjectError, match="RDSInstance orders"):
        rds(**changes)
