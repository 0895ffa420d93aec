"""Reading objects tolerantly, writing them stably."""

import json
from typing import Any

import pytest

from openclaw.api import (
    Age,
    Available,
    Condition,
    Conditions,
    CustomResource,
    Field,
    InvalidObjectError,
    Model,
    ObjectMeta,
    OwnerReference,
    ResourceKind,
    Rule,
    Scale,
)


class Greeting(CustomResource, group="demo.example.com", version="v1"):
    """A page that greets."""

    class Spec(Model):
        text: str = Field(min_length=1, description="What the page says.")
        replicas: int = Field(1, ge=0)
        note: str | None = None

    class Status(Model):
        ready_replicas: int = 0
        conditions: Conditions = Conditions()


class PolicySpec(Model):
    level: int = 3


class PolicyStatus(Model):
    seen: int | None = None


class Policy(CustomResource, group="demo.example.com", version="v1beta1", scope="Cluster", kind="Policy"):
    spec: PolicySpec
    status: PolicyStatus = PolicyStatus()


class Bare(CustomResource, group="demo.example.com", version="v1"):
    pass


def test_identity_follows_from_the_class() -> None:
    assert Greeting.resource == ResourceKind("demo.example.com", "v1", "Greeting", "greetings")
    assert Policy.resource == ResourceKind(
        "demo.example.com", "v1beta1", "Policy", "policies", namespaced=False
    )
    assert Policy.options.scope == "Cluster"
    greeting = Greeting(metadata=ObjectMeta(name="a", namespace="b"), spec=Greeting.Spec(text="hi"))
    assert (greeting.api_version, greeting.kind) == ("demo.example.com/v1", "Greeting")
    assert (greeting.name, greeting.namespace, greeting.uid) == ("a", "b", "")


def test_reading_tolerates_what_it_does_not_know_and_what_is_absent() -> None:
    greeting = Greeting.from_json(
        b'{"metadata": {"name": "a", "selfLink": "x"}, "spec": {"text": "hi", "new": {"a": 1}}, "extra": 1}'
    )
    assert greeting.spec.text == "hi"
    assert greeting.spec.replicas == 1
    assert greeting.metadata.labels == {}
    assert greeting.metadata.finalizers == []
    assert greeting.generation == 0
    assert greeting.resource_version is None
    assert not greeting.metadata.is_being_deleted
    assert greeting.status.ready_replicas == 0


@pytest.mark.parametrize("status", ["", ', "status": null', ', "status": {}'])
def test_a_status_is_always_there(status: str) -> None:
    greeting = Greeting.from_json('{"metadata": {"name": "a"}, "spec": {"text": "hi"}' + status + "}")
    assert isinstance(greeting.status, Greeting.Status)
    assert greeting.status == Greeting.Status()
    greeting.status.ready_replicas = 2
    assert Greeting.Status().ready_replicas == 0


def test_no_two_objects_share_conditions() -> None:
    one = Greeting(spec=Greeting.Spec(text="a"))
    two = Greeting(spec=Greeting.Spec(text="b"))
    one.status.conditions.set(Available(when=True))
    assert len(two.status.conditions) == 0
    assert len(Greeting.Status().conditions) == 0


@pytest.mark.parametrize("body", [{}, {"spec": None}, {"spec": {}}])
def test_a_spec_that_may_be_empty_may_be_absent(body: dict[str, Any]) -> None:
    assert Policy.from_dict(body).spec == PolicySpec(level=3)
    assert Policy.from_json(json.dumps(body)).spec == PolicySpec(level=3)


def test_a_kind_may_have_neither_spec_nor_status() -> None:
    bare = Bare.from_json(b'{"metadata": {"name": "a"}, "spec": {"ignored": 1}}')
    assert bare.status_dict() == {}
    assert Bare(metadata=ObjectMeta(name="a")).to_dict() == {
        "apiVersion": "demo.example.com/v1",
        "kind": "Bare",
        "metadata": {"name": "a"},
    }
    assert not Bare.options.status


def test_an_object_that_does_not_fit_is_explained() -> None:
    body = {"metadata": {"name": "a", "namespace": "shop"}, "spec": {"text": "", "replicas": "many"}}
    messages = []
    with pytest.raises(InvalidObjectError) as caught:
        Greeting.from_dict(body)
    messages.append(str(caught.value))
    with pytest.raises(InvalidObjectError) as caught:
        Greeting.from_json(json.dumps(body))
    messages.append(str(caught.value))
    for message in messages:
        assert message.startswith("Greeting shop/a does not fit demo.example.com/v1: ")
        assert "spec.text: String should have at least 1 character" in message
        assert "spec.replicas: " in message


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"metadata": {"name": 1}}', b'{"metadata": 3}', b"null"]
)
def test_what_is_no_object_at_all_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidObjectError, match="Greeting"):
        Greeting.from_json(body)


def test_an_error_does_not_repeat_the_value() -> None:
    with pytest.raises(InvalidObjectError) as caught:
        Greeting.from_dict({"spec": {"text": "hi", "replicas": "s3cr3t"}})
    assert "s3cr3t" not in str(caught.value)


FULL: dict[str, Any] = {
    "apiVersion": "demo.example.com/v1",
    "kind": "Greeting",
    "metadata": {
        "name": "a",
        "namespace": "shop",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 3,
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "deletionTimestamp": "2026-01-02T03:04:06Z",
        "deletionGracePeriodSeconds": 0,
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
        "finalizers": ["example.com/x"],
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "ou", "controller": True}
        ],
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
    },
    "spec": {"text": "hi", "replicas": 2},
    "status": {
        "readyReplicas": 1,
        "conditions": [
            {
                "type": "Theirs",
                "status": "True",
                "reason": "",
                "message": "",
                "lastTransitionTime": "2026-01-02T03:04:05Z",
                "severity": "Info",
            }
        ],
    },
}


def test_round_trip() -> None:
    for greeting in (Greeting.from_dict(FULL), Greeting.from_json(json.dumps(FULL))):
        assert greeting.to_dict() == FULL
        assert greeting.metadata.is_being_deleted
        owner = greeting.metadata.owner_references[0]
        assert owner == OwnerReference(
            api_version="v1", kind="ConfigMap", name="o", uid="ou", controller=True
        )


def test_what_is_written_has_no_nulls_and_nothing_empty() -> None:
    greeting = Greeting(metadata=ObjectMeta(name="a"), spec=Greeting.Spec(text="hi"))
    assert greeting.to_dict() == {
        "apiVersion": "demo.example.com/v1",
        "kind": "Greeting",
        "metadata": {"name": "a"},
        "spec": {"text": "hi", "replicas": 1},
    }


def test_status_dict_is_stable() -> None:
    greeting = Greeting.from_dict(FULL)
    first = greeting.status_dict()
    again = Greeting.from_dict({**FULL, "status": first}).status_dict()
    assert json.dumps(first) == json.dumps(again)
    assert Greeting(spec=Greeting.Spec(text="hi")).status_dict() == {"readyReplicas": 0, "conditions": []}


def test_nulls_that_mean_something_are_kept() -> None:
    class Window(Model):
        until: str | None = Field(None, nullable=True)
        since: str | None = None

    class Holder(Model):
        limit: int | None = Field(nullable=True)
        windows: list[Window] = Field(default_factory=list)
        by_name: dict[str, Window] = Field(default_factory=dict)
        other: str | None = None

    holder = Holder(limit=None, windows=[Window()], by_name={"a": Window(until="b")})
    assert holder.to_dict() == {
        "limit": None,
        "windows": [{"until": None}],
        "byName": {"a": {"until": "b"}},
    }


def test_options_are_inherited_by_a_further_version() -> None:
    class Base(
        CustomResource,
        group="demo.example.com",
        version="v1alpha1",
        kind="Base",
        short_names=["b"],
        categories=["all"],
        columns=[Age],
        selectable_fields=[".spec.host"],
        scale=Scale(),
        rules=[Rule(rule="true", message="always")],
        storage=False,
        deprecated="use v1",
    ):
        class Spec(Model):
            host: str
            replicas: int = 1

        class Status(Model):
            replicas: int = 0

    class Newer(Base, version="v1"):
        class Spec(Base.Spec):
            port: int = 80

    assert Newer.resource == ResourceKind("demo.example.com", "v1", "Base", "bases")
    assert Newer.options.short_names == ("b",)
    assert Newer.options.columns == (Age,)
    assert Newer.options.scale == Scale()
    assert Newer.options.rules == Base.options.rules
    assert Newer.options.storage
    assert not Newer.options.deprecated
    assert list(Newer.schema_of_object()["properties"]["spec"]["properties"]) == ["host", "replicas", "port"]
    assert Newer.from_dict({"spec": {"host": "a"}}).status_dict() == {"replicas": 0}


def test_a_base_without_group_is_no_kind() -> None:
    class Shared(CustomResource):
        class Status(Model):
            seen: int = 0

    class Kind(Shared, group="demo.example.com", version="v1"):
        class Spec(Model):
            a: int = 0

    assert not hasattr(Shared, "options")
    assert Kind.options.status
    assert "status" in Kind.schema_of_object()["properties"]


def test_schema_of_the_whole_object() -> None:
    schema = Greeting.schema_of_object()
    assert schema["description"] == "A page that greets."
    assert schema["required"] == ["spec"]
    assert list(schema["properties"]) == ["apiVersion", "kind", "metadata", "spec", "status"]
    assert schema["properties"]["metadata"] == {"type": "object"}
    assert "default" not in json.dumps(schema["properties"]["status"]["properties"])
    # An absent spec gets its defaults from the server.
    assert Policy.schema_of_object()["properties"]["spec"]["default"] == {}
    assert "required" not in Policy.schema_of_object()
    assert list(Bare.schema_of_object()["properties"]) == ["apiVersion", "kind", "metadata"]


def test_status_with_a_condition_survives_the_round_trip_of_python_objects() -> None:
    status = Greeting.Status(conditions=Conditions([Condition(type="A", status="True", reason="B")]))
    greeting = Greeting(spec=Greeting.Spec(text="a"), status=status)
    assert [condition.type for condition in greeting.status.conditions] == ["A"]
