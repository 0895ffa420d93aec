"""What the server itself writes into `metadata`, whoever asks for what.

Follows `rest.BeforeCreate`, `BeforeUpdate` and `BeforeDelete` of `k8s.io/apiserver/pkg/registry/rest`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from openclaw.testing.cluster.clock import Chance, Clock
from openclaw.testing.cluster.statuses import Cause, bad_request

__all__ = [
    "FOREGROUND",
    "ORPHAN",
    "added_finalizers",
    "created",
    "deleting",
    "forbidden_changes",
    "new_finalizers",
    "place",
    "updated",
]

Object = dict[str, Any]

FOREGROUND: Final = "foregroundDeletion"
"""The finalizer of an object that goes only after its dependents."""

ORPHAN: Final = "orphan"
"""The finalizer of an object whose dependents are to stay."""

_CLEARED: Final = (
    "resourceVersion",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "generation",
    "uid",
    "creationTimestamp",
)
_KEPT: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
_GENERATED_MOST: Final = 63 - 5


def place(obj: Object, namespace: str) -> None:
    """Put an object where the request's path says.

    Raises StatusError (400) when it says otherwise itself.
    """
    metadata = obj["metadata"]
    own = metadata.get("namespace") or ""
    if own == namespace:
        return
    if namespace and own:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if namespace:
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)


def created(obj: Object, *, generation: bool, clock: Clock, chance: Chance) -> Object:
    """A new object with the server's part of metadata, in the server's order."""
    given = obj["metadata"]
    name = given.get("name") or ""
    if not name and given.get("generateName"):
        name = f"{given['generateName'][:_GENERATED_MOST]}{chance.suffix()}"
    metadata: Object = {"name": name}
    for field in ("generateName", "namespace"):
        if given.get(field):
            metadata[field] = given[field]
    metadata["uid"] = chance.uid()
    metadata["resourceVersion"] = ""
    if generation:
        metadata["generation"] = 1
    elif given.get("generation"):
        # Kinds that do not count it keep what they are given.
        metadata["generation"] = given["generation"]
    metadata["creationTimestamp"] = clock.timestamp()
    for field, value in given.items():
        if field not in metadata and field not in _CLEARED and value not in (None, {}, []):
            metadata[field] = value
    return {**obj, "metadata": metadata}


def updated(obj: Object, old: Object) -> Object:
    """Another state of an object, with what no client may change as it was."""
    before = old["metadata"]
    metadata = {
        field: value
        for field, value in obj["metadata"].items()
        if field not in _KEPT and value not in (None, {}, [])
    }
    kept = {field: before[field] for field in _KEPT if field in before}
    ordered = {field: value for field, value in before.items() if field in kept or field in metadata}
    merged = {**ordered, **metadata, **kept}
    merged["name"] = before["name"]
    if "namespace" in before:
        merged["namespace"] = before["namespace"]
    merged["resourceVersion"] = before["resourceVersion"]
    return {**obj, "metadata": merged}


_IMMUTABLE: Final = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds")


def forbidden_changes(obj: Object, old: Object) -> list[Cause]:
    """What a client may not change in `metadata`, as far as it is not simply ignored."""
    before = old["metadata"]
    causes = []
    for field in _IMMUTABLE:
        value = obj["metadata"].get(field)
        if value and value != before.get(field):
            shown = f'"{value}"' if isinstance(value, str) else str(value)
            causes.append(Cause.of("FieldValueInvalid", f"metadata.{field}", "field is immutable", shown))
    return causes


def added_finalizers(obj: Object, old: Object) -> list[Cause]:
    """Finalizers that come too late."""
    if "deletionTimestamp" not in old["metadata"]:
        return []
    before = old["metadata"].get("finalizers") or ()
    late = [one for one in obj["metadata"].get("finalizers") or () if one not in before]
    if not late:
        return []
    shown = ", ".join(f'"{one}"' for one in late)
    return [
        Cause.of(
            "FieldValueForbidden",
            "metadata.finalizers",
            f"no new finalizers can be added if the object is being deleted, "
            f"found new finalizers []string{{{shown}}}",
        )
    ]


def new_finalizers(obj: Object, policy: str | None, *, orphans: bool) -> list[str]:
    """The finalizers that an object has once its deletion was asked for."""
    present: Sequence[str] = obj["metadata"].get("finalizers") or ()
    if policy is None:
        # What is there already says what was wanted; else the kind does.
        policy = next(
            (known for finalizer, known in _POLICIES.items() if finalizer in present),
            "Orphan" if orphans else "Background",
        )
    kept = [one for one in present if one not in _POLICIES]
    wanted = {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(policy)
    return [*kept, wanted] if wanted else kept


_POLICIES: Final = {ORPHAN: "Orphan", FOREGROUND: "Foreground"}


def deleting(obj: Object, clock: Clock, *, finalizers: list[str], grace: int = 0) -> Object:
    """The object with its deletion asked for; `grace` in seconds."""
    before = obj["metadata"]
    metadata = {key: value for key, value in before.items() if key != "finalizers"}
    if "deletionTimestamp" not in before or grace < before.get("deletionGracePeriodSeconds", 0):
        if metadata.get("generation") and "deletionTimestamp" not in before:
            metadata["generation"] += 1
        metadata["deletionTimestamp"] = clock.timestamp_in(grace)
        metadata["deletionGracePeriodSeconds"] = grace
    if finalizers:
        metadata["finalizers"] = finalizers
    return {**obj, "metadata": metadata}
