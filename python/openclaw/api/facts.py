"""Collects what the metadata of one annotation says: pydantic's constraints and our markers together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import annotated_types
from pydantic.fields import FieldInfo

from openclaw.api.markers import ListType, MapType, Markers, Rule


@dataclass(slots=True)
class Facts:
    """The merged facts of one place in the schema. What is said later wins; rules add up."""

    description: str | None = None
    examples: list[Any] = field(default_factory=list)
    ge: float | None = None
    le: float | None = None
    gt: float | None = None
    lt: float | None = None
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    pattern_message: str | None = None
    format: str | None = None
    enum: tuple[Any, ...] | None = None
    list_type: ListType | None = None
    list_map_keys: tuple[str, ...] = ()
    map_type: MapType | None = None
    int_or_string: bool = False
    preserve_unknown: bool = False
    embedded_resource: bool = False
    immutable: bool = False
    nullable: bool = False
    rules: tuple[Rule, ...] = ()

    @classmethod
    def of(cls, metadata: Iterable[Any]) -> Facts:
        """Collect the facts in `metadata`; what says nothing about a schema (validators) is passed over."""
        facts = cls()
        for entry in metadata:
            facts._add(entry)
        return facts

    def overridden_by(self, outer: Facts) -> Facts:
        """These facts with those of the place around them, which win."""
        untold = Facts()
        for fact in fields(self):
            value = getattr(outer, fact.name)
            if fact.name != "rules" and value != getattr(untold, fact.name):
                setattr(self, fact.name, value)
        self.rules = (*self.rules, *outer.rules)
        return self

    def _add(self, entry: Any) -> None:
        match entry:
            case FieldInfo():
                self.description = entry.description or self.description
                self.examples = entry.examples or self.examples
                for part in entry.metadata:
                    self._add(part)
            case Markers():
                self._add_markers(entry)
            case annotated_types.GroupedMetadata():
                for part in entry:
                    self._add(part)
            case _:
                self._add_bound(entry)

    def _add_bound(self, entry: Any) -> None:
        match entry:
            case annotated_types.Ge():
                self.ge = _number(entry.ge)
            case annotated_types.Le():
                self.le = _number(entry.le)
            case annotated_types.Gt():
                self.gt = _number(entry.gt)
            case annotated_types.Lt():
                self.lt = _number(entry.lt)
            case annotated_types.MultipleOf():
                self.multiple_of = _number(entry.multiple_of)
            case annotated_types.MinLen():
                self.min_length = entry.min_length
            case annotated_types.MaxLen():
                self.max_length = entry.max_length
            case _:
                # pydantic keeps a pattern in a class of its own that has no public name.
                pattern = getattr(entry, "pattern", None)
                if pattern is not None:
                    self.pattern = pattern if isinstance(pattern, str) else pattern.pattern

    def _add_markers(self, markers: Markers) -> None:
        self.format = markers.format or self.format
        self.enum = markers.enum if markers.enum is not None else self.enum
        self.pattern_message = markers.pattern_message or self.pattern_message
        self.list_type = markers.list_type or self.list_type
        self.list_map_keys = markers.list_map_keys or self.list_map_keys
        self.map_type = markers.map_type or self.map_type
        self.int_or_string = markers.int_or_string or self.int_or_string
        self.preserve_unknown = markers.preserve_unknown or self.preserve_unknown
        self.embedded_resource = markers.embedded_resource or self.embedded_resource
        self.immutable = markers.immutable or self.immutable
        self.nullable = markers.nullable or self.nullable
        self.rules = (*self.rules, *markers.rules)


def _number(bound: Any) -> float:
    """A bound as the number that JSON shows: 1 stays 1, 1.0 becomes 1."""
    number: float = bound
    return int(number) if float(number).is_integer() else number
