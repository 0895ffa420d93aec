"""`CustomResource`: a kind declared in Python, the single source of truth of its CRD."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic import Field as PydanticField
from pydantic.alias_generators import to_camel

from openclaw.api.errors import InvalidObjectError, SchemaError
from openclaw.api.kinds import ResourceKind, plural_of
from openclaw.api.markers import Rule
from openclaw.api.meta import ObjectMeta
from openclaw.api.model import Model
from openclaw.api.options import Column, ResourceOptions, Scale, Scope, check_options
from openclaw.api.resource_schema import resource_schema
from openclaw.api.sections import has_required_fields, install_section, section_class

T = TypeVar("T")


class CustomResource(BaseModel):
    """An object of a kind that is declared as a class.

        class Greeting(CustomResource, group="demo.example.com", version="v1"):
            \"\"\"A page that greets.\"\"\"

            class Spec(Model):
                text: str = Field(min_length=1, description="What the page says.")

            class Status(Model):
                ready_replicas: int = 0

    `Spec` and `Status` may instead be declared elsewhere and named by annotations (`spec: GreetingSpec`),
    which type checkers then follow. Every field of a status needs a default: a new object has none of them.

    Reading is tolerant: unknown fields are ignored, metadata may be partial, and `status` is an empty
    `Status` when the object has none (or null).

    Class keywords:
        group: the API group, a DNS name.
        version: `v1`, `v1beta1`, `v1alpha1` …
        kind: the kind; by default the class's name. Versions of one kind are several classes with one `kind`.
        plural: the plural in the path; by default the English one.
        short_names: abbreviations for kubectl.
        categories: groups for kubectl, such as `all`.
        scope: `Namespaced` or `Cluster`.
        columns: what `kubectl get` shows.
        selectable_fields: paths usable in field selectors, such as `.spec.host`.
        scale: where the `scale` subresource finds its numbers. The `status` subresource comes with a `Status`
            class.
        served: whether the API server serves this version.
        storage: whether objects are stored in this version; exactly one version of a kind is.
        deprecated: True, or the warning that users of this version get.
        rules: CEL rules on the whole object.

    Raises:
        SchemaError: while the class is created, when it can't become a CRD; names class and field.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        extra="ignore",
    )

    resource: ClassVar[ResourceKind]
    options: ClassVar[ResourceOptions]

    __spec_class__: ClassVar[type[Model] | None] = None
    __status_class__: ClassVar[type[Model] | None] = None

    metadata: ObjectMeta = PydanticField(default_factory=ObjectMeta)
    spec: Any = None
    status: Any = None

    def __init_subclass__(
        cls,
        *,
        group: str | None = None,
        version: str | None = None,
        kind: str | None = None,
        plural: str | None = None,
        short_names: Sequence[str] | None = None,
        categories: Sequence[str] | None = None,
        scope: Scope | None = None,
        columns: Sequence[Column] | None = None,
        selectable_fields: Sequence[str] | None = None,
        scale: Scale | None = None,
        served: bool = True,
        storage: bool = True,
        deprecated: bool | str = False,
        rules: Sequence[Rule] | None = None,
    ) -> None:
        super().__init_subclass__()
        _install_sections(cls)
        parent: ResourceOptions | None = getattr(cls, "options", None)
        group = group or (parent.resource.group if parent else None)
        version = version or (parent.resource.version if parent else None)
        if group is None and version is None:
            return  # a base that several kinds share
        if group is None or version is None:
            raise SchemaError(f"{cls.__qualname__} needs both group and version")
        kind = kind or (parent.resource.kind if parent else cls.__name__)
        plural = plural or (parent.resource.plural if parent else plural_of(kind))
        namespaced = scope == "Namespaced" if scope else parent.resource.namespaced if parent else True
        options = ResourceOptions(
            resource=ResourceKind(group, version, kind, plural, namespaced),
            short_names=_given(short_names, parent.short_names if parent else ()),
            categories=_given(categories, parent.categories if parent else ()),
            columns=_given(columns, parent.columns if parent else ()),
            selectable_fields=_given(selectable_fields, parent.selectable_fields if parent else ()),
            scale=scale or (parent.scale if parent else None),
            status=cls.__status_class__ is not None,
            served=served,
            storage=storage,
            deprecated=deprecated,
            rules=_given(rules, parent.rules if parent else ()),
        )
        check_options(options, cls.__qualname__)
        cls.options = options
        cls.resource = options.resource

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Accept the class keywords, which `__init_subclass__` has taken."""

    @classmethod
    def __pydantic_on_complete__(cls) -> None:
        super().__pydantic_on_complete__()
        if hasattr(cls, "options"):
            cls.schema_of_object()

    @classmethod
    def schema_of_object(cls) -> dict[str, Any]:
        """The structural schema of the whole object, as `openAPIV3Schema` of the CRD."""
        return resource_schema(cls, cls.options, cls.__spec_class__, cls.__status_class__)

    @classmethod
    def from_json(cls, body: bytes | str) -> Self:
        """Read an object from the JSON of the API. The body may lack `apiVersion` and `kind`.

        Raises:
            InvalidObjectError: the object does not fit the type.
        """
        try:
            return cls.model_validate_json(body)
        except ValidationError as error:
            raise InvalidObjectError(_explained(cls, error, body)) from None

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Self:
        """Read an object from parsed JSON; as `from_json`."""
        try:
            return cls.model_validate(body)
        except ValidationError as error:
            raise InvalidObjectError(_explained(cls, error, body)) from None

    def to_dict(self) -> dict[str, Any]:
        """The object as the JSON of the API, without what is null or empty."""
        body: dict[str, Any] = {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": self.metadata.to_dict(),
        }
        if self.spec is not None:
            body["spec"] = self.spec.to_dict()
        status = self.status_dict()
        if self.__status_class__ is not None and status != self.__status_class__().to_dict():
            body["status"] = status
        return body

    def status_dict(self) -> dict[str, Any]:
        """The status as the JSON of the API; equal statuses give equal dicts."""
        if self.status is None:
            return {}
        status: dict[str, Any] = self.status.to_dict()
        return status

    @property
    def api_version(self) -> str:
        """`group/version`."""
        return self.resource.api_version

    @property
    def kind(self) -> str:
        """The kind's name."""
        return self.resource.kind

    @property
    def name(self) -> str:
        """`metadata.name`."""
        return self.metadata.name

    @property
    def namespace(self) -> str | None:
        """`metadata.namespace`; None for cluster-scoped objects."""
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        """`metadata.uid`; empty when the object was not read from a server."""
        return self.metadata.uid

    @property
    def resource_version(self) -> str | None:
        """`metadata.resourceVersion`."""
        return self.metadata.resource_version

    @property
    def generation(self) -> int:
        """`metadata.generation`."""
        return self.metadata.generation

    @property
    def labels(self) -> dict[str, str]:
        """`metadata.labels`."""
        return self.metadata.labels

    @property
    def annotations(self) -> dict[str, str]:
        """`metadata.annotations`."""
        return self.metadata.annotations


def _install_sections(cls: type[CustomResource]) -> None:
    spec = section_class(cls, "spec")
    if spec is not None:
        cls.__spec_class__ = spec
        install_section(cls, "spec", spec, required=has_required_fields(spec))
    status = section_class(cls, "status")
    if status is not None:
        for name, info in status.model_fields.items():
            if info.is_required():
                raise SchemaError(
                    f"{status.__qualname__}.{name} needs a default, for a new object has no status: "
                    f"write `{name}: … | None = None`"
                )
        cls.__status_class__ = status
        install_section(cls, "status", status, required=False)


def _given(value: Sequence[T] | None, inherited: tuple[T, ...]) -> tuple[T, ...]:
    return inherited if value is None else tuple(value)


def _explained(cls: type[CustomResource], error: ValidationError, body: Any) -> str:
    try:
        parsed = body if isinstance(body, Mapping) else json.loads(body)
        metadata = parsed.get("metadata") or {}
        named = "/".join(metadata[key] for key in ("namespace", "name") if metadata.get(key))
    except (ValueError, AttributeError, TypeError):
        named = ""
    problems = "; ".join(
        f"{'.'.join(map(str, problem['loc'])) or 'the object'}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_input=False, include_context=False)
    )
    return f"{cls.resource.kind} {named or '(unnamed)'} does not fit {cls.resource.api_version}: {problems}"
