"""Predicates: declared conditions on (old, new) under which an event of an object matters.

They are compiled once and evaluated in Rust, on digests of the parts that they name; an event that
passes none of them never becomes a Python object. Creation, deletion, and another object under the
same name pass every "changed" predicate.

    triggers = GenerationChanged() | AnnotationChanged("example.com/restart")
"""

from __future__ import annotations

from typing import Any, Final

import orjson

__all__ = [
    "Always",
    "AnnotationChanged",
    "ContentChanged",
    "DeletionChanged",
    "FieldChanged",
    "FieldEquals",
    "FinalizersChanged",
    "GenerationChanged",
    "LabelChanged",
    "OwnersChanged",
    "Predicate",
    "ResourceVersionChanged",
    "SpecChanged",
    "StatusChanged",
]


class Predicate:
    """A condition; combine with `|` (either), `&` (both) and `~` (not)."""

    __slots__ = ("_spec",)

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec: Final = spec

    def __or__(self, other: Predicate) -> Predicate:
        return Predicate({"any": [*self._terms("any"), *other._terms("any")]})

    def __and__(self, other: Predicate) -> Predicate:
        return Predicate({"all": [*self._terms("all"), *other._terms("all")]})

    def __invert__(self) -> Predicate:
        return Predicate({"not": self._spec})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Predicate) and self._spec == other._spec

    def __hash__(self) -> int:
        return hash(self.compiled())

    def __repr__(self) -> str:
        return f"Predicate({self.compiled().decode()})"

    def _terms(self, operator: str) -> list[dict[str, Any]]:
        """The operands of this predicate under `operator`, so that chains stay flat."""
        terms: list[dict[str, Any]] = self._spec.get(operator, [self._spec])
        return terms

    def compiled(self) -> bytes:
        """The form that `_core.Cache.subscribe` takes."""
        return orjson.dumps(self._spec, option=orjson.OPT_SORT_KEYS)


class Always(Predicate):
    """Every event, also one in which nothing changed."""

    def __init__(self) -> None:
        super().__init__({"always": {}})


class GenerationChanged(Predicate):
    """`metadata.generation` changed: the API server's word that the spec did."""

    def __init__(self) -> None:
        super().__init__({"generation": {}})


class ResourceVersionChanged(Predicate):
    """Anything changed at all."""

    def __init__(self) -> None:
        super().__init__({"resourceVersion": {}})


class ContentChanged(Predicate):
    """Anything but resourceVersion, generation and other managers' managedFields changed."""

    def __init__(self) -> None:
        super().__init__({"content": {}})


class SpecChanged(Predicate):
    """`spec` changed; for kinds whose generation the server does not count."""

    def __init__(self) -> None:
        super().__init__({"spec": {}})


class StatusChanged(Predicate):
    """`status` changed."""

    def __init__(self) -> None:
        super().__init__({"status": {}})


class LabelChanged(Predicate):
    """A label changed: that of `key`, or any."""

    def __init__(self, key: str | None = None) -> None:
        super().__init__({"labels": {}} if key is None else {"label": key})


class AnnotationChanged(Predicate):
    """An annotation changed: that of `key`, or any."""

    def __init__(self, key: str | None = None) -> None:
        super().__init__({"annotations": {}} if key is None else {"annotation": key})


class FinalizersChanged(Predicate):
    """`metadata.finalizers` changed."""

    def __init__(self) -> None:
        super().__init__({"finalizers": {}})


class OwnersChanged(Predicate):
    """`metadata.ownerReferences` changed."""

    def __init__(self) -> None:
        super().__init__({"owners": {}})


class DeletionChanged(Predicate):
    """The object began to be deleted (`metadata.deletionTimestamp` was set)."""

    def __init__(self) -> None:
        super().__init__({"deletion": {}})


class FieldChanged(Predicate):
    """The value at a field path changed, e.g. `FieldChanged("status.readyReplicas")`."""

    def __init__(self, path: str) -> None:
        super().__init__({"changed": path})


class FieldEquals(Predicate):
    """The value at a field path of the new (of a deleted: the last known) object equals `value`."""

    def __init__(self, path: str, value: str | float | bool | None) -> None:  # noqa: FBT001 - a JSON value
        super().__init__({"equals": [path, value]})
