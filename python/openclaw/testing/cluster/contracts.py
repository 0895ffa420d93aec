"""What the parts of the embedded API server ask of each other.

A write goes this way; what is in capitals is asked of the machinery defined here:

    bytes ── Schema.DECODE ──► object          create, update
    bytes ── Patches.PATCH ──► object          JSON, merge and strategic merge patch
    bytes ── FieldManagement.APPLY ─► object   server-side apply, managedFields included
       │  FieldManagement.TRACK                not after an apply
       │  Admission.MUTATE, Schema.DEFAULT     where webhooks changed something
       │  metadata, generation, the kind's own preparation (nothing of it is in managedFields)
       │  Schema.VALIDATE
       │  Admission.VALIDATE
       ▼  Conversion.CONVERT to the version that is stored
     store

Rules for all of it:

- An `Object` is parsed JSON. Nobody changes an object that was handed in, not even for a moment: it may be
  the stored one, which readers share. What is returned may share parts with what came in.
- A refusal is raised as a `StatusError` with the code, reason and the gist of the message of kube-apiserver.
- Everything is deterministic: no clock and no randomness but what is handed in.
- Synchronous parts run within one turn of the event loop. Only conversion and admission may wait, since they
  may call webhooks.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from openclaw.testing.cluster.statuses import Cause, StatusError

__all__ = [
    "Admission",
    "AdmissionRequest",
    "Admitted",
    "Cause",
    "Column",
    "Conversion",
    "Decoded",
    "FieldManagement",
    "FieldValidation",
    "FieldWrite",
    "Machinery",
    "Object",
    "Operation",
    "Patches",
    "Reader",
    "Resource",
    "ScalePaths",
    "Schema",
    "Schemas",
    "StatusError",
    "User",
    "Version",
]

Object = dict[str, Any]
"""A Kubernetes object as parsed JSON."""


class Operation(enum.StrEnum):
    """What a request does to an object, as admission calls it."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


class FieldValidation(enum.StrEnum):
    """The query parameter `fieldValidation`; without one the server takes `Warn`."""

    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"


@dataclass(frozen=True, slots=True)
class User:
    """Who sent a request."""

    name: str = "kubernetes-admin"
    groups: tuple[str, ...] = ("system:masters", "system:authenticated")
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of Table output.

    Attributes:
        path: a JSONPath below the object, such as `.spec.replicas`.
        priority: 0 is always shown, above that only `-o wide` shows it.
    """

    name: str
    type: str
    path: str
    description: str = ""
    format: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where a kind has what its scale subresource shows; paths such as `.spec.replicas`."""

    spec_replicas: str
    status_replicas: str
    label_selector: str | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """One version that a resource is served in.

    Attributes:
        schema: what its objects look like.
        status: whether there is a status subresource.
        scale: the scale subresource, if there is one.
        columns: of Table output, besides the name.
        selectable: JSONPaths of fields that field selectors may name, besides `metadata.name` and
            `metadata.namespace`.
        deprecation: the Warning that each request gets; "" for none.
    """

    name: str
    schema: Schema
    served: bool = True
    status: bool = False
    scale: ScalePaths | None = None
    columns: tuple[Column, ...] = ()
    selectable: tuple[str, ...] = ()
    deprecation: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource that the server has: built in, or of a CustomResourceDefinition.

    Attributes:
        versions: by name.
        storage: the name of the version that objects are stored in.
        stored_as: (group, plural) of the resource that holds the objects. Differs from its own only for
            resources that are two views of one thing, as both kinds of events are.
        definition: its CustomResourceDefinition; None for what is built in.
        subresources: besides `status` and `scale`.
    """

    group: str
    plural: str
    kind: str
    namespaced: bool
    versions: dict[str, Version]
    storage: str
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    stored_as: tuple[str, str] = ("", "")
    definition: Object | None = None

    @property
    def qualified(self) -> str:
        """`deployments.apps`, or `pods`: how messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def api_version(self, version: str) -> str:
        """The `apiVersion` of its objects in that version."""
        return f"{self.group}/{version}" if self.group else version


class Reader(Protocol):
    """Reads what is stored, as it is now."""

    def get(self, group: str, plural: str, namespace: str, name: str) -> Object | None:
        """One object in its storage version; the namespace of a cluster-scoped one is ""."""

    def list(self, group: str, plural: str, namespace: str = "") -> Iterable[Object]:
        """All objects, of one namespace or of all; sorted by namespace and name."""

    def resource(self, group: str, plural: str) -> Resource | None:
        """The resource of that name."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """An object that was read from a request.

    Attributes:
        object: without unknown fields, with defaults; the caller may change it at its top level and in
            `metadata`.
        warnings: texts of Warning headers, such as `unknown field "spec.x"`.
    """

    object: Object
    warnings: tuple[str, ...] = ()


class Schema(Protocol):
    """What the objects of one kind in one version look like.

    A schema of a custom resource is that of its CustomResourceDefinition; one of a built-in kind also knows
    the defaults that kube-apiserver has in code (`strategy`, `terminationGracePeriodSeconds`, …).
    `metadata` is ObjectMeta in all of them.
    """

    def decode(self, body: bytes, validation: FieldValidation) -> Decoded:
        """The object that a request body (JSON, or YAML) holds.

        Fills in a missing `apiVersion` and `kind`; prunes what the schema does not know; sets defaults.
        Under `STRICT` unknown and duplicate fields are 400 (`strict decoding error: unknown field "spec.x"`),
        under `WARN` they are warnings.

        Raises StatusError: 400 for what cannot be read, is of another kind or version, or (built-in kinds)
        has a value of the wrong type.
        """

    def default(self, obj: Object) -> Object:
        """The object pruned and with defaults once more, after admission changed it."""

    def validate(self, obj: Object, old: Object | None, subresource: str = "") -> list[Cause]:
        """What is wrong with an object, as the `causes` of a 422; `old` is None when it is created.

        Holds the schema's rules, the kind's own (an immutable selector, a name that must be a DNS label),
        those of labels, annotations, finalizers and owner references; CEL rules with transitions, and
        ratcheting. Not asked: what is checked for every update alike (resourceVersion, uid, the name).
        """

    def openapi(self) -> Object:
        """The schema as OpenAPI v3 shows it, with `x-kubernetes-` extensions; no `$ref` to others."""


class Schemas(Protocol):
    """Makes schemas."""

    def builtin(self, group: str, version: str, kind: str) -> Schema:
        """The schema of a built-in kind. Made when it is first used: a cluster starts quickly."""

    def custom(self, definition: Object, version: str) -> Schema:
        """The schema that a CustomResourceDefinition (with defaults, and valid) has for a version."""

    def check_definition(self, definition: Object, old: Object | None) -> list[Cause]:
        """What is wrong with a CustomResourceDefinition: its schemas, rules, names, versions.

        Asked besides `validate` of the schema of CustomResourceDefinition itself.
        """


class Patches(Protocol):
    """JSON patch, JSON merge patch and strategic merge patch."""

    def patch(
        self, schema: Schema, live: Object, body: bytes, content_type: str, validation: FieldValidation
    ) -> Decoded:
        """`live` with a patch on it, pruned and with defaults, as `Schema.decode` returns objects.

        `content_type` comes without parameters. Raises StatusError: 400 for a patch that cannot be read,
        422 for one that cannot be applied (JSON patch), 415 for an unknown type, and strategic merge patch
        of a custom resource.
        """


@dataclass(frozen=True, slots=True)
class FieldWrite:
    """Who writes which view of an object, for managedFields.

    Attributes:
        manager: the query parameter `fieldManager`, else the first part of the User-Agent.
        version: the version of the request.
        subresource: "" for the object itself, `status`, `scale`, …
        time: what the entry's `time` becomes when it changes; RFC 3339, whole seconds.
    """

    resource: Resource
    version: str
    manager: str
    subresource: str
    time: str


class FieldManagement(Protocol):
    """Server-side apply, and managedFields of every other write."""

    def apply(
        self, write: FieldWrite, live: Object | None, body: bytes, *, force: bool, validation: FieldValidation
    ) -> Decoded:
        """`live` (None: it is to be created) with an applied configuration (JSON or YAML) merged in.

        The result has its new managedFields. Only the part that the subresource shows may change. For
        `scale`, `body` is a Scale, and `live` and the result are the scaled object.
        When nothing changes, `live` itself is returned. Raises StatusError: 409 with causes
        `FieldManagerConflict`, 400, 422, and what `Schema.decode` raises.
        """

    def track(self, write: FieldWrite, old: Object | None, new: Object) -> list[Object]:
        """The managedFields that `new` shall have, after a write of the operation Update.

        `new["metadata"]["managedFields"]` are those that the client sent, if it sent any (an empty list, or
        one empty entry, resets them); missing ones are `old`'s. An entry's time moves only when its fields
        change or when `new` differs from `old` otherwise; a write that changes nothing changes no time.
        """


class Conversion(Protocol):
    """Between the versions of a resource."""

    async def convert(self, resource: Resource, objects: Sequence[Object], version: str) -> list[Object]:
        """The objects in another version; those that are in it already as they are.

        Raises StatusError: 500 when a conversion webhook fails.
        """


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """What admission is asked about.

    Attributes:
        object: None for a deletion.
        old: None for a creation.
        version: the version of the request, in which both objects are.
        options: the `CreateOptions`, `UpdateOptions`, `PatchOptions` or `DeleteOptions`.
    """

    operation: Operation
    resource: Resource
    version: str
    subresource: str
    namespace: str
    name: str
    object: Object | None
    old: Object | None
    user: User
    uid: str
    dry_run: bool = False
    options: Object = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Admitted:
    """An object that admission let pass; None for a deletion."""

    object: Object | None
    warnings: tuple[str, ...] = ()


class Admission(Protocol):
    """Admission webhooks, and policies where they are supported."""

    def concerns(self, resource: Resource, operation: Operation, subresource: str) -> bool:
        """Whether anything would be asked at all; cheap, called for each write."""

    async def mutate(self, request: AdmissionRequest) -> Admitted:
        """Ask what may change the object; the very object of the request when nothing did."""

    async def validate(self, request: AdmissionRequest) -> tuple[str, ...]:
        """Ask what may refuse it; returns warnings. Raises StatusError."""


@dataclass(frozen=True, slots=True)
class Machinery:
    """All that the server asks; made by `openclaw.testing.cluster.machinery.build_machinery(reader)`."""

    schemas: Schemas
    patches: Patches
    fields: FieldManagement
    conversion: Conversion
    admission: Admission
