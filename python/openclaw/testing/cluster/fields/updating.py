"""Who owns what after a write: the rules of structured-merge-diff.

https://kubernetes.io/docs/reference/using-api/server-side-apply/ tells them. Fields that the write cannot
change (the status, for a write of the object) are left out by `Scope`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from openclaw.testing.cluster.fields.comparison import Comparison, compare
from openclaw.testing.cluster.fields.configuration import field_set
from openclaw.testing.cluster.fields.managers import Managed, ManagerKey, Managers, all_fields
from openclaw.testing.cluster.fields.merging import merge, remove, with_named_fields
from openclaw.testing.cluster.fields.scope import Scope
from openclaw.testing.cluster.fields.sets import FieldSet, difference, intersection, union
from openclaw.testing.cluster.schema.node import Node

Object = dict[str, object]

NOT_TRACKED: Final[FieldSet] = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {
        ".": {},
        **{
            f"f:{name}": {}
            for name in ("name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName")
        },
        **{f"f:{name}": {} for name in ("generation", "managedFields", "resourceVersion")},
    },
}
"""Fields that nobody owns."""


class ConflictsError(Exception):
    """Fields that others own; by their owner."""

    def __init__(self, conflicts: dict[ManagerKey, Managed]) -> None:
        super().__init__("conflicts")
        self.conflicts = conflicts


def update_managers(
    node: Node, scope: Scope, old: Object, new: Object, managers: Managers
) -> tuple[Managers, FieldSet]:
    """The managers after an update, without what was taken from them; and what was taken."""
    found = scope.of(compare(node, old, new))
    taken = difference(union(found.modified, found.added), NOT_TRACKED)
    return _settled(found, managers, force=True), taken


def apply_configuration(
    node: Node,
    scope: Scope,
    live: Object,
    configuration: Object,
    *,
    managers: Managers,
    key: ManagerKey,
    api_version: str,
    force: bool,
) -> tuple[Object, Managers]:
    """The object with a configuration applied, and the managers. Raises ConflictsError."""
    merged = merge(node, live, configuration)
    last = managers.get(key)
    applied = scope.fields(field_set(node, configuration))
    before = {one: managed for one, managed in managers.items() if one != key}
    claimed: Managers = {**before, key: Managed(applied, api_version, last.time if last else "")}
    merged = _pruned(node, merged, claimed, last)
    found = scope.of(compare(node, live, merged))
    others = _settled(found, before, force=force)
    owned = difference(applied, NOT_TRACKED)
    if owned:
        others[key] = replace(claimed[key], fields=owned)
    return merged, others


def _settled(found: Comparison, managers: Managers, *, force: bool) -> Managers:
    """The managers without what was taken from them, or is gone."""
    taken = union(found.modified, found.added)
    conflicts: dict[ManagerKey, Managed] = {}
    for one, managed in managers.items():
        shared = intersection(managed.fields, taken) if taken else {}
        if shared:
            conflicts[one] = replace(managed, fields=shared)
    if conflicts and not force:
        raise ConflictsError(conflicts)
    result: Managers = {}
    for one, managed in managers.items():
        fields = managed.fields
        if one in conflicts:
            fields = difference(fields, conflicts[one].fields)
        fields = difference(fields, found.removed)
        if fields:
            result[one] = managed if fields is managed.fields else replace(managed, fields=fields)
    return result


def _pruned(node: Node, merged: Object, managers: Managers, last: Managed | None) -> Object:
    """Without what the manager applied last time, applies no more, and nobody else owns."""
    if last is None or not last.fields:
        return merged
    lost = with_named_fields(node, last.fields)
    pruned = remove(node, merged, lost)
    everything = with_named_fields(node, field_set(node, merged))
    # Back comes what anybody owns, this configuration included …
    kept = union(
        with_named_fields(node, field_set(node, pruned)),
        with_named_fields(node, all_fields(managers.values())),
    )
    pruned = remove(node, merged, difference(everything, kept))
    # … and what was not the manager's own.
    remaining = with_named_fields(node, field_set(node, pruned))
    result: Object = remove(node, merged, intersection(difference(everything, remaining), lost))
    return result
