"""Which fields of an object a write changed although they were somebody else's, by managedFields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

__all__ = ["foreign_changes", "owned_by"]

FieldSet = Mapping[str, Any]

_BOOKKEEPING: Final = frozenset(
    {
        "resourceVersion",
        "generation",
        "managedFields",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
    }
)


def owned_by(obj: Mapping[str, Any], manager: str, *, applied: bool = False) -> list[FieldSet]:
    """The field sets of a manager's entries in `metadata.managedFields`.

    Args:
        obj: the object.
        manager: its name.
        applied: those of server-side apply only.
    """
    return [
        entry.get("fieldsV1") or {}
        for entry in obj["metadata"].get("managedFields") or ()
        if entry.get("manager") == manager and (not applied or entry.get("operation") == "Apply")
    ]


def foreign_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], ours: Sequence[FieldSet]
) -> Iterator[str]:
    """The paths that were there before, are another or none after, and are in none of the sets `ours`.

    What is new is nobody's yet, so it is no foreign change; the server's own bookkeeping is none either. A
    list is compared item by item where a set names its items (by key or by value), else whole.
    """
    without = {key: value for key, value in after.items() if key != "metadata"}
    for key, value in before.items():
        if key != "metadata":
            yield from _changed(f".{key}", value, without.get(key), _below(ours, f"f:{key}"))
    old, new = before["metadata"], after["metadata"]
    within = _below(ours, "f:metadata")
    for key, value in old.items():
        if key not in _BOOKKEEPING:
            yield from _changed(f".metadata.{key}", value, new.get(key), _below(within, f"f:{key}"))


def _below(sets: Sequence[FieldSet], step: str) -> list[FieldSet]:
    return [found for it in sets if (found := it.get(step)) is not None]


def _changed(path: str, before: Any, after: Any, sets: Sequence[FieldSet]) -> Iterator[str]:
    if before == after:
        return
    if {} in sets:
        return  # a leaf of ours: whole
    if isinstance(before, Mapping) and (after is None or isinstance(after, Mapping)):
        for key, value in before.items():
            yield from _changed(f"{path}.{key}", value, (after or {}).get(key), _below(sets, f"f:{key}"))
        return
    if isinstance(before, list) and (after is None or isinstance(after, list)):
        yield from _changed_items(path, before, after or [], sets)
        return
    yield path


def _changed_items(
    path: str, before: Sequence[Any], after: Sequence[Any], sets: Sequence[FieldSet]
) -> Iterator[str]:
    """Items by key; what has no keys is compared as a set of values."""
    keys = {tuple(orjson.loads(step[2:])) for it in sets for step in it if step.startswith("k:")}
    names = next(iter(keys), None) or _usual_keys(before)
    if names is None:
        kept = [orjson.dumps(it) for it in after]
        for item in before:
            text = orjson.dumps(item)
            if text not in kept and not _below(sets, f"v:{text.decode()}"):
                yield f"{path}[{text.decode()}]"
        return
    present = {_key_of(item, names): item for item in after}
    for item in before:
        key = _key_of(item, names)
        within = [found for it in sets for step, found in it.items() if _is_step(step, key)]
        there = present.get(key)
        if there is None and within:
            # An item is gone whole; what others have in it is theirs all the same. The keys are the item's.
            for field, value in item.items():
                if field not in names and {} not in within:
                    below = _below(within, f"f:{field}")
                    yield from _changed(f"{path}[{key}].{field}", value, None, below)
        else:
            yield from _changed(f"{path}[{key}]", item, there, within)


def _usual_keys(items: Sequence[Any]) -> tuple[str, ...] | None:
    """The key of an associative list in the built-in kinds, where nobody's set tells it."""
    if not items or not all(isinstance(it, Mapping) for it in items):
        return None
    for names in (("uid",), ("name",), ("type",), ("port", "protocol"), ("containerPort", "protocol")):
        if all(name in it for it in items for name in names):
            return names
    return None


def _key_of(item: Any, names: Sequence[str]) -> str:
    found = {name: item.get(name) for name in names} if isinstance(item, Mapping) else item
    return orjson.dumps(found, option=orjson.OPT_SORT_KEYS).decode()


def _is_step(step: str, key: str) -> bool:
    if not step.startswith("k:"):
        return False
    return orjson.dumps(orjson.loads(step[2:]), option=orjson.OPT_SORT_KEYS).decode() == key
