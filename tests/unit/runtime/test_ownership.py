from typing import Any

import pytest

from openclaw._core import slot
from openclaw.api.openclaw import OpenClaw
from openclaw.api.resource import CustomResource
from openclaw.runtime.errors import NotControlled
from openclaw.runtime.ownership import SLOT_LABEL, adopt, check_control, controller_of, owner_reference
from tests.unit.runtime.one_object import make

ROOT = OpenClaw.from_dict(make(uid="u-1"))
OTHER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "u-9", "controller": True}


class ClusterThing(CustomResource, group="demo.example.com", version="v1", scope="Cluster"):
    """A cluster-scoped kind."""


def live(
    *, owners: list[dict[str, Any]] | None = None, managers: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"namespace": "shop", "name": "web-frontend"}
    if owners is not None:
        metadata["ownerReferences"] = owners
    if managers is not None:
        metadata["managedFields"] = managers
    return {"kind": "Deployment", "metadata": metadata}


def test_a_child_names_its_root_as_controller() -> None:
    assert owner_reference(ROOT) == {
        "apiVersion": "apps.openclaw.dev/v1alpha1",
        "kind": "OpenClaw",
        "name": "web",
        "uid": "u-1",
        "controller": True,
        "blockOwnerDeletion": True,
    }


def test_adopt_fills_in_reference_slot_and_namespace_and_keeps_the_rest() -> None:
    child: dict[str, Any] = {"metadata": {"name": "x", "labels": {"app": "x"}}, "spec": {"replicas": 1}}
    adopt(child, ROOT)
    assert child == {
        "metadata": {
            "name": "x",
            "namespace": "shop",
            "labels": {"app": "x", SLOT_LABEL: str(slot("u-1"))},
            "ownerReferences": [owner_reference(ROOT)],
        },
        "spec": {"replicas": 1},
    }


def test_a_child_without_metadata() -> None:
    child: dict[str, Any] = {}
    adopt(child, ROOT)
    assert child["metadata"]["labels"] == {SLOT_LABEL: str(slot("u-1"))}


def test_a_child_in_another_namespace_would_be_garbage() -> None:
    child = {"kind": "Deployment", "metadata": {"name": "x", "namespace": "elsewhere"}}
    with pytest.raises(
        ValueError, match=r"Deployment elsewhere/x is of another namespace .* OpenClaw shop/web"
    ):
        adopt(child, ROOT)


def test_a_cluster_scoped_root_may_own_children_in_any_namespace() -> None:
    root = ClusterThing.from_dict({"metadata": {"name": "c", "uid": "u-2"}})
    child: dict[str, Any] = {"metadata": {"name": "x", "namespace": "elsewhere"}}
    adopt(child, root)
    assert child["metadata"]["namespace"] == "elsewhere"
    cluster_scoped: dict[str, Any] = {"metadata": {"name": "x"}}
    adopt(cluster_scoped, root)
    assert "namespace" not in cluster_scoped["metadata"]


def test_the_controller_is_the_owner_that_says_so() -> None:
    bystander = {**OTHER, "controller": False}
    unsaid = {key: value for key, value in OTHER.items() if key != "controller"}
    assert controller_of(live(owners=[bystander, unsaid, OTHER])) == OTHER
    assert controller_of(live(owners=[bystander, unsaid])) is None
    assert controller_of(live()) is None
    assert controller_of({"metadata": {"ownerReferences": None}}) is None


OUR_APPLY = {"manager": "openclaw", "operation": "Apply"}


@pytest.mark.parametrize(
    "obj",
    [
        live(owners=[owner_reference(ROOT)]),
        live(owners=[{**OTHER, "controller": False}, owner_reference(ROOT)]),
        live(managers=[OUR_APPLY]),
        live(
            owners=[{**OTHER, "controller": False}],
            managers=[{"manager": "x", "operation": "Apply"}, OUR_APPLY],
        ),
    ],
)
def test_what_the_root_controls_or_we_applied_before_is_ours(obj: dict[str, Any]) -> None:
    check_control(obj, ROOT, "Deployment", "openclaw")


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (
            live(owners=[OTHER]),
            r"Deployment shop/web-frontend exists and is controlled by ReplicaSet rs; delete or",
        ),
        # Applied by us, but for another root.
        (live(owners=[OTHER], managers=[OUR_APPLY]), r"controlled by ReplicaSet rs"),
        # A former root of the same name.
        (
            live(owners=[{**owner_reference(ROOT), "uid": "u-0"}], managers=[OUR_APPLY]),
            r"controlled by OpenClaw web",
        ),
        (
            live(),
            r"Deployment shop/web-frontend exists and was not made by this controller; delete or rename it",
        ),
        (live(managers=[{"manager": "kubectl", "operation": "Apply"}]), r"was not made by this controller"),
        (live(managers=[{"manager": "openclaw", "operation": "Update"}]), r"was not made by this controller"),
    ],
)
def test_what_is_not_ours_is_refused_with_who_has_it(obj: dict[str, Any], message: str) -> None:
    with pytest.raises(NotControlled, match=message):
        check_control(obj, ROOT, "Deployment", "openclaw")


def test_a_cluster_scoped_object_is_named_without_a_slash() -> None:
    with pytest.raises(NotControlled, match=r"^ClusterRole x exists"):
        check_control({"metadata": {"name": "x"}}, ROOT, "ClusterRole", "openclaw")
