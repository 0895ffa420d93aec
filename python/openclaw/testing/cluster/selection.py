"""Which objects of a collection a request is about."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from openclaw.testing.cluster.contracts import Resource, Version
from openclaw.testing.cluster.paths import first
from openclaw.testing.cluster.request import Request
from openclaw.testing.cluster.routing import Target
from openclaw.testing.cluster.selectors import Matches, field_selector, label_selector, shard_selector
from openclaw.testing.cluster.traits import traits_of

__all__ = ["Selection", "select"]

Object = dict[str, Any]

_METADATA: Final = ("metadata.name", "metadata.namespace")


class Selection:
    """What the selectors of a request and its path leave of a collection."""

    __slots__ = ("by_content", "matches", "namespace")

    def __init__(self, namespace: str, matches: Matches | None, *, by_content: bool) -> None:
        self.namespace = namespace
        self.matches = matches
        self.by_content = by_content

    def holds(self, obj: Object) -> bool:
        """Whether an object is one of them."""
        if self.namespace and obj["metadata"].get("namespace") != self.namespace:
            return False
        return self.matches is None or self.matches(obj)


def select(target: Target, request: Request) -> Selection:
    """The selection of a list, a watch or a deletion of a collection.

    Raises StatusError (400) for a selector that cannot be read.
    """
    labels = label_selector(request.text("labelSelector"))
    fields = request.text("fieldSelector")
    chosen = [labels]
    if fields:
        chosen.append(
            field_selector(
                fields, readable_fields(target.resource, target.version), _unknown(target.resource)
            )
        )
    chosen.append(shard_selector(request.text("shardSelector")))
    if target.name:
        name = target.name
        chosen.append(lambda obj: obj["metadata"]["name"] == name)
    tests = [matches for matches in chosen if matches is not None]
    return Selection(
        target.namespace,
        _all(tests) if len(tests) > 1 else (tests[0] if tests else None),
        by_content=bool(tests),
    )


def _all(tests: list[Matches]) -> Matches:
    return lambda obj: all(test(obj) for test in tests)


def readable_fields(resource: Resource, version: Version) -> dict[str, Callable[[Object], str]]:
    """The fields that field selectors may name, and how each is read from a stored object."""
    named = dict(traits_of(resource.group, resource.plural, custom=resource.definition is not None).fields)
    named |= {path.lstrip("."): path for path in version.selectable}
    named |= {name: f".{name}" for name in _METADATA}
    return {name: _read(path) for name, path in named.items()}


@lru_cache(maxsize=256)
def _read(path: str) -> Callable[[Object], str]:
    def read(obj: Object) -> str:
        value = first(path, obj)
        if isinstance(value, bool):
            return str(value).lower()
        if value is None:
            return "false" if path in _FALSE_WHEN_MISSING else ""
        return str(value)

    return read


_FALSE_WHEN_MISSING: Final = frozenset({".spec.unschedulable", ".spec.hostNetwork"})


def _unknown(resource: Resource) -> Callable[[str], str]:
    traits = traits_of(resource.group, resource.plural, custom=resource.definition is not None)
    if traits.closed_fields:
        return lambda name: f"field label not supported: {name}"
    return lambda name: f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"'
