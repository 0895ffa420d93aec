"""Collects what the metadata of one annotation says: pydantic's constraints and our markers together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import annotated_types
from pydantic.fields import FieldInfo

from openclaw.api.markers import ListType, MapType, Markers, Rule


@dataclass(slots=True)
class Facts:
    """The merged facts of one place in the schema.

    The outermost statement wins; of bounds the tightest; rules add up.
    """

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
    has_second_pattern: bool = False

    @classmethod
    def of(cls, metadata: Iterable[Any]) -> Facts:
        """Collect the facts in `metadata`; what says nothing about a schema (validators) is passed over."""
        facts = cls()
        for entry in metadata:
            facts._add(entry)
        return facts

    def overridden_by(self, outer: Facts) -> Facts:
        """These facts together with those of the place around them, which win."""
        for fact in fields(self):
            outer._say(fact.name, getattr(self, fact.name))
        return outer

    def _add(self, entry: Any) -> None:
        match entry:
            case FieldInfo():
                self._say("description", entry.description)
                self._say("examples", entry.examples)
                for part in entry.metadata:
                    self._add(part)
            case Markers():
                for marker in fields(entry):
                    self._say(marker.name, getattr(entry, marker.name))
            case annotated_types.GroupedMetadata():
                for part in entry:
                    self._add(part)
            case _:
                self._add_constraint(entry)

    def _add_constraint(self, entry: Any) -> None:
        for name in _CONSTRAINTS:
            value = getattr(entry, name, None)
            if name == "pattern" and value is not None:
                # pydantic keeps a pattern in a class of its own that has no public name.
                self._say("pattern", value if isinstance(value, str) else value.pattern)
            elif isinstance(value, int | float):
                self._say(name, _number(value))

    def _say(self, name: str, value: Any) -> None:
        known = getattr(self, name)
        if value is None or value == getattr(_NOTHING, name):
            return
        if name == "rules":
            self.rules = (*known, *value)
        elif known == getattr(_NOTHING, name):
            setattr(self, name, value)
        elif name in _TIGHTEST:
            setattr(self, name, _TIGHTEST[name](known, value))
        elif name == "pattern" and known != value:
            self.has_second_pattern = True


_NOTHING = Facts()
_CONSTRAINTS = ("ge", "le", "gt", "lt", "multiple_of", "min_length", "max_length", "pattern")
# pydantic checks every bound that it is given, so only the tightest of several has an effect.
_TIGHTEST: dict[str, Callable[[float, float], float]] = {
    "ge": max,
    "gt": max,
    "min_length": max,
    "le": min,
    "lt": min,
    "max_length": min,
}


def _number(bound: Any) -> float:
    """A bound as the number that JSON shows: 1 stays 1, 1.0 becomes 1."""
    number: float = bound
    return int(number) if float(number).is_integer() else number
