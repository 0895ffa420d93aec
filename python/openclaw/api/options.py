"""What a CustomResource says of its kind as a whole: names, scope, subresources, columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from openclaw.api.errors import SchemaError
from openclaw.api.kinds import ResourceKind
from openclaw.api.markers import Rule

Scope = Literal["Namespaced", "Cluster"]
ColumnType = Literal["string", "integer", "number", "boolean", "date"]

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_VERSION = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
_PATH = re.compile(r"\.[A-Za-z_.\[].*")
_MAX_SELECTABLE_FIELDS = 8
_MAX_NAME = 253


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`.

    Attributes:
        name: the heading; kubectl shows it in capitals.
        path: a JSONPath from the object's root, such as `.spec.replicas`.
        type: how the value is shown; `date` shows an age.
        priority: 0 shows always, greater only with `-o wide`.
        description: what the column means.
        format: an OpenAPI format of the value.
    """

    name: str
    path: str
    type: ColumnType = "string"
    priority: int = 0
    description: str | None = None
    format: str | None = None


Age = Column("Age", ".metadata.creationTimestamp", "date")
"""The column that says how long ago the object was created. kubectl adds it only to kinds without columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The `scale` subresource: where `kubectl scale` and autoscalers find the numbers.

    Attributes:
        spec_replicas: path of the wanted number, under `.spec`.
        status_replicas: path of the observed number, under `.status`.
        label_selector: path of the pods' label selector as text, under `.status`; autoscalers need it.
    """

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    label_selector: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceOptions:
    """The class keywords of a CustomResource, checked and complete."""

    resource: ResourceKind
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    selectable_fields: tuple[str, ...] = ()
    scale: Scale | None = None
    status: bool = True
    served: bool = True
    storage: bool = True
    deprecated: bool | str = False
    rules: tuple[Rule, ...] = ()

    @property
    def scope(self) -> Scope:
        """Whether objects live in namespaces."""
        return "Namespaced" if self.resource.namespaced else "Cluster"


def check_options(options: ResourceOptions, where: str) -> None:
    """Check what the API server would refuse.

    Raises:
        SchemaError: it would; the message names the class and the keyword.
    """
    resource = options.resource
    if "." not in resource.group or not all(_LABEL.fullmatch(part) for part in resource.group.split(".")):
        raise SchemaError(
            f"{where}: group {resource.group!r} must be a DNS name of your own, such as apps.example.com"
        )
    if resource.group.endswith((".k8s.io", ".kubernetes.io")):
        raise SchemaError(
            f"{where}: the group {resource.group!r} belongs to Kubernetes; use a domain of your own"
        )
    if not _VERSION.fullmatch(resource.version):
        raise SchemaError(f"{where}: version {resource.version!r} must be like v1, v1beta1 or v1alpha1")
    if not _KIND.fullmatch(resource.kind):
        raise SchemaError(
            f"{where}: kind {resource.kind!r} must be CamelCase, letters and digits, at most 63"
        )
    for keyword, names in (
        ("plural", (resource.plural,)),
        ("short_names", options.short_names),
        ("categories", options.categories),
    ):
        for name in names:
            if not _LABEL.fullmatch(name):
                raise SchemaError(
                    f"{where}: {keyword} {name!r} must be of lower-case letters, digits and '-', at most 63"
                )
    if len(resource.qualified) > _MAX_NAME:
        raise SchemaError(
            f"{where}: the CRD's name {resource.qualified!r} is longer than {_MAX_NAME} characters"
        )
    _check_paths(options, where)


def _check_paths(options: ResourceOptions, where: str) -> None:
    for column in options.columns:
        if not _PATH.fullmatch(column.path):
            raise SchemaError(
                f"{where}: the path {column.path!r} of column {column.name!r} must start with '.'"
            )
    _check_unique([column.name for column in options.columns], f"{where}: columns")
    _check_unique(options.selectable_fields, f"{where}: selectable_fields")
    if len(options.selectable_fields) > _MAX_SELECTABLE_FIELDS:
        raise SchemaError(f"{where}: there may be at most {_MAX_SELECTABLE_FIELDS} selectable_fields")
    for field in options.selectable_fields:
        if not field.startswith(".") or field.startswith(".metadata"):
            raise SchemaError(f"{where}: the selectable field {field!r} must be a path like .spec.host")
    if options.scale is not None:
        _check_scale(options.scale, options, where)


def _check_scale(scale: Scale, options: ResourceOptions, where: str) -> None:
    if not options.status:
        raise SchemaError(f"{where}: scale needs a Status, where the observed replicas are")
    for path, root in (
        (scale.spec_replicas, ".spec."),
        (scale.status_replicas, ".status."),
        (scale.label_selector, ".status."),
    ):
        if path is not None and not path.startswith(root):
            raise SchemaError(f"{where}: the path {path!r} of scale must start with '{root}'")


def _check_unique(names: Sequence[str], where: str) -> None:
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise SchemaError(f"{where}: {', '.join(doubled)} stands twice")
