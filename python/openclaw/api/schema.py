"""Structural OpenAPI v3 schemas from pydantic models.

Structural means what the API server demands of a CRD: every value has a type, nothing is a reference, and
there are no unions but the integer-or-string one. What can't be said that way is refused with `SchemaError`.
"""

from __future__ import annotations

import enum
import inspect
import types
from typing import Annotated, Any, ForwardRef, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from openclaw.api.cel import escape, is_reachable
from openclaw.api.checks import check_facts
from openclaw.api.errors import SchemaError
from openclaw.api.facts import Facts
from openclaw.api.hints import hint, spelled
from openclaw.api.markers import ModelOptions, Rule
from openclaw.api.overlay import add_rules, overlay, overlay_options

Json = dict[str, Any]
Parents = tuple[type[BaseModel], ...]

_SCALARS: dict[Any, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}


def model_schema(model: type[BaseModel], *, defaults: bool = True) -> Json:
    """The structural schema of a model.

    Args:
        model: the class; its docstring is the description.
        defaults: whether the server fills in the fields' defaults; not in a status, which the controller
            writes.

    Raises:
        SchemaError: a field has no structural schema. The message names class and field.
    """
    return _Generator(defaults=defaults).model(model, ())


class _Generator:
    def __init__(self, *, defaults: bool) -> None:
        self._defaults = defaults

    def model(self, model: type[BaseModel], parents: Parents) -> Json:
        where = model.__qualname__
        if model in parents:
            raise SchemaError(
                f"{where} contains itself: a CRD schema can't be recursive. "
                "Use one class per level, or keep the part open with preserve_unknown=True"
            )
        if not model.__pydantic_complete__:
            # It names a class that was defined after it.
            model.model_rebuild(raise_errors=False)
        schema: Json = {}
        if model.__doc__:
            schema["description"] = inspect.cleandoc(model.__doc__)
        schema["type"] = "object"
        properties: Json = {}
        required: list[str] = []
        rules: list[Rule] = []
        for python_name, info in model.model_fields.items():
            name = info.serialization_alias or info.alias or python_name
            property_schema = self._field(info, f"{where}.{python_name}", (*parents, model))
            if self._defaults and _has_default(info):
                property_schema["default"] = _default(model, python_name, info)
            properties[name] = property_schema
            if info.is_required():
                required.append(name)
            elif _is_immutable(info) and "default" not in property_schema:
                rules.append(_keep_rule(name, f"{where}.{python_name}"))
        if required:
            schema["required"] = required
        if properties:
            schema["properties"] = properties
        overlay_options(schema, getattr(model, "__model_options__", ModelOptions()))
        add_rules(schema, rules)
        return schema

    def _field(self, info: FieldInfo, where: str, parents: Parents) -> Json:
        facts = Facts.of([info])
        annotation, admits_none = without_none(info.annotation)
        if facts.nullable and not admits_none:
            raise SchemaError(f"{where} is nullable, so its type must admit None: write `X | None`")
        facts.nullable = facts.nullable or (admits_none and info.is_required())
        return self._place(annotation, facts, where, parents)

    def _place(self, annotation: Any, facts: Facts, where: str, parents: Parents) -> Json:
        annotation, facts = _unwrapped(annotation, facts)
        schema = self._typed(annotation, facts, where, parents)
        check_facts(schema, facts, where)
        return overlay(schema, facts)

    def _typed(self, annotation: Any, facts: Facts, where: str, parents: Parents) -> Json:
        own_schema = getattr(annotation, "__structural_schema__", None)
        if own_schema is not None:
            schema: Json = own_schema()
            return schema
        if facts.int_or_string or _is_int_or_string(annotation):
            if not _is_int_or_string(annotation):
                raise SchemaError(f"{where} is int_or_string, so its type must be `int | str`")
            return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
        if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
            return _enum_schema([member.value for member in annotation], where)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            return self.model(annotation, parents)
        if isinstance(annotation, type) and annotation in _SCALARS:
            return {"type": _SCALARS[annotation]}
        return self._compound(annotation, facts, where, parents)

    def _compound(self, annotation: Any, facts: Facts, where: str, parents: Parents) -> Json:
        origin, arguments = get_origin(annotation) or annotation, get_args(annotation)
        is_open = facts.preserve_unknown or facts.embedded_resource
        if origin is Literal:
            return _enum_schema(list(arguments), where)
        if origin is list and arguments:
            return {"type": "array", "items": self._place(arguments[0], Facts(), f"{where}[*]", parents)}
        if origin is dict and is_open and (not arguments or arguments[1] in (Any, object)):
            return {"type": "object"}
        if origin is dict and len(arguments) == len(("key", "value")):
            if arguments[0] is not str:
                raise SchemaError(
                    f"{where}: the keys of a map are plain str; bound them with a Rule on the map"
                )
            return {
                "type": "object",
                "additionalProperties": self._place(arguments[1], Facts(), f"{where}[*]", parents),
            }
        if annotation in (Any, object) and facts.preserve_unknown:
            return {}
        if isinstance(annotation, ForwardRef):
            raise SchemaError(
                f"{where}: {annotation.__forward_arg__} names something that is not defined in the module; "
                "move it there, out of functions"
            )
        raise SchemaError(f"{where}: {spelled(annotation)} has no structural schema. {hint(annotation)}")


def without_none(annotation: Any) -> tuple[Any, bool]:
    """Split `X | None` into `X` and whether None was admitted."""
    if get_origin(annotation) not in (Union, types.UnionType):
        return annotation, False
    members = [member for member in get_args(annotation) if member is not type(None)]
    if len(members) == len(get_args(annotation)):
        return annotation, False
    return Union[tuple(members)], True  # noqa: UP007 - built at run time


def _unwrapped(annotation: Any, facts: Facts) -> tuple[Any, Facts]:
    """Look through `Annotated`, `X | None`, aliases and NewTypes, down to the type."""
    while True:
        annotation, admits_none = without_none(annotation)
        if admits_none:
            facts.nullable = True
        elif get_origin(annotation) is Annotated:
            annotation, *metadata = get_args(annotation)
            facts = Facts.of([*metadata]).overridden_by(facts)
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":  # not in `typing` before Python 3.12
            annotation = annotation.__value__
        else:
            return annotation, facts


def _is_int_or_string(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, types.UnionType) and set(get_args(annotation)) == {int, str}


def _enum_schema(values: list[Any], where: str) -> Json:
    kinds = {type(value) for value in values}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind not in _SCALARS:
        raise SchemaError(f"{where}: the values of an enum must all be strings, or all integers")
    return {"type": _SCALARS[kind], "enum": values}


def _has_default(info: FieldInfo) -> bool:
    return not info.is_required() and info.default_factory is None and info.default is not None


def _default(model: type[BaseModel], name: str, info: FieldInfo) -> Any:
    # Serialised by the model, which knows the type; of a nested model only what the default itself says.
    holder = model.model_construct(**{name: info.default})
    return next(
        iter(holder.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True).values())
    )


def _is_immutable(info: FieldInfo) -> bool:
    return Facts.of(info.metadata).immutable


def _keep_rule(name: str, where: str) -> Rule:
    # `self == oldSelf` does not run when the field is gone, so its removal is refused one level up.
    if not is_reachable(name):
        raise SchemaError(f"{where}: CEL can't reach a field named {name!r}, so it can't be immutable")
    member = escape(name)
    return Rule(
        rule=f"!has(oldSelf.{member}) || has(self.{member})",
        message=f"{name} is immutable: it can't be removed once it is set",
        field_path=f".{name}",
    )
