"""Objects held as plain dicts."""

import pytest

from openclaw.api import (
    ClusterRole,
    ConfigMap,
    Deployment,
    Event,
    HorizontalPodAutoscaler,
    Ingress,
    Lease,
    NetworkPolicy,
    Pod,
    ResourceKind,
    Secret,
    Unstructured,
)
from openclaw.api.kinds import plural_of


def test_building() -> None:
    deployment = Deployment(name="web", namespace="shop", labels={"a": "b"}, spec={"replicas": 2})
    assert deployment.to_dict() == {
        "spec": {"replicas": 2},
        "metadata": {"name": "web", "namespace": "shop", "labels": {"a": "b"}},
        "apiVersion": "apps/v1",
        "kind": "Deployment",
    }
    assert Secret(name="s", type="Opaque", stringData={"k": "v"}).raw["stringData"] == {"k": "v"}
    assert ConfigMap(name="c", data={"k": "v"}).data == {"k": "v"}


def test_reading() -> None:
    raw = {
        "metadata": {
            "name": "a",
            "namespace": "b",
            "uid": "u",
            "resourceVersion": "5",
            "generation": 2,
            "annotations": {"x": "y"},
        },
        "status": {"conditions": [{"type": "Available", "status": "True"}]},
    }
    deployment = Deployment(raw)
    assert (deployment.name, deployment.namespace, deployment.uid) == ("a", "b", "u")
    assert (deployment.resource_version, deployment.generation) == ("5", 2)
    assert deployment.annotations == {"x": "y"}
    assert deployment.condition("Available") == {"type": "Available", "status": "True"}
    assert deployment.condition("Progressing") is None
    assert "kind" not in raw  # the caller's dict is left alone
    assert Deployment.from_dict(raw) == deployment


def test_names_given_beside_an_object_do_not_change_the_callers_dict() -> None:
    raw = {"metadata": {"name": "a", "uid": "u"}}
    assert Deployment(raw, name="b").metadata == {"name": "b", "uid": "u"}
    assert raw == {"metadata": {"name": "a", "uid": "u"}}


def test_what_is_absent_reads_as_empty() -> None:
    empty = Pod({"spec": None})
    assert (empty.name, empty.namespace, empty.uid, empty.resource_version) == ("", None, "", None)
    assert empty.generation == 0
    assert (
        empty.spec == empty.status == empty.metadata == empty.data == empty.labels == empty.annotations == {}
    )
    assert empty.status.get("phase", "none") == "none"
    assert empty.condition("Ready") is None
    assert empty.raw == {"spec": None, "apiVersion": "v1", "kind": "Pod"}


def test_a_write_that_would_be_lost_is_refused() -> None:
    with pytest.raises(TypeError, match="pass it to the constructor"):
        Pod(name="a").spec["nodeName"] = "n"
    with pytest.raises(TypeError, match="pass it to the constructor"):
        Pod(name="a").labels.update({"a": "b"})
    pod = Pod(name="a", spec={})
    pod.spec["nodeName"] = "n"
    assert pod.raw["spec"] == {"nodeName": "n"}


def test_content_is_never_shown() -> None:
    assert repr(Secret(name="s", namespace="n", data={"password": "aHVudGVyMg=="})) == "<Secret n/s>"
    assert repr(ClusterRole(name="r")) == "<ClusterRole r>"


def test_equality_is_by_kind_and_content() -> None:
    assert Pod(name="a") == Pod(name="a")
    assert Pod(name="a") != Pod(name="b")
    assert Pod(name="a") != ConfigMap(name="a")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Pod, ResourceKind("", "v1", "Pod", "pods")),
        (Deployment, ResourceKind("apps", "v1", "Deployment", "deployments")),
        (Ingress, ResourceKind("networking.k8s.io", "v1", "Ingress", "ingresses")),
        (NetworkPolicy, ResourceKind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")),
        (Event, ResourceKind("events.k8s.io", "v1", "Event", "events")),
        (Lease, ResourceKind("coordination.k8s.io", "v1", "Lease", "leases")),
        (
            HorizontalPodAutoscaler,
            ResourceKind("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
        ),
        (
            ClusterRole,
            ResourceKind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False),
        ),
    ],
)
def test_builtin_kinds(kind: type[Unstructured], expected: ResourceKind) -> None:
    assert kind.resource == expected


def test_a_foreign_kind() -> None:
    class ServiceMonitor(Unstructured, group="monitoring.coreos.com", version="v1"):
        pass

    assert ServiceMonitor.resource.qualified == "servicemonitors.monitoring.coreos.com"
    assert ServiceMonitor(name="a").raw["apiVersion"] == "monitoring.coreos.com/v1"
    assert str(ServiceMonitor.resource) == "ServiceMonitor.monitoring.coreos.com/v1"
    assert Pod.resource.qualified == "pods"
    assert Pod.resource.singular == "pod"


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("OpenClaw", "openclaws"),
        ("RDSInstance", "rdsinstances"),
        ("Policy", "policies"),
        ("Gateway", "gateways"),
        ("Class", "classes"),
        ("Box", "boxes"),
        ("Batch", "batches"),
        ("Mesh", "meshes"),
    ],
)
def test_plural(kind: str, plural: str) -> None:
    assert plural_of(kind) == plural
