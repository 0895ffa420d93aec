"""`Model`: the base of every declared spec, status and part of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from openclaw.api.checks import check_transitions
from openclaw.api.errors import SchemaError
from openclaw.api.markers import MapType, ModelOptions, Rule
from openclaw.api.nulls import admits_null, without_idle_nulls
from openclaw.api.schema import model_schema


class Model(BaseModel):
    """An object in a spec or status. Fields are snake_case in Python and camelCase in the API.

    Unknown fields are ignored, so that an operator reads what a newer API server or a newer version of itself
    wrote. The docstring of the class is its description in the CRD.

    Class keywords: `rules` (CEL rules on the whole object), `map_type` (`granular` or `atomic`),
    `preserve_unknown` (unknown fields are kept, by the server and in Python), `embedded_resource`,
    `min_properties`, `max_properties`.

    Raises:
        SchemaError: while the class is created, when a field can't be part of a CRD.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        extra="ignore",
        protected_namespaces=(),
    )

    __model_options__: ClassVar[ModelOptions] = ModelOptions()
    __nullable_schema__: ClassVar[dict[str, Any] | None] = None

    def __init_subclass__(
        cls,
        *,
        rules: Sequence[Rule] = (),
        map_type: MapType | None = None,
        preserve_unknown: bool | None = None,
        embedded_resource: bool | None = None,
        min_properties: int | None = None,
        max_properties: int | None = None,
    ) -> None:
        super().__init_subclass__()
        cls.__model_options__ = cls.__model_options__.inherited_by(
            rules=rules,
            map_type=map_type,
            preserve_unknown=preserve_unknown,
            embedded_resource=embedded_resource,
            min_properties=min_properties,
            max_properties=max_properties,
        )
        if preserve_unknown is not None:
            # pydantic reads the configuration after this hook, from the class.
            cls.model_config["extra"] = "allow" if preserve_unknown else "ignore"

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Accept the class keywords, which `__init_subclass__` has taken."""

    @classmethod
    def __pydantic_on_complete__(cls) -> None:
        super().__pydantic_on_complete__()
        schema = model_schema(cls)
        check_transitions(schema, cls.__qualname__)
        cls.__nullable_schema__ = schema if admits_null(schema) else None
        for name, info in cls.model_fields.items():
            if not info.is_required() and info.default_factory is None and info.default is not None:
                _check_default(cls, name, info)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of the API: camelCase names; null only where the field is nullable."""
        if self.__nullable_schema__ is not None:
            pruned: dict[str, Any] = without_idle_nulls(
                self.model_dump(mode="json"), self.__nullable_schema__
            )
            return pruned
        return self.model_dump(mode="json", exclude_none=True)


def _check_default(model: type[BaseModel], name: str, info: FieldInfo) -> None:
    try:
        model.__pydantic_validator__.validate_assignment(model.model_construct(), name, info.default)
    except ValidationError as error:
        problem = error.errors()[0]["msg"]
        raise SchemaError(
            f"{model.__qualname__}.{name}: the default {info.default!r} is not allowed: {problem}"
        ) from None
