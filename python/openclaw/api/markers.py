"""What a declaration says beyond the Python type: the counterpart of kubebuilder's markers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from openclaw.api.errors import SchemaError

ListType = Literal["atomic", "set", "map"]
MapType = Literal["granular", "atomic"]
Reason = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A CEL validation rule, run by the API server on every write.

    `self` is the value at which the rule stands, `oldSelf` the value before an update: a rule that names
    `oldSelf` is a transition rule and runs on updates only, unless `optional_old_self` (then `oldSelf` is an
    optional value).

    Attributes:
        rule: the CEL expression; true means valid.
        message: what the user is told: say what is allowed. One line.
        message_expression: a CEL expression that computes the message; `message` is used when it fails.
        reason: the machine-readable reason of the refusal.
        field_path: the field at fault, relative to where the rule stands, such as `.replicas`.
        optional_old_self: run on creation too, with `oldSelf` as an optional value.

    Raises:
        SchemaError: there is neither a message nor a message expression, or the message has several lines.
    """

    rule: str
    message: str | None = None
    message_expression: str | None = None
    reason: Reason | None = None
    field_path: str | None = None
    optional_old_self: bool = False

    def __post_init__(self) -> None:
        if not self.rule.strip():
            raise SchemaError("a Rule needs a CEL expression")
        if not (self.message or self.message_expression):
            raise SchemaError(f"the rule `{self.rule}` needs a message that says what is allowed")
        if self.message is not None and ("\n" in self.message or not self.message.strip()):
            raise SchemaError(f"the message of the rule `{self.rule}` must be one line of text")

    @property
    def is_transition(self) -> bool:
        """Whether the rule compares with the value before the update."""
        return "oldSelf" in self.rule

    def to_schema(self) -> dict[str, Any]:
        """The rule as an entry of `x-kubernetes-validations`."""
        entry: dict[str, Any] = {"rule": self.rule}
        if self.message is not None:
            entry["message"] = self.message
        if self.message_expression is not None:
            entry["messageExpression"] = self.message_expression
        if self.reason is not None:
            entry["reason"] = self.reason
        if self.field_path is not None:
            entry["fieldPath"] = self.field_path
        if self.optional_old_self:
            entry["optionalOldSelf"] = True
        return entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Markers:
    """Field facts that pydantic has no word for. Written by `Field`, read by the schema generator."""

    format: str | None = None
    enum: tuple[Any, ...] | None = None
    pattern_message: str | None = None
    list_type: ListType | None = None
    list_map_keys: tuple[str, ...] = ()
    map_type: MapType | None = None
    int_or_string: bool = False
    preserve_unknown: bool = False
    embedded_resource: bool = False
    immutable: bool = False
    nullable: bool = False
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Facts of a Model as a whole, given as class keywords."""

    rules: tuple[Rule, ...] = ()
    map_type: MapType | None = None
    preserve_unknown: bool = False
    embedded_resource: bool = False
    min_properties: int | None = None
    max_properties: int | None = None

    def inherited_by(
        self,
        *,
        rules: Sequence[Rule],
        map_type: MapType | None,
        preserve_unknown: bool | None,
        embedded_resource: bool | None,
        min_properties: int | None,
        max_properties: int | None,
    ) -> ModelOptions:
        """The options of a subclass: its own where given, else these; the rules of both."""
        return ModelOptions(
            rules=(*self.rules, *rules),
            map_type=map_type or self.map_type,
            preserve_unknown=self.preserve_unknown if preserve_unknown is None else preserve_unknown,
            embedded_resource=self.embedded_resource if embedded_resource is None else embedded_resource,
            min_properties=self.min_properties if min_properties is None else min_properties,
            max_properties=self.max_properties if max_properties is None else max_properties,
        )
