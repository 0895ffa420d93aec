"""Roles that allow what controllers declare, verb by verb, and nothing else."""

from typing import Any, ClassVar

import pytest

from openclaw.api import (
    ConfigMap,
    CustomResource,
    Deployment,
    Ingress,
    Model,
    Namespace,
    OpenClaw,
    ResourceQuota,
    Scale,
    Secret,
    Service,
)
from openclaw.manifests import ManifestError, operator_role, operator_rules, user_roles
from openclaw.runtime import Owns, Reconciler, Watch, index

PULL_SECRETS = "spec.globalConfig.imagePullSecrets[*]"


class Thing(CustomResource, group="demo.example.com", version="v1"):
    class Status(Model):
        seen: int = 0


class Silent(Reconciler[Thing]):
    emits_events: ClassVar = False


class Finalizing(Reconciler[Thing]):
    finalizer: ClassVar = "demo.example.com/cleanup"
    emits_events: ClassVar = False


class Full(Reconciler[OpenClaw]):
    owns: ClassVar = (Deployment, Service, Owns(Ingress))
    indexes: ClassVar = (index(PULL_SECRETS),)
    watches: ClassVar = (Watch(Secret, index=PULL_SECRETS),)
    reads: ClassVar = (ResourceQuota, Secret)


def granted(rules: list[dict[str, Any]]) -> dict[tuple[str, str], list[str]]:
    grants = {}
    for rule in rules:
        assert set(rule) == {"apiGroups", "resources", "verbs"}
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                assert (group, resource) not in grants, "granted twice"
                grants[group, resource] = rule["verbs"]
    return grants


def test_the_least_controller() -> None:
    assert granted(operator_rules([Silent])) == {
        ("demo.example.com", "things"): ["get", "list", "watch"],
        ("demo.example.com", "things/status"): ["patch"],
    }


def test_a_finalizer_needs_patch_on_the_root() -> None:
    grants = granted(operator_rules([Finalizing]))
    assert grants["demo.example.com", "things"] == ["get", "list", "watch", "patch"]
    assert ("demo.example.com", "things/finalizers") not in grants


def test_the_full_controller() -> None:
    assert granted(operator_rules([Full])) == {
        ("", "resourcequotas"): ["get"],
        ("", "secrets"): ["get", "list", "watch"],
        ("", "services"): ["get", "list", "watch", "create", "patch", "delete"],
        ("apps", "deployments"): ["get", "list", "watch", "create", "patch", "delete"],
        ("apps.openclaw.dev", "openclaws"): ["get", "list", "watch"],
        ("apps.openclaw.dev", "openclaws/finalizers"): ["update"],
        ("apps.openclaw.dev", "openclaws/status"): ["patch"],
        ("events.k8s.io", "events"): ["create", "patch"],
        ("networking.k8s.io", "ingresses"): ["get", "list", "watch", "create", "patch", "delete"],
    }


def test_controllers_add_up_in_any_order() -> None:
    both = operator_rules([Full, Finalizing])
    assert both == operator_rules([Finalizing, Full])
    assert granted(both) == granted(operator_rules([Full])) | granted(operator_rules([Finalizing]))


def test_no_wildcards_anywhere() -> None:
    assert "*" not in str(operator_rules([Full])).replace("[*]", "")


def test_cluster_role_or_role() -> None:
    role = operator_role([Full], name="x", labels={"a": "b"})
    assert (role["kind"], role["metadata"]) == ("ClusterRole", {"name": "x", "labels": {"a": "b"}})
    role = operator_role([Full], name="x", labels={}, watch_namespace="shop")
    assert (role["kind"], role["metadata"]["namespace"]) == ("Role", "shop")
    assert role["rules"] == operator_rules([Full])


def test_a_role_can_not_grant_what_is_in_no_namespace() -> None:
    class Wide(Reconciler[Thing]):
        reads: ClassVar = (ConfigMap, Namespace)

    with pytest.raises(ManifestError, match=r"Wide needs Namespace, which is in no namespace"):
        operator_role([Wide], name="x", labels={}, watch_namespace="shop")
    assert operator_role([Wide], name="x", labels={})["kind"] == "ClusterRole"


def test_roles_for_people_aggregate() -> None:
    class Scaled(CustomResource, group="demo.example.com", version="v1", scale=Scale()):
        class Spec(Model):
            replicas: int = 1

        class Status(Model):
            replicas: int = 0

    class Bare(CustomResource, group="demo.example.com", version="v1"):
        pass

    viewer, editor = user_roles([Scaled, Bare], name="openclaw", labels={})
    assert viewer["metadata"] == {
        "name": "openclaw-viewer",
        "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"},
    }
    assert editor["metadata"]["name"] == "openclaw-editor"
    assert set(editor["metadata"]["labels"]) == {
        "rbac.authorization.k8s.io/aggregate-to-edit",
        "rbac.authorization.k8s.io/aggregate-to-admin",
    }
    writing = {"create", "update", "patch", "delete", "deletecollection"}
    for (_, resource), verbs in granted(viewer["rules"]).items():
        assert not writing & set(verbs), resource
    edit = granted(editor["rules"])
    assert writing < set(edit["demo.example.com", "scaleds"])
    assert edit["demo.example.com", "scaleds/scale"] == ["get", "update", "patch"]
    assert edit["demo.example.com", "scaleds/status"] == ["get"]
    assert ("demo.example.com", "bares/status") not in edit
