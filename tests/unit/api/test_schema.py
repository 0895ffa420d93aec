"""Every marker, as it stands in the structural schema."""

import types
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NewType

import pytest
from annotated_types import Ge, Interval, Len

from openclaw.api import Conditions, Field, Model, Quantity, Rule, SchemaError
from openclaw.api.schema import model_schema


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Port(Model):
    """One port."""

    name: str = Field(description="Its name.")
    number: int = Field(80, ge=1, le=65535)


class Atomic(Model, map_type="atomic"):
    x: int = 0


UserName = NewType("UserName", str)
NAMES = Annotated[str, Field(min_length=1, max_length=10, pattern="^[a-z]+$")]


def schema_of(annotation: Any, default: Any = ...) -> dict[str, Any]:
    """The schema of a single field `it`."""
    body = {"__annotations__": {"it": annotation}} | ({} if default is ... else {"it": default})
    return model_schema(types.new_class("Holder", (Model,), {}, lambda namespace: namespace.update(body)))


def field_schema(annotation: Any, default: Any = ...) -> dict[str, Any]:
    schema: dict[str, Any] = schema_of(annotation, default)["properties"]["it"]
    return schema


INT_OR_STRING = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}


@pytest.mark.parametrize(
    ("annotation", "default", "expected"),
    [
        (str, ..., {"type": "string"}),
        (bool, ..., {"type": "boolean"}),
        (int, ..., {"type": "integer"}),
        (float, ..., {"type": "number"}),
        (UserName, ..., {"type": "string"}),
        (list[str], ..., {"type": "array", "items": {"type": "string"}}),
        (dict[str, int], ..., {"type": "object", "additionalProperties": {"type": "integer"}}),
        (
            dict[str, list[bool]],
            ...,
            {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "boolean"}}},
        ),
        (Literal["a", "b"], ..., {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, 2], ..., {"type": "integer", "enum": [1, 2]}),
        (Colour, ..., {"type": "string", "enum": ["red", "blue"]}),
        (Level, ..., {"type": "integer", "enum": [1, 2]}),
        (int | str, ..., INT_OR_STRING),
        (str, Field(description="What it is."), {"description": "What it is.", "type": "string"}),
        (int, Field(ge=1, le=9), {"type": "integer", "minimum": 1, "maximum": 9}),
        (
            int,
            Field(gt=0, lt=10),
            {
                "type": "integer",
                "minimum": 0,
                "exclusiveMinimum": True,
                "maximum": 10,
                "exclusiveMaximum": True,
            },
        ),
        (float, Field(ge=0.5, multiple_of=0.5), {"type": "number", "minimum": 0.5, "multipleOf": 0.5}),
        (Annotated[int, Ge(3)], ..., {"type": "integer", "minimum": 3}),
        (Annotated[int, Interval(ge=1, le=2)], ..., {"type": "integer", "minimum": 1, "maximum": 2}),
        (Annotated[str, Len(1, 5)], ..., {"type": "string", "minLength": 1, "maxLength": 5}),
        (str, Field(min_length=1, max_length=5), {"type": "string", "minLength": 1, "maxLength": 5}),
        (
            list[str],
            Field(min_items=1, max_items=5),
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 5},
        ),
        (
            list[str],
            Field(min_length=1, max_length=5),
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 5},
        ),
        (
            dict[str, str],
            Field(min_properties=1, max_properties=5),
            {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "minProperties": 1,
                "maxProperties": 5,
            },
        ),
        (str, Field(pattern="^a+$"), {"type": "string", "pattern": "^a+$"}),
        (
            str,
            Field(pattern=r"^\d+'$", pattern_message="digits and a quote"),
            {
                "type": "string",
                "x-kubernetes-validations": [
                    {"rule": r"self.matches('^\\d+\'$')", "message": "digits and a quote"}
                ],
            },
        ),
        (str, Field(format="date-time"), {"type": "string", "format": "date-time"}),
        (int, Field(format="int32"), {"type": "integer", "format": "int32"}),
        (str, Field(enum=["a", "b"]), {"type": "string", "enum": ["a", "b"]}),
        (str | None, Field(nullable=True), {"type": "string", "nullable": True}),
        (str | None, Field(None, nullable=True), {"type": "string", "nullable": True}),
        (str | None, ..., {"type": "string", "nullable": True}),
        (str | None, None, {"type": "string"}),
        (list[str | None], ..., {"type": "array", "items": {"type": "string", "nullable": True}}),
        (
            list[NAMES],
            Field(list_type="set"),
            {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": 10, "pattern": "^[a-z]+$"},
                "x-kubernetes-list-type": "set",
            },
        ),
        (
            list[str],
            Field(list_type="atomic"),
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
        ),
        (
            dict[str, str],
            Field(map_type="atomic"),
            {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "x-kubernetes-map-type": "atomic",
            },
        ),
        (int | str, Field(int_or_string=True), INT_OR_STRING),
        (int | str, Field("25%"), {**INT_OR_STRING, "default": "25%"}),
        (Any, Field(preserve_unknown=True), {"x-kubernetes-preserve-unknown-fields": True}),
        (
            dict[str, Any],
            Field(preserve_unknown=True),
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        ),
        (
            dict[str, Any],
            Field(embedded_resource=True),
            {"type": "object", "x-kubernetes-embedded-resource": True},
        ),
        (
            str,
            Field(immutable=True),
            {
                "type": "string",
                "x-kubernetes-validations": [
                    {"rule": "self == oldSelf", "message": "the field is immutable: it can't be changed"}
                ],
            },
        ),
        (
            int,
            Field(
                rules=[
                    Rule(
                        rule="self >= oldSelf.orValue(0)",
                        message="grows only",
                        message_expression="'not ' + string(self)",
                        reason="FieldValueForbidden",
                        optional_old_self=True,
                    )
                ]
            ),
            {
                "type": "integer",
                "x-kubernetes-validations": [
                    {
                        "rule": "self >= oldSelf.orValue(0)",
                        "message": "grows only",
                        "messageExpression": "'not ' + string(self)",
                        "reason": "FieldValueForbidden",
                        "optionalOldSelf": True,
                    }
                ],
            },
        ),
        (
            str,
            Field(description="A host.", examples=["a.example.com"]),
            {"description": "A host.\nExample: a.example.com", "type": "string"},
        ),
        (int, Field(examples=[1, 2]), {"description": "Examples: 1, 2", "type": "integer"}),
        (
            Port,
            ...,
            {
                "description": "One port.",
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"description": "Its name.", "type": "string"},
                    "number": {"type": "integer", "minimum": 1, "maximum": 65535, "default": 80},
                },
            },
        ),
    ],
)
def test_marker(annotation: Any, default: Any, expected: dict[str, Any]) -> None:
    assert field_schema(annotation, default) == expected


@pytest.mark.parametrize(
    ("annotation", "default", "required", "in_schema"),
    [
        (str, ..., True, None),
        (str, Field(), True, None),
        (str, "x", False, "x"),
        (int, Field(0), False, 0),
        (bool, False, False, False),
        (str | None, None, False, None),
        (list[str], Field(["a"]), False, ["a"]),
        (list[str], Field(default_factory=list), False, None),
        (Colour, Colour.RED, False, "red"),
        (Atomic, Field(Atomic()), False, {}),
        (Atomic, Field(Atomic(x=3)), False, {"x": 3}),
        (Quantity, Quantity("1Gi"), False, "1Gi"),
    ],
)
def test_required_and_default(annotation: Any, default: Any, required: bool, in_schema: Any) -> None:
    schema = schema_of(annotation, default)
    assert schema.get("required", []) == (["it"] if required else [])
    assert schema["properties"]["it"].get("default") == in_schema
    assert ("default" in schema["properties"]["it"]) is (in_schema is not None)


def test_the_status_mode_leaves_defaults_to_the_controller() -> None:
    class Holder(Model):
        count: int = 3
        part: Port = Port(name="a")

    schema = model_schema(Holder, defaults=False)
    assert "default" not in str(schema)
    assert "required" not in schema


def test_names_are_camel_case_unless_named() -> None:
    class Holder(Model):
        service_type: str
        pod_ip: str = Field(name="podIP")
        model_name: str = "m"  # pydantic would keep the prefix `model_` for itself

    assert list(model_schema(Holder)["properties"]) == ["serviceType", "podIP", "modelName"]


def test_facts_of_the_field_win_over_those_of_its_type_and_the_tightest_bound_over_both() -> None:
    class Holder(Model):
        name: NAMES = Field(max_length=3, description="Outer.")
        long: Annotated[NAMES, Field(max_length=20)]
        port: Port = Field(description="Where it listens.")

    properties = model_schema(Holder)["properties"]
    assert properties["name"]["maxLength"] == 3
    assert properties["name"]["minLength"] == 1
    assert properties["long"]["maxLength"] == 10
    assert properties["port"]["description"] == "Where it listens."


def test_rules_of_type_field_and_model_add_up() -> None:
    positive = Rule(rule="self > 0", message="must be positive")
    even = Rule(rule="self % 2 == 0", message="must be even")
    whole = Rule(rule="self.it < 10", message="it must be less than 10", field_path=".it")

    class Base(Model, rules=[whole]):
        it: Annotated[int, Field(rules=[positive])] = Field(rules=[even, positive])

    class Derived(Base, rules=[Rule(rule="has(self.it)", message="it is needed")]):
        pass

    schema = model_schema(Derived)
    assert [entry["rule"] for entry in schema["properties"]["it"]["x-kubernetes-validations"]] == [
        "self % 2 == 0",
        "self > 0",
    ]
    assert schema["x-kubernetes-validations"] == [
        {"rule": "self.it < 10", "message": "it must be less than 10", "fieldPath": ".it"},
        {"rule": "has(self.it)", "message": "it is needed"},
    ]


def test_an_immutable_field_that_may_be_absent_can_not_be_removed_either() -> None:
    class Holder(Model):
        required: str = Field(immutable=True)
        defaulted: str = Field("a", immutable=True)
        optional: str | None = Field(None, immutable=True)
        namespace: str | None = Field(None, immutable=True)

    schema = model_schema(Holder)
    assert [rule["rule"] for rule in schema["x-kubernetes-validations"]] == [
        "!has(oldSelf.optional) || has(self.optional)",
        "!has(oldSelf.__namespace__) || has(self.__namespace__)",
    ]
    assert schema["x-kubernetes-validations"][0]["fieldPath"] == ".optional"


def test_options_of_a_model() -> None:
    class Open(Model, preserve_unknown=True, min_properties=1, max_properties=3):
        known: int = 0

    class Whole(Model, embedded_resource=True):
        pass

    assert model_schema(Open) == {
        "type": "object",
        "properties": {"known": {"type": "integer", "default": 0}},
        "minProperties": 1,
        "maxProperties": 3,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    assert model_schema(Whole) == {"type": "object", "x-kubernetes-embedded-resource": True}
    assert model_schema(Atomic)["x-kubernetes-map-type"] == "atomic"
    assert Open.model_validate({"other": 1}).to_dict() == {"known": 0, "other": 1}
    assert Port.model_validate({"name": "a", "other": 1}).to_dict() == {"name": "a", "number": 80}


def test_list_map() -> None:
    class Holder(Model):
        ports: list[Port] = Field(list_type="map", list_map_keys=["name", "number"])

    schema = model_schema(Holder)["properties"]["ports"]
    assert schema["x-kubernetes-list-type"] == "map"
    assert schema["x-kubernetes-list-map-keys"] == ["name", "number"]


def test_conditions_have_the_schema_of_metav1() -> None:
    class Holder(Model):
        conditions: Conditions = Conditions()

    schema = model_schema(Holder, defaults=False)["properties"]["conditions"]
    assert schema["x-kubernetes-list-type"] == "map"
    assert schema["x-kubernetes-list-map-keys"] == ["type"]
    items = schema["items"]
    assert items["required"] == ["type", "status", "lastTransitionTime", "reason", "message"]
    assert items["properties"]["reason"]["pattern"] == "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
    assert items["properties"]["message"]["maxLength"] == 32768
    assert items["properties"]["lastTransitionTime"]["format"] == "date-time"
    assert items["properties"]["status"]["enum"] == ["True", "False", "Unknown"]


def test_quantity() -> None:
    schema = field_schema(Quantity)
    assert schema["x-kubernetes-int-or-string"] is True
    assert schema["pattern"].startswith("^")


def test_docstrings_are_cleaned() -> None:
    class Holder(Model):
        """First line.

        Second paragraph.
        """

    assert model_schema(Holder)["description"] == "First line.\n\nSecond paragraph."


def test_a_recursive_model_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"Node contains itself.*recursive"):

        class Node(Model):
            children: "list[Node]" = Field(default_factory=list)
