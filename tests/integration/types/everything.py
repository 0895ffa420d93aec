"""A kind that has every marker, in two versions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from openclaw.api import (
    Column,
    Conditions,
    CustomResource,
    Field,
    Model,
    Rule,
    Scale,
)

GROUP = "everything.example.com"


class Port(Model):
    """A port, known by its name."""

    name: str = Field(max_length=20, description="The name.")
    number: int = Field(ge=1, le=65535, description="The number.")
    protocol: Literal["TCP", "UDP"] = Field("TCP", description="The protocol.")


class Window(
    Model,
    rules=[Rule(rule="self.start <= self.end", message="start must not be after end", field_path=".start")],
):
    """A part of the day, in hours."""

    start: int = Field(0, ge=0, le=23, description="The first hour.")
    end: int = Field(23, ge=0, le=23, description="The last hour.")


class EverythingSpec(Model):
    """All that can be said of a field."""

    title: str = Field(
        min_length=2,
        max_length=10,
        pattern="^[a-z]+$",
        pattern_message="must be lower-case letters",
        description="Required.",
        examples=["abc"],
    )
    region: str | None = Field(None, immutable=True, max_length=20, description="Immutable once set.")
    size: int = Field(
        1,
        ge=0,
        le=100,
        multiple_of=1,
        description="Only grows.",
        rules=[Rule(rule="self >= oldSelf", message="size can only grow", reason="FieldValueForbidden")],
    )
    ratio: float = Field(0.5, gt=0, lt=1, description="Between 0 and 1, both excluded.")
    color: str = Field("red", enum=["red", "green"], description="One of two.")
    level: Literal["low", "high"] = Field("low", description="A literal.")
    ports: list[Port] = Field(
        default_factory=list, list_type="map", list_map_keys=["name"], max_items=3, description="By name."
    )
    tags: list[Annotated[str, Field(max_length=5)]] = Field(
        default_factory=list, list_type="set", max_items=3, min_items=0, description="No tag twice."
    )
    steps: list[str] = Field(default_factory=list, list_type="atomic", description="In order.")
    surge: int | str = Field("25%", int_or_string=True, description="A number or a percentage.")
    anything: dict[str, Any] = Field(default_factory=dict, preserve_unknown=True, description="Open.")
    template: dict[str, Any] | None = Field(
        None, embedded_resource=True, preserve_unknown=True, description="An object of any kind."
    )
    note: str | None = Field("default", nullable=True, max_length=50, description="May be null.")
    since: str | None = Field(None, format="date-time", description="A moment.")
    window: Window = Field(default_factory=Window, description="When.")
    labels: dict[str, Annotated[str, Field(max_length=3)]] = Field(
        default_factory=dict, max_properties=2, description="A map."
    )
    replicas: int = Field(1, ge=0, description="For the scale subresource.")
    host: str = Field("a.example.com", max_length=50, description="Selectable.")


class EverythingStatus(Model):
    """What was observed."""

    replicas: int = Field(0, description="Observed.")
    selector: str | None = Field(None, description="Of the pods.")
    conditions: Conditions = Field(default_factory=Conditions)


class EverythingV1(
    CustomResource,
    group=GROUP,
    version="v1",
    kind="Everything",
    plural="everythings",
    short_names=("evry",),
    categories=("demo",),
    columns=(Column("Title", ".spec.title"), Column("Wide", ".spec.ratio", "number", priority=1)),
    selectable_fields=(".spec.host",),
    scale=Scale(label_selector=".status.selector"),
    rules=[
        Rule(
            rule="self.metadata.name != 'forbidden'",
            message_expression="'the name ' + self.metadata.name + ' is taken'",
        )
    ],
):
    """Everything."""

    spec: EverythingSpec
    status: EverythingStatus = EverythingStatus()


class OldSpec(Model):
    """Less can be said here."""

    title: str = Field(min_length=2, max_length=10, description="Required.")


class EverythingV1Beta1(
    CustomResource,
    group=GROUP,
    version="v1beta1",
    kind="Everything",
    plural="everythings",
    storage=False,
    deprecated="everything.example.com/v1beta1 Everything is old; use v1",
):
    """Everything, before."""

    spec: OldSpec
