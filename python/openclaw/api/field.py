"""`Field`: the facts of one field, for pydantic and for the CRD at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import AfterValidator
from pydantic import Field as PydanticField
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from openclaw.api.errors import SchemaError
from openclaw.api.markers import ListType, MapType, Markers, Rule


def Field(  # noqa: N802 - the name pydantic's users know
    default: Any = PydanticUndefined,
    *,
    default_factory: Callable[[], Any] | None = None,
    name: str | None = None,
    description: str | None = None,
    examples: Sequence[Any] | None = None,
    ge: float | None = None,
    le: float | None = None,
    gt: float | None = None,
    lt: float | None = None,
    multiple_of: float | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    min_items: int | None = None,
    max_items: int | None = None,
    min_properties: int | None = None,
    max_properties: int | None = None,
    pattern: str | None = None,
    pattern_message: str | None = None,
    format: str | None = None,
    enum: Sequence[Any] | None = None,
    nullable: bool = False,
    list_type: ListType | None = None,
    list_map_keys: Sequence[str] = (),
    map_type: MapType | None = None,
    int_or_string: bool = False,
    preserve_unknown: bool = False,
    embedded_resource: bool = False,
    immutable: bool = False,
    rules: Sequence[Rule] = (),
) -> Any:
    """Describe one field: as the field's default value, or inside `Annotated` (for items and values too).

    Without a default the field is required. A default that is a value is also the server's default; one from
    `default_factory` is known to Python only. A field of type `X | None` with the default None is optional.

    Args:
        default: the value of an absent field.
        default_factory: makes the value of an absent field, in Python only.
        name: the field's name in the API when it is not the Python name in camelCase (`podIP`).
        description: what the field means, as `kubectl explain` shows it.
        examples: sample values; the last lines of the description show them.
        ge: inclusive minimum of a number.
        le: inclusive maximum of a number.
        gt: exclusive minimum of a number.
        lt: exclusive maximum of a number.
        multiple_of: a divisor of the number.
        min_length: of a string, in code points; of a list or map, the same as `min_items` or
            `min_properties`.
        max_length: likewise.
        min_items: the least number of items of a list.
        max_items: the greatest number of items of a list.
        min_properties: the least number of entries of a map.
        max_properties: the greatest number of entries of a map.
        pattern: a regular expression (RE2) found in the string; anchor it with `^` and `$`.
        pattern_message: what the server answers when the pattern does not match, in place of the bare
            expression.
        format: an OpenAPI format that the API server knows, such as `date-time`, `ipv4`, `uri`, `int32`.
        enum: the allowed values; `Literal` or an `Enum` class say the same with types.
        nullable: keep an explicit null apart from an absent field. The type must admit None.
        list_type: how server-side apply merges a list: `atomic`, `set` (of scalars) or `map` (by keys).
        list_map_keys: the names, in the API, of the item fields that identify an item of a `map` list.
        map_type: how server-side apply merges a map or object: `granular` or `atomic`.
        int_or_string: the value is an integer or a string (type `int | str`).
        preserve_unknown: keep fields that the schema does not name.
        embedded_resource: the value is a whole Kubernetes object.
        immutable: the value can't change or be removed once it is set.
        rules: CEL rules on the value.
    """
    if default_factory is not None and default is not PydanticUndefined:
        raise SchemaError("a field has a default or a default_factory, not both")
    given: dict[str, Any] = {"default_factory": default_factory} if default_factory else {"default": default}
    info = PydanticField(
        **given,
        alias=name,
        description=description,
        examples=list(examples) if examples is not None else None,
        ge=ge,
        le=le,
        gt=gt,
        lt=lt,
        multiple_of=multiple_of,
        min_length=_one_of(min_length, min_items, min_properties),
        max_length=_one_of(max_length, max_items, max_properties),
        pattern=pattern,
    )
    assert isinstance(info, FieldInfo)  # noqa: S101 - pydantic types Field as Any
    info.metadata.append(
        Markers(
            format=format,
            enum=tuple(enum) if enum is not None else None,
            pattern_message=pattern_message,
            list_type=list_type,
            list_map_keys=tuple(list_map_keys),
            map_type=map_type,
            int_or_string=int_or_string,
            preserve_unknown=preserve_unknown,
            embedded_resource=embedded_resource,
            immutable=immutable,
            nullable=nullable,
            rules=tuple(rules),
        )
    )
    if enum is not None:
        info.metadata.append(AfterValidator(_member_of(tuple(enum))))
    return info


def _one_of(*bounds: int | None) -> int | None:
    given = {bound for bound in bounds if bound is not None}
    if len(given) > 1:
        raise SchemaError(f"give one bound of the length, not {sorted(given)}")
    return given.pop() if given else None


def _member_of(allowed: tuple[Any, ...]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value is not None and value not in allowed:
            raise ValueError(f"must be one of {', '.join(map(repr, allowed))}")
        return value

    return check
