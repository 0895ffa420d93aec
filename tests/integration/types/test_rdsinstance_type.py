"""The RDSInstance CRD on the real API server: defaults, refusals, what can't be changed, the samples."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from openclaw.api.rdsinstance import RDSInstance
from openclaw.kube.errors import Invalid
from openclaw.testing import Client
from openclaw.testing.client import Object
from tests.integration.types.conftest import Kubectl

pytestmark = pytest.mark.usefixtures("api_server")

ROOT = Path(__file__).parents[3]
SAMPLES = sorted((ROOT / "examples" / "rdsinstance").glob("*.yaml"))
KIND = "RDSInstance"


def rds(**changes: Any) -> Object:
    """The least RDSInstance with changes; `...` takes a field away."""
    spec: Object = {
        "region": "eu-central-1",
        "engine": "postgres",
        "dbInstanceClass": "db.t4g.medium",
        "allocatedStorage": 50,
        "masterUsername": "shop",
        "masterPasswordSecretRef": {"name": "master"},
        **changes,
    }
    return {
        "apiVersion": "database.openclaw.dev/v1alpha1",
        "kind": KIND,
        "metadata": {"name": "orders"},
        "spec": {key: value for key, value in spec.items() if value is not ...},
    }


@pytest.fixture(autouse=True)
async def _no_warnings(kube_client: Client) -> AsyncIterator[None]:
    yield
    assert kube_client.warnings == []


async def test_defaults(kube_client: Client, namespace: str) -> None:
    created = await kube_client.create(rds(), namespace=namespace)
    given = rds()["spec"]
    assert created["spec"] == {
        **given,
        "masterPasswordSecretRef": {"name": "master", "key": "password"},
        "applyImmediately": False,
        "deletionPolicy": "Snapshot",
        "managementPolicy": "Full",
    }


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        *[({name: ...}, f"spec.{name}", "Required") for name in sorted(rds()["spec"])],
        ({"region": "frankfurt"}, "spec.region", "such as eu-central-1"),
        ({"engine": "Postgres"}, "spec.engine", "such as postgres"),
        ({"engineVersion": "latest"}, "spec.engineVersion", "such as 16.4"),
        ({"dbInstanceClass": "t4g.medium"}, "spec.dbInstanceClass", "such as db.t4g.medium"),
        ({"allocatedStorage": 4}, "spec.allocatedStorage", "greater than or equal to 5"),
        ({"maxAllocatedStorage": 50}, "spec.maxAllocatedStorage", "must be above allocatedStorage"),
        ({"masterUsername": "1st"}, "spec.masterUsername", "a letter first"),
        ({"masterPasswordSecretRef": {}}, "spec.masterPasswordSecretRef.name", "Required"),
        ({"dbInstanceIdentifier": "a--b"}, "spec.dbInstanceIdentifier", "a letter first"),
        ({"preferredBackupWindow": "3am"}, "spec.preferredBackupWindow", "such as 03:00-04:00"),
        ({"preferredMaintenanceWindow": "sunday"}, "spec.preferredMaintenanceWindow", "sun:04:00-sun:05:00"),
        ({"deletionPolicy": "Retain"}, "spec.deletionPolicy", '"Snapshot", "Delete", "Orphan"'),
        ({"vpcSecurityGroupIDs": ["web"]}, "spec.vpcSecurityGroupIDs[0]", "such as sg-"),
        ({"tags": {"aws:x": "y"}}, "spec.tags", "begin with neither"),
        ({"tags": {"openclaw.dev/owner-uid": "y"}}, "spec.tags", "begin with neither"),
        ({"managementPolicy": "Observe"}, "<nil>", "needs dbInstanceIdentifier"),
        (
            {"credentialsSecretRef": {"name": "aws"}, "credentials": {"podIdentity": True}},
            "spec",
            "one of them",
        ),
        (
            {"credentials": {"podIdentity": True, "vault": {"awsRole": "a", "kubernetesRole": "b"}}},
            "spec.credentials",
            "not both",
        ),
        ({"credentials": {"vault": {"awsRole": "a"}}}, "spec.credentials.vault", "how to log in"),
        ({"credentials": {"vault": {"kubernetesRole": "a"}}}, "spec.credentials.vault", "one of them"),
        ({"credentials": {"podIdentity": False}}, "spec.credentials.podIdentity", "true or left out"),
        (
            {"credentials": {"assumeRoles": [{"roleARN": "databases"}]}},
            "spec.credentials.assumeRoles[0].roleARN",
            "ARN of a role",
        ),
    ],
    ids=lambda it: str(it)[:50] if isinstance(it, dict) else "",
)
async def test_refusals_name_the_field_and_what_is_allowed(
    kube_client: Client, namespace: str, changes: Object, field: str, words: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        await kube_client.create(rds(**changes), namespace=namespace)
    assert field in {cause["field"] for cause in refusal.value.causes}, refusal.value.causes
    assert words in refusal.value.message


FIXED: Object = {
    "region": "us-east-1",
    "engine": "mysql",
    "masterUsername": "another",
    "dbName": "another",
    "dbInstanceIdentifier": "another",
    "storageEncrypted": False,
    "kmsKeyID": "another",
}
BEFORE: Object = {
    "dbName": "orders",
    "dbInstanceIdentifier": "orders",
    "storageEncrypted": True,
    "kmsKeyID": "key",
}


@pytest.mark.parametrize("field", list(FIXED))
async def test_what_can_not_be_changed_says_so_and_names_the_way_out(
    kube_client: Client, namespace: str, field: str
) -> None:
    await kube_client.create(rds(**BEFORE), namespace=namespace)
    changes = [FIXED[field]] + ([None] if field in BEFORE else [])
    for value in changes:
        with pytest.raises(Invalid, match=rf"{field} is immutable.*create another RDSInstance") as refusal:
            await kube_client.patch(KIND, namespace, "orders", {"spec": {field: value}})
        assert [it["field"] for it in refusal.value.causes] == [f"spec.{field}"]


@pytest.mark.parametrize("field", list(BEFORE))
async def test_what_can_not_be_changed_can_not_be_added_later_either(
    kube_client: Client, namespace: str, field: str
) -> None:
    await kube_client.create(rds(), namespace=namespace)
    with pytest.raises(Invalid, match=rf"{field} is immutable, and can't be added"):
        await kube_client.patch(KIND, namespace, "orders", {"spec": {field: FIXED[field]}})


async def test_storage_grows_and_does_not_shrink(kube_client: Client, namespace: str) -> None:
    await kube_client.create(rds(), namespace=namespace)
    await kube_client.patch(KIND, namespace, "orders", {"spec": {"allocatedStorage": 60}})
    with pytest.raises(Invalid, match="can only grow"):
        await kube_client.patch(KIND, namespace, "orders", {"spec": {"allocatedStorage": 59}})


async def test_everything_else_may_be_changed_and_taken_back(kube_client: Client, namespace: str) -> None:
    created = await kube_client.create(rds(), namespace=namespace)
    production = next(it for it in SAMPLES if it.stem == "production")
    spec = yaml.safe_load(production.read_text())["spec"]
    change = {key: value for key, value in spec.items() if key not in FIXED}
    changed = await kube_client.patch(KIND, namespace, "orders", {"spec": change})
    assert changed["metadata"]["generation"] == 2
    back = {key: created["spec"].get(key) for key in change if key != "allocatedStorage"}
    back = await kube_client.patch(KIND, namespace, "orders", {"spec": back})
    assert RDSInstance.from_dict(back).spec.multi_az is None


async def test_a_field_of_a_namespace_is_unknown(
    kube_client: Client, namespace: str, kubectl: Kubectl
) -> None:
    body = rds(credentialsSecretRef={"name": "aws", "namespace": "kube-system"})
    answer = await kubectl("create", "--validate=strict", "-f", "-", stdin=yaml.safe_dump(body))
    assert answer.status == 1
    assert 'unknown field "spec.credentialsSecretRef.namespace"' in answer.err
    assert kube_client.warnings == []


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: file.stem)
async def test_the_samples_are_admitted(
    kube_client: Client, namespace: str, kubectl: Kubectl, file: Path
) -> None:
    body = yaml.safe_load(file.read_text())
    body["metadata"].pop("namespace")
    answer = await kubectl("apply", "--validate=strict", "-f", "-", stdin=yaml.safe_dump(body))
    assert answer.status == 0, answer
    created = await kube_client.get(KIND, namespace, body["metadata"]["name"])
    RDSInstance.from_dict(created)


async def test_columns(kube_client: Client, namespace: str, kubectl: Kubectl) -> None:
    await kube_client.create(rds(), namespace=namespace)
    status = {
        "phase": "Available",
        "endpoint": "orders.rds",
        "observed": {"engineVersion": "16.9", "dbInstanceClass": "db.t4g.medium", "allocatedStorage": 55},
    }
    await kube_client.patch(KIND, namespace, "orders", {"status": status}, subresource="status")
    heading, row = (await kubectl.ok("get", "rds")).splitlines()
    assert heading.split() == [
        *("NAME", "PHASE", "ENGINE", "VERSION", "CLASS", "STORAGE", "ENDPOINT", "AVAILABLE", "SYNCED", "AGE")
    ]
    assert row.split()[:7] == ["orders", "Available", "postgres", "16.9", "db.t4g.medium", "55", "orders.rds"]
