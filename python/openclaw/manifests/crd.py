"""CustomResourceDefinitions from CustomResource classes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from openclaw.api import Column, CustomResource, SchemaError

Json = dict[str, Any]

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}


def custom_resource_definition(*versions: type[CustomResource]) -> Json:
    """The CRD of one kind, from the class of each of its versions; the newest stable version comes first.

    Raises:
        SchemaError: the classes declare different kinds, or not exactly one of them is the stored version.
    """
    if not versions:
        raise SchemaError("a CRD needs at least one version")
    ordered = sorted(versions, key=lambda cls: _priority(cls.resource.version), reverse=True)
    first = next((cls for cls in ordered if cls.options.storage), ordered[0])
    _check(first, ordered)
    kind, options = first.resource, first.options
    names: Json = {
        "plural": kind.plural,
        "singular": kind.singular,
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
    }
    if options.short_names:
        names["shortNames"] = list(options.short_names)
    if options.categories:
        names["categories"] = list(options.categories)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.qualified},
        "spec": {
            "group": kind.group,
            "names": names,
            "scope": options.scope,
            "versions": [_version(cls) for cls in ordered],
        },
    }


def by_kind(classes: Sequence[type[CustomResource]]) -> list[tuple[type[CustomResource], ...]]:
    """The classes grouped into the versions of each kind, in the order of the CRDs' names."""
    groups: dict[str, list[type[CustomResource]]] = {}
    for cls in dict.fromkeys(classes):
        groups.setdefault(cls.resource.qualified, []).append(cls)
    return [tuple(groups[name]) for name in sorted(groups)]


def _version(cls: type[CustomResource]) -> Json:
    options = cls.options
    version: Json = {"name": cls.resource.version, "served": options.served, "storage": options.storage}
    if options.deprecated:
        version["deprecated"] = True
        if isinstance(options.deprecated, str):
            version["deprecationWarning"] = options.deprecated
    subresources: Json = {}
    if options.status:
        subresources["status"] = {}
    if options.scale is not None:
        subresources["scale"] = {
            "specReplicasPath": options.scale.spec_replicas,
            "statusReplicasPath": options.scale.status_replicas,
        }
        if options.scale.label_selector is not None:
            subresources["scale"]["labelSelectorPath"] = options.scale.label_selector
    if subresources:
        version["subresources"] = subresources
    if options.columns:
        version["additionalPrinterColumns"] = [_column(column) for column in options.columns]
    if options.selectable_fields:
        version["selectableFields"] = [{"jsonPath": path} for path in options.selectable_fields]
    version["schema"] = {"openAPIV3Schema": cls.schema_of_object()}
    return version


def _column(column: Column) -> Json:
    entry: Json = {"name": column.name, "type": column.type, "jsonPath": column.path}
    if column.description is not None:
        entry["description"] = column.description
    if column.format is not None:
        entry["format"] = column.format
    if column.priority:
        entry["priority"] = column.priority
    return entry


def _check(first: type[CustomResource], versions: Sequence[type[CustomResource]]) -> None:
    named = ", ".join(cls.__qualname__ for cls in versions)
    stored = [cls.__qualname__ for cls in versions if cls.options.storage]
    if len(stored) != 1:
        raise SchemaError(
            f"{first.resource.qualified}: exactly one version is stored, not {len(stored)} of {named}; "
            "give the others storage=False"
        )
    for cls in versions:
        same = (cls.resource.group, cls.resource.kind, cls.resource.plural, cls.options.scope)
        if same != (first.resource.group, first.resource.kind, first.resource.plural, first.options.scope):
            raise SchemaError(
                f"{named} are no versions of one kind: group, kind, plural and scope must agree"
            )
    if len({cls.resource.version for cls in versions}) != len(versions):
        raise SchemaError(f"{first.resource.qualified}: {named} declare one version twice")
    selectable = {cls.options.selectable_fields for cls in versions}
    if len(versions) > 1 and len(selectable) == 1 and any(selectable):
        _check_selectable_fields(first, versions)


def _check_selectable_fields(first: type[CustomResource], versions: Sequence[type[CustomResource]]) -> None:
    # Where all versions select by the same fields, the API server (1.37 too) takes the list for
    # one of the whole CRD, then misses a schema of it: "may only be set when validations.schema is included".
    if any(cls.schema_of_object() != first.schema_of_object() for cls in versions):
        raise SchemaError(
            f"{first.resource.qualified}: versions with different schemas can't have the very same "
            "selectable_fields; name them in another order in one version, or leave them out there"
        )


def _priority(version: str) -> tuple[int, int, int, str]:
    """The API machinery's order of versions: v2, v1, v1beta1, v1alpha1, then anything else."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (-1, 0, 0, version)
    major, stage, minor = match.groups()
    return (_STAGES[stage], int(major), int(minor or 0), "")
