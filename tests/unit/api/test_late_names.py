"""Declarations in modules whose annotations are text, and that name classes before they are defined."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from openclaw.api import CustomResource, Field, Model, SchemaError

if TYPE_CHECKING:  # for the tools only: at run time these names are not there

    class Later(Model): ...

    class Nowhere(Model): ...


class Gadget(CustomResource, group="demo.example.com", version="v1"):
    class Spec(Model):
        parts: list[Part] = Field(default_factory=list, list_type="atomic")

    class Status(Model):
        seen: int = 0

    spec: Spec
    status: Status = Status()


class Part(Model):
    size: int = Field(1, ge=1)


def test_text_annotations() -> None:
    schema = Gadget.schema_of_object()["properties"]
    assert schema["spec"] == {
        "description": "The desired state.",
        "type": "object",
        "properties": {
            "parts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"size": {"type": "integer", "minimum": 1, "default": 1}},
                },
                "x-kubernetes-list-type": "atomic",
            }
        },
    }
    gadget = Gadget.from_json('{"spec": {"parts": [{"size": 3}]}, "status": null}')
    assert gadget.spec.parts == [Part(size=3)]
    assert gadget.status.seen == 0
    assert next(iter(schema["status"])) == "description"


def test_a_name_that_is_never_defined_is_told() -> None:
    class Holder(CustomResource, group="demo.example.com", version="v1"):
        class Spec(Model):
            late: Later = Field(description="What comes later.")

    with pytest.raises(SchemaError, match=r"Spec\.late: Later names something that is not defined"):
        Holder.schema_of_object()


def test_sections_named_by_text_must_be_known() -> None:
    with pytest.raises(SchemaError, match=r"Other\.spec: Nowhere is not known here"):

        class Other(CustomResource, group="demo.example.com", version="v1"):
            spec: Nowhere
