"""What is wrong with the `metadata` of an object; texts of `k8s.io/apimachinery/pkg/api/validation`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from openclaw.testing.cluster.schema.names import (
    check_annotations,
    check_labels,
    long_name_faults,
    qualified_name_faults,
)
from openclaw.testing.cluster.schema.values import shown
from openclaw.testing.cluster.statuses import Cause

NameRule = Callable[[str], list[str]]
"""What is wrong with a name, in words."""

_STANDARD_FINALIZERS: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_OWNER_FIELDS: Final = ("apiVersion", "kind", "name", "uid")


def check_metadata(
    metadata: dict[str, Any],
    old: dict[str, Any] | None,
    name_rule: NameRule = long_name_faults,
    *,
    custom: bool = False,
) -> list[Cause]:
    """The causes of a 422 that are in `metadata`; `old` is that of the object before.

    Custom resources may have finalizers without a domain; the client is only warned.
    """
    causes: list[Cause] = []
    name, generate = metadata.get("name", ""), metadata.get("generateName", "")
    if generate:
        # What is random is appended to it, so it may end in a dash.
        causes += _faulty(
            name_rule(f"{generate.rstrip('-')}a" if generate.endswith("-") else generate),
            generate,
            "metadata.generateName",
        )
    if not name:
        causes.append(Cause.of("FieldValueRequired", "metadata.name", "name or generateName is required"))
    elif old is None or old.get("name") != name:
        causes += _faulty(name_rule(name), name, "metadata.name")
    check_labels(metadata.get("labels"), "metadata.labels", causes)
    check_annotations(metadata.get("annotations"), "metadata.annotations", causes)
    _owners(metadata.get("ownerReferences") or (), causes)
    _finalizers(metadata, old, causes, custom=custom)
    return causes


def _owners(references: Any, causes: list[Cause]) -> None:
    controllers: list[str] = []
    for at, reference in enumerate(references):
        field = f"metadata.ownerReferences[{at}]"
        missing = [key for key in _OWNER_FIELDS if not reference.get(key)]
        causes += [Cause.of("FieldValueRequired", f"{field}.{key}", "must not be empty") for key in missing]
        if reference.get("controller"):
            controllers.append(f"{reference.get('kind')}/{reference.get('name')}")
    if len(controllers) > 1:
        shown_references = shown([dict(one) for one in references])
        detail = (
            'Only one reference can have Controller set to true. Found "true" in references for '
            f"{' and '.join(controllers[:2])}"
        )
        causes.append(Cause.of("FieldValueInvalid", "metadata.ownerReferences", detail, shown_references))


def _finalizers(
    metadata: dict[str, Any], old: dict[str, Any] | None, causes: list[Cause], *, custom: bool
) -> None:
    finalizers = metadata.get("finalizers") or []
    for at, finalizer in enumerate(finalizers):
        field = f"metadata.finalizers[{at}]"
        causes += _faulty(qualified_name_faults(finalizer), finalizer, "metadata.finalizers")
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS and not causes and not custom:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            causes.append(Cause.of("FieldValueInvalid", field, detail, shown(finalizer)))
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        causes.append(Cause.of("FieldValueInvalid", "metadata.finalizers", detail, shown(finalizers)))
    if old is not None and old.get("deletionTimestamp"):
        added = [one for one in finalizers if one not in (old.get("finalizers") or [])]
        if added:
            detail = (
                "no new finalizers can be added if the object is being deleted, found new finalizers "
                f"{_go_list(added)}"
            )
            causes.append(Cause.of("FieldValueForbidden", "metadata.finalizers", detail))


def _faulty(faults: list[str], value: str, field: str) -> list[Cause]:
    return [Cause.of("FieldValueInvalid", field, fault, shown(value)) for fault in faults]


def _go_list(texts: list[str]) -> str:
    return f"[]string{{{', '.join(shown(text) for text in texts)}}}"


def finalizer_warnings(metadata: dict[str, Any]) -> tuple[str, ...]:
    """What a client is told of finalizers without a domain."""
    return tuple(
        f'metadata.finalizers: "{one}": prefer a domain-qualified finalizer name to avoid accidental '
        "conflicts with other finalizer writers"
        for one in metadata.get("finalizers") or ()
        if isinstance(one, str) and "/" not in one and one not in _STANDARD_FINALIZERS
    )
