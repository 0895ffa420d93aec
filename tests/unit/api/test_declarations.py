"""A declaration that no CRD can express is refused while its class is created, by class and field."""

import datetime as dt
import types
import uuid
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest

from openclaw.api import Column, CustomResource, Field, Model, Rule, Scale, SchemaError


class Item(Model):
    name: str
    size: int | None = None
    tags: list[str] = Field(default_factory=list)


class Mixed(Enum):
    ONE = 1
    TWO = "two"


@pytest.mark.parametrize(
    ("annotation", "default", "message"),
    [
        (str | bool, ..., r"one optional field for each alternative"),
        (Item | str, ..., r"only union"),
        (set[str], ..., r"list_type='set'"),
        (tuple[int, int], ..., r"list\[X\]"),
        (bytes, ..., r"format='byte'"),
        (uuid.UUID, ..., r"format='uuid'"),
        (dt.datetime, ..., r"format='date-time'"),
        (dt.timedelta, ..., r"format='duration'"),
        (Decimal, ..., r"Quantity"),
        (dict, ..., r"dict\[str, X\]"),
        (list, ..., r"list\[X\]"),
        (Any, ..., r"preserve_unknown=True"),
        (dict[str, Any], ..., r"it\[\*\].*preserve_unknown=True"),
        (dict[int, str], ..., r"keys of a map are plain str"),
        (Literal["a", 1], ..., r"all be strings, or all integers"),
        (Mixed, ..., r"all be strings, or all integers"),
        (
            str,
            Field(ge=1),
            r"ge, le, gt, lt and multiple_of are for numbers, but the field is of type string",
        ),
        (int, Field(pattern="a"), r"a pattern is for strings"),
        (int, Field(max_length=1), r"lengths are for"),
        (int, Field(list_type="set"), r"list_type is for lists"),
        (str, Field(map_type="atomic"), r"map_type is for maps"),
        (str, Field(preserve_unknown=True), r"preserve_unknown is for objects"),
        (str, Field(embedded_resource=True), r"embedded_resource is for objects"),
        (str, Field(int_or_string=True), r"must be `int \| str`"),
        (str, Field(nullable=True), r"must admit None"),
        (str, Field(format="nonsense"), r"knows no format 'nonsense'.*date-time"),
        (int, Field(format="date-time"), r"int32, int64"),
        (str, Field(pattern_message="x"), r"needs a pattern"),
        (Annotated[str, Field(pattern="a")], Field(pattern="b"), r"has a pattern already"),
        (list[Item], Field(list_type="map"), r"needs list_map_keys"),
        (list[Item], Field(list_map_keys=["name"]), r"goes with list_type='map'"),
        (list[Item], Field(list_type="map", list_map_keys=["nome"]), r"names 'nome', which is no field"),
        (list[Item], Field(list_type="map", list_map_keys=["size"]), r"'size' must be required"),
        (list[Item], Field(list_type="map", list_map_keys=["tags"]), r"'tags' must be a scalar"),
        (list[Item], Field(list_type="set"), r"sets of scalars only"),
        (list[list[str]], Field(list_type="set"), r"sets of scalars only"),
        (int, Field(7, le=5), r"the default 7 is not allowed.*less than or equal to 5"),
        (Literal["a"], Field("b"), r"the default 'b' is not allowed"),
        (str, Field("b", enum=["a"]), r"must be one of 'a'"),
    ],
)
def test_field(annotation: Any, default: Any, message: str) -> None:
    body = {"__annotations__": {"it": annotation}} | ({} if default is ... else {"it": default})
    with pytest.raises(SchemaError, match=message) as caught:
        types.new_class("Holder", (Model,), {}, lambda namespace: namespace.update(body))
    assert "Holder.it" in str(caught.value)


def test_transition_rules_need_items_with_an_identity() -> None:
    class Frozen(Model):
        name: str
        value: str = Field(immutable=True)

    class Allowed(Model):
        items: list[Frozen] = Field(list_type="map", list_map_keys=["name"])
        by_name: dict[str, Frozen] = Field(default_factory=dict)

    with pytest.raises(SchemaError, match=r"Refused\.items\[\*\]\.value.*list_map_keys"):

        class Refused(Model):
            items: list[Frozen]

    with pytest.raises(SchemaError, match=r"transition rule"):

        class Inner(Model):
            items: list[Allowed] = Field(list_type="atomic")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rule": " ", "message": "m"}, "needs a CEL expression"),
        ({"rule": "true"}, "needs a message"),
        ({"rule": "true", "message": "two\nlines"}, "one line"),
    ],
)
def test_rule(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Rule(**arguments)


def test_field_with_two_words_for_one_thing() -> None:
    with pytest.raises(SchemaError, match="one bound"):
        Field(min_items=1, min_length=2)
    with pytest.raises(SchemaError, match="not both"):
        Field(1, default_factory=int)


GOOD: dict[str, Any] = {"group": "demo.example.com", "version": "v1"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"group": None}, "both group and version"),
        ({"version": None}, "both group and version"),
        ({"group": "demo"}, "must be a DNS name of your own"),
        ({"group": "Demo.example.com"}, "must be a DNS name of your own"),
        ({"group": "demo.k8s.io"}, "belongs to Kubernetes"),
        ({"version": "1"}, "must be like v1"),
        ({"kind": "thing"}, "CamelCase"),
        ({"plural": "Things"}, "plural 'Things'"),
        ({"short_names": ["t h"]}, "short_names 't h'"),
        ({"categories": ["All"]}, "categories 'All'"),
        ({"columns": [Column("Host", "spec.host")]}, "must start with '.'"),
        ({"columns": [Column("Host", ".spec.hots")]}, "leads nowhere: no field 'hots' among host"),
        ({"columns": [Column("A", ".spec.host"), Column("A", ".spec.host")]}, "A stands twice"),
        ({"selectable_fields": [".metadata.name"]}, "must be a path like .spec.host"),
        ({"selectable_fields": [".spec.nothing"]}, "leads nowhere"),
        ({"selectable_fields": [".spec"]}, "must be a string, integer or boolean"),
        ({"selectable_fields": [f".spec.f{i}" for i in range(9)]}, "at most 8"),
        ({"scale": Scale(spec_replicas=".replicas")}, "must start with '.spec.'"),
        ({"scale": Scale()}, "leads nowhere: no field 'replicas'"),
    ],
)
def test_class_keywords(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message) as caught:

        class Thing(CustomResource, **{**GOOD, **changes}):
            class Spec(Model):
                host: str

            class Status(Model):
                ready: bool = False

    assert "Thing" in str(caught.value)


def test_scale_needs_a_status() -> None:
    with pytest.raises(SchemaError, match="scale needs a Status"):

        class Thing(CustomResource, group="demo.example.com", version="v1", scale=Scale()):
            class Spec(Model):
                replicas: int = 1


def test_a_status_field_needs_a_default() -> None:
    with pytest.raises(SchemaError, match=r"Status\.ready needs a default"):

        class Thing(CustomResource, group="demo.example.com", version="v1"):
            class Status(Model):
                ready: int


def test_sections_are_models() -> None:
    with pytest.raises(SchemaError, match=r"Thing\.spec must be a Model"):

        class Thing(CustomResource, group="demo.example.com", version="v1"):
            spec: dict[str, Any]

    with pytest.raises(SchemaError, match=r"Other\.spec: Unknown is not known here"):

        class Other(CustomResource, group="demo.example.com", version="v1"):
            spec: "Unknown"  # type: ignore[name-defined]  # noqa: F821


def test_a_reserved_name_that_cel_can_not_reach() -> None:
    with pytest.raises(SchemaError, match="CEL can't reach"):

        class Holder(Model):
            it: str | None = Field(None, name="a b", immutable=True)
