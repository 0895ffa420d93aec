"""Schemas of CustomResourceDefinitions and built-in kinds: pruning, defaults, rules."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from openclaw.testing.cluster.contracts import FieldValidation, StatusError
from openclaw.testing.cluster.schema.custom_schema import CustomSchema
from openclaw.testing.cluster.schema.schemas import SchemaFactory

Object = dict[str, Any]

NUMBER: Object = {"type": "integer"}
TEXT: Object = {"type": "string"}


def schema(properties: Object, **more: Any) -> CustomSchema:
    """The schema of a custom resource whose spec has these properties."""
    spec = {"type": "object", "properties": properties, **more}
    root = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}
    names = {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    return SchemaFactory().custom(definition, "v1")


def widget(spec: Any) -> Object:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": spec,
    }


def decoded(known: CustomSchema, spec: Any, validation: FieldValidation = FieldValidation.IGNORE) -> Object:
    found: Object = known.decode(orjson.dumps(widget(spec)), validation).object["spec"]
    return found


def faults(known: CustomSchema, spec: Any, old: Any = None) -> list[str]:
    before = None if old is None else widget(old)
    return [f"{cause.field}: {cause.message}" for cause in known.validate(widget(spec), before)]


def test_unknown_fields() -> None:
    known = schema({"a": NUMBER})
    assert decoded(known, {"a": 1, "b": 2}) == {"a": 1}
    with pytest.raises(StatusError, match=r'strict decoding error: unknown field "spec\.b"'):
        decoded(known, {"a": 1, "b": 2}, FieldValidation.STRICT)
    warned = known.decode(orjson.dumps(widget({"b": 2})), FieldValidation.WARN)
    assert warned.warnings == ('unknown field "spec.b"',)
    preserving = schema({"a": NUMBER}, **{"x-kubernetes-preserve-unknown-fields": True})
    assert decoded(preserving, {"a": 1, "b": 2}) == {"a": 1, "b": 2}


def test_defaults() -> None:
    nested = {"type": "object", "default": {}, "properties": {"size": {**NUMBER, "default": 3}}}
    known = schema({"nested": nested, "mode": {**TEXT, "default": "on"}, "free": {**TEXT, "nullable": True}})
    assert decoded(known, {}) == {"nested": {"size": 3}, "mode": "on"}
    assert decoded(known, {"mode": None, "free": None}) == {"nested": {"size": 3}, "mode": "on", "free": None}


@pytest.mark.parametrize(
    ("node", "value", "said"),
    [
        (NUMBER, "1", 'must be of type integer: "string"'),
        ({**NUMBER, "minimum": 2}, 1, "should be greater than or equal to 2"),
        ({**NUMBER, "maximum": 2}, 3, "should be less than or equal to 2"),
        ({**TEXT, "maxLength": 2}, "abc", "may not be more than 2"),
        ({**TEXT, "pattern": "^a$"}, "b", "should match '^a$'"),
        ({**TEXT, "enum": ["a", "b"]}, "c", 'supported values: "a", "b"'),
        ({**TEXT, "format": "date-time"}, "now", "must be of type date-time"),
        ({"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}, ["a", "a"], "Duplicate value"),
        ({"x-kubernetes-int-or-string": True}, 1.5, "must be of type"),
    ],
)
def test_values_that_do_not_fit(node: Object, value: Any, said: str) -> None:
    [fault] = faults(schema({"a": node}), {"a": value})
    assert fault.startswith("spec.a")
    assert said in fault


def test_required() -> None:
    assert faults(schema({"a": NUMBER}, required=["a"]), {}) == ["spec.a: Required value"]


def test_rules() -> None:
    rules = [
        {"rule": "self.low <= self.high", "messageExpression": "'low is ' + string(self.low)"},
        {"rule": "self.high >= oldSelf.high", "message": "must not shrink", "fieldPath": ".high"},
    ]
    known = schema({"low": NUMBER, "high": NUMBER}, **{"x-kubernetes-validations": rules})
    assert faults(known, {"low": 1, "high": 2}) == []
    [fault] = faults(known, {"low": 3, "high": 2})
    assert "low is 3" in fault
    [fault] = faults(known, {"low": 1, "high": 2}, old={"low": 1, "high": 5})
    assert fault.startswith("spec.high")
    assert "must not shrink" in fault


def test_what_was_wrong_before_may_stay() -> None:
    known = schema({"a": {**NUMBER, "minimum": 2}, "b": NUMBER})
    assert faults(known, {"a": 1, "b": 2}, old={"a": 1, "b": 1}) == []
    assert len(faults(known, {"a": 0, "b": 2}, old={"a": 1, "b": 1})) == 1


def test_defaults_of_a_deployment() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    known = SchemaFactory().builtin("apps", "v1", "Deployment")
    found = known.decode(orjson.dumps(body), FieldValidation.STRICT).object
    assert found["spec"]["replicas"] == 1
    assert found["spec"]["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    }
    pod = found["spec"]["template"]["spec"]
    assert (pod["restartPolicy"], pod["terminationGracePeriodSeconds"]) == ("Always", 30)
    assert pod["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert known.validate({**found, "metadata": {"name": "d", "namespace": "default"}}, None) == []
